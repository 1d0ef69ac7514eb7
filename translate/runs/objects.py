"""Objects from checked settings: device, model, optimizer, schedule."""

import ctypes
import os
import sys
from typing import Any

import torch

from translate.config import instantiate, resolve_target
from translate.config.settings import Settings
from translate.config.training import RuntimeConfig
from translate.errors import UserError
from translate.models import Seq2Seq
from translate.training.optimizer import Schedule, parameter_groups

PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


def use_device(name: str, threads: int | None = None, *, where: str = "device") -> torch.device:
    """The device of that name, with CPU threads and denormals set right.

    Args:
        name: auto, cpu, cuda, cuda:1 ...
        threads: of the CPU; torch's default if ``None``.
        where: what the user set ``name`` by, for messages.

    Raises:
        UserError: for a device that this machine does not have.
    """
    if threads is not None:
        if threads < 1:
            raise UserError(f"threads: expected at least 1, got {threads}")
        torch.set_num_threads(threads)
    # oneDNN keeps what it built for each shape of an LSTM; batches come in so many that they filled a GiB.
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "32")
    torch.set_flush_denormal(True)  # sums of tiny numbers are several times slower otherwise
    keep_freed_memory()
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise UserError(f"{where}: expected auto, cpu, cuda or cuda:N, got {name!r}") from error
    if device.type == "cuda":
        if not torch.cuda.is_available():
            raise UserError(f"{where}: {name} was asked for, but torch {torch.__version__} sees no GPU here")
        if device.index is not None and device.index >= torch.cuda.device_count():
            raise UserError(f"{where}: {name} was asked for, but there are {torch.cuda.device_count()} GPUs")
        torch.backends.cuda.matmul.allow_tf32 = True
        torch.backends.cudnn.allow_tf32 = True
    elif device.type != "cpu":
        raise UserError(f"{where}: expected auto, cpu, cuda or cuda:N, got {name!r}")
    return device


def keep_freed_memory() -> None:
    """Let glibc reuse large blocks; giving them back and faulting them in again costs a third of a step."""
    if sys.platform != "linux":
        return
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):  # another C library
        return
    mallopt(-4, 0)  # M_MMAP_MAX: no block of its own mapping
    mallopt(-1, 2**31 - 1)  # M_TRIM_THRESHOLD
    mallopt(-2, 2**28)  # M_TOP_PAD


def forward_precision(runtime: RuntimeConfig, device: torch.device) -> torch.dtype:
    """What the forward pass computes in: bfloat16 where a GPU has it, else float16 there; float32 on the CPU.

    Several processes compute in float32 where there is no bfloat16. The user may say otherwise.
    """
    if runtime.precision != "auto":
        return PRECISIONS[runtime.precision]
    if device.type != "cuda":
        return torch.float32
    if torch.cuda.is_bf16_supported(including_emulation=False):
        return torch.bfloat16
    return torch.float16 if runtime.parallel == "none" else torch.float32


def use_deterministic(deterministic: bool) -> None:
    """Let a GPU use only algorithms that give the same bits again; those of the CPU all do."""
    if deterministic:
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # read when the GPU is first used
    torch.use_deterministic_algorithms(deterministic)
    torch.backends.cudnn.benchmark = False


def build_model(model: dict[str, Any], vocabulary_sizes: tuple[int, int], plugins: list[str]) -> Seq2Seq:
    """The model that ``model`` describes, with random weights; sizes are of source and target."""
    source, target = vocabulary_sizes
    built = instantiate(model, "model", plugins, source_vocabulary=source, target_vocabulary=target)
    if not isinstance(built, Seq2Seq):
        raise UserError(f"model._target_: expected a translate.models.Seq2Seq, got {type(built).__name__}")
    return built


def build_optimizer(settings: Settings, model: Seq2Seq) -> torch.optim.Optimizer:
    """The optimizer, with weight decay on matrices alone; a class may have groups of its own."""
    target = resolve_target(settings.optimizer["_target_"], settings.run.plugins)
    group = getattr(target, "parameter_groups", parameter_groups)
    groups = group(model, float(settings.optimizer.get("weight_decay") or 0.0))
    built = instantiate(settings.optimizer, "optimizer", settings.run.plugins, params=groups)
    if not isinstance(built, torch.optim.Optimizer):
        raise UserError(f"optimizer._target_: expected an optimizer, got {type(built).__name__}")
    return built


def build_schedule(settings: Settings) -> Schedule:
    """The learning-rate schedule."""
    built = instantiate(settings.schedule, "schedule", settings.run.plugins)
    if not isinstance(built, Schedule):
        raise UserError(f"schedule._target_: expected a Schedule, got {type(built).__name__}")
    return built
