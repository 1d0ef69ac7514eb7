"""The summaries of a run: before the first step, and after the last one."""

import math
from collections.abc import Mapping
from typing import Any

import torch

from translate.attention import Attention
from translate.config.settings import Settings
from translate.models import Seq2Seq
from translate.runs.reports.progress_line import clock, score_text
from translate.runs.storage.run_directory import RunDirectory
from translate.training.loop import Training
from translate.training.progress import Progress


def start_lines(settings: Settings, training: Training, directory: RunDirectory) -> list[str]:
    """Model, batches, device and kernels; the corpus has been summed up when it was read."""
    model, device = training.update.model, training.update.device
    precision = str(training.update.precision).removeprefix("torch.")
    threads_used = torch.get_num_threads()
    threads = f", {threads_used} thread{'s' * (threads_used > 1)}" if device.type == "cpu" else ""
    count = training.update.parallel.world.size
    processes = f"; {count} processes by {settings.runtime.parallel}" if count > 1 else ""
    frozen = sum(parameter.numel() for parameter in model.parameters() if not parameter.requires_grad)
    kept = f" and {frozen:,} frozen ones" if frozen else ""
    groups = training.stream.group_size
    steps = f", {groups} of them a step" if groups > 1 else ""
    return [
        f"model {settings.model.get('name', type(model).__name__)}: {model.num_parameters():,} parameters"
        f"{kept}, {len(model.output_weight):,} target pieces",
        f"{training.stream.epoch_length():,} batches an epoch of at most {settings.training.batch_tokens:,} "
        f"target tokens{steps}; device {device}{threads}, {precision}{processes}",
        f"attention {kernels(model)}",
        f"run directory {directory.path}",
    ]


def kernels(model: Seq2Seq) -> str:
    """The attention mechanisms of a model, with the kernel of each."""
    found: dict[str, dict[str, None]] = {}
    for name, module in model.named_modules():
        if isinstance(module, Attention):
            inside = name.startswith("encoder") or "self_attention" in name
            where = "within a side" if inside else "to the source"
            mechanism = type(module).__name__.removeprefix("FSDP")
            found.setdefault(where, {})[f"{mechanism} (kernel {module.kernel})"] = None
    return "; ".join(f"{where}: {', '.join(found[where])}" for where in sorted(found))


def _epochs(progress: Progress, *, staged: bool) -> str:
    """How many epochs the steps were; the end of a stage cuts one short, so there those begun count."""
    if staged:
        return f"{progress.epoch + bool(progress.batch or progress.block):,} epochs begun"
    return f"{progress.epoch:,} whole epochs"


def closing_lines(
    settings: Settings, progress: Progress, scores: Mapping[str, Any], directory: RunDirectory
) -> list[str]:
    """The run as a table, one line a row."""
    spent = f"{clock(progress.seconds)} ({clock(progress.validation_seconds)} of it in validation)"
    rows = {
        "steps": f"{progress.step:,}, {_epochs(progress, staged=bool(settings.data.stages))}",
        "target tokens": f"{progress.tokens:,}, {scores['tokens_per_second']:,.0f} a second",
        "time": spent,
    }
    if progress.padded_tokens:
        padding = 1 - (progress.tokens + progress.source_tokens) / progress.padded_tokens
        rows["padding"] = f"{100 * padding:.1f} %"
    if progress.best is not None:
        metric = settings.training.best_metric
        shown = [score_text(metric, abs(progress.best))]
        likelihood = progress.best_likelihoods[0]
        if metric != "nll" and math.isfinite(likelihood):
            shown.append(score_text("nll", -likelihood))
        rows["best validation"] = f"{', '.join(shown)} at step {progress.best_step:,}"
    test = scores.get("test", {})
    for name, title in (("bleu", "test BLEU"), ("chrf", "test chrF"), ("ter", "test TER")):
        if name in test:
            rows[title] = f"{test[name]:.2f}"
    if "aer" in test:
        rows["test AER"] = f"{100 * test['aer']:.2f} %"
    rows["kept in"] = str(directory.path)
    width = max(map(len, rows))
    return [f"{name:<{width}}  {value}" for name, value in rows.items()]
