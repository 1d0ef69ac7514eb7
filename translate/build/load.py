"""A trained run, read from its folder."""

import json
from pathlib import Path

import torch
from omegaconf import OmegaConf

from translate.alignment.extract import AlignmentChoice
from translate.build.objects import build_model, use_device
from translate.build.schema import Settings, check_config
from translate.errors import UserError
from translate.models import Seq2Seq
from translate.text.tokenizer import TokenizerPair
from translate.training.checkpoint import load_weights
from translate.training.run_directory import RunDirectory
from translate.translator import Translator


def load(
    run: str | Path, *, device: str = "auto", threads: int | None = None, checkpoint: str = "best"
) -> Translator:
    """The translator of a run.

    Args:
        run: a run directory.
        device: auto, cpu, cuda, cuda:1 ...
        threads: of the CPU; torch's default if ``None``.
        checkpoint: a name below ``checkpoints``; ``last`` is taken where there is no ``best``.

    Raises:
        UserError: if there is no run, or a file of it is missing or damaged. No code of the run is executed.
    """
    directory = RunDirectory(Path(run))
    settings = read_settings(directory)
    tokenizers = TokenizerPair.load(directory.tokenizer)
    model = build_model(settings.model, tokenizers, settings.run.plugins)
    folder = directory.checkpoints / checkpoint
    if checkpoint == "best" and not folder.exists():
        folder = directory.last
    load_into(model, folder)
    model.to(use_device(device, threads)).eval()
    languages = (settings.data.source_language or "", settings.data.target_language or "")
    return Translator(model, tokenizers, settings.search, read_choice(directory, model), languages)


def read_settings(directory: RunDirectory) -> Settings:
    """The checked configuration of a run."""
    if not directory.path.is_dir():
        raise UserError(f"{directory.path}: no such run directory")
    if not directory.config.exists():
        raise UserError(f"{directory.path}: not a run directory (it has no config.yaml)")
    try:
        config = OmegaConf.load(directory.config)
    except Exception as error:  # YAML errors are of many kinds
        raise UserError(f"{directory.config}: not readable as YAML ({error})") from error
    return check_config(config)  # type: ignore[arg-type]


def read_choice(directory: RunDirectory, model: Seq2Seq) -> AlignmentChoice:
    """The stored choice of layer, heads and shift; before a run has ended, the middle layer's mean."""
    if not directory.alignment.exists():
        heads = tuple(range(model.num_attention_heads))
        return AlignmentChoice((model.num_attention_layers - 1) // 2, heads, 0)
    try:
        values = json.loads(directory.alignment.read_text(encoding="utf-8"))["choice"]
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"{directory.alignment}: damaged ({error})") from error
    choice = AlignmentChoice.from_dict(values)
    choice.check(model)
    return choice


def load_into(model: Seq2Seq, folder: Path) -> None:
    """Read a checkpoint's weights into a model of the same shape."""
    weights = load_weights(folder)
    parameters = dict(model.named_parameters())
    if weights.keys() != parameters.keys():
        odd = sorted(weights.keys() ^ parameters.keys())
        raise UserError(f"{folder}: the checkpoint is of another model (for example {odd[0]})")
    with torch.no_grad():
        for name, parameter in parameters.items():
            if parameter.shape != weights[name].shape:
                raise UserError(
                    f"{folder}: {name} has shape {tuple(weights[name].shape)}, expected {tuple(parameter.shape)}"
                )
            parameter.copy_(weights[name])
