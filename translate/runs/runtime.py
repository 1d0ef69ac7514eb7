"""Settings of the process: threads, memory, floating point; commands and training make them at the start.

Importing the package and :func:`translate.load` change none of them; they belong to the host program.
"""

import ctypes
import os
import sys

import torch

from translate.errors import UserError

PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


def use_runtime(device: torch.device, threads: int | None = None) -> None:
    """Set up this process for training or for a command.

    Args:
        device: a GPU may use TF32 for products.
        threads: of the CPU; torch's default if ``None``.
    """
    use_threads(threads)
    # oneDNN caches a primitive for every shape of an LSTM; with the shapes of a corpus they filled a GiB.
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "32")
    torch.set_flush_denormal(True)  # otherwise optimizers are several times slower on tiny numbers
    keep_freed_memory()
    if device.type == "cuda":
        torch.backends.cuda.matmul.allow_tf32 = True
        torch.backends.cudnn.allow_tf32 = True


def use_threads(threads: int | None) -> None:
    """Set the number of CPU threads, if it is not ``None``."""
    if threads is not None:
        if threads < 1:
            raise UserError(f"threads: expected at least 1, got {threads}")
        torch.set_num_threads(threads)


def use_deterministic(deterministic: bool) -> None:
    """Restrict a GPU to algorithms that give the same bits again; those of the CPU all do."""
    if deterministic:
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # read when the GPU is first used
    if deterministic != torch.are_deterministic_algorithms_enabled():  # to set it takes a second
        torch.use_deterministic_algorithms(deterministic)
    torch.backends.cudnn.benchmark = False


def bfloat16_engine() -> str | None:
    """The processor's instructions for matrix products in bfloat16: AMX, AVX-512 or ``None``."""
    has = torch.cpu.get_capabilities()
    return "AMX" if has.get("amx_bf16") else "AVX-512" if has.get("avx512_bf16") else None


def keep_freed_memory() -> None:
    """Let glibc reuse large blocks; returning them and faulting them in again costs a third of a step."""
    if sys.platform != "linux":
        return
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):  # another C library
        return
    mallopt(-4, 0)  # M_MMAP_MAX: no separate mapping for a block
    mallopt(-1, 2**31 - 1)  # M_TRIM_THRESHOLD
    mallopt(-2, 2**28)  # M_TOP_PAD


def find_device(name: str, *, where: str = "device") -> torch.device:
    """The device called ``name``; nothing is set.

    Args:
        name: auto, cpu, cuda, cuda:1 ...; auto is the GPU if there is one.
        where: the option that ``name`` comes from, for messages.

    Raises:
        UserError: for a device that this machine does not have.
    """
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
    elif device.type != "cpu":
        raise UserError(f"{where}: expected auto, cpu, cuda or cuda:N, got {name!r}")
    return device
