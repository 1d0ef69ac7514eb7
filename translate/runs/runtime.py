"""Settings of the process: threads, memory, precision; commands and training make them once, at the start.

Importing the package, :func:`translate.load` and a translation change none of them: they belong to the host
program.
"""

import ctypes
import os
import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from translate.attention.kernels.linear import bfloat16_instructions
from translate.config.training import RuntimeConfig
from translate.errors import UserError
from translate.models import Seq2Seq
from translate.search.search_loop import MAX_WORKERS

if TYPE_CHECKING:
    from translate.translation import Translation
    from translate.translator import Translator

PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
# Trained parameters times target tokens of a batch from which products in bfloat16 save more than their casts
# cost, on two cores with AVX-512 (docs/benchmarks.md).
ENOUGH_WORK = 1_000_000_000
# Parameters times rows of a product from which oneDNN's float32 repays its preparations for a shape.
ENOUGH_FOR_ONEDNN = 700_000_000
SEARCHED_ROWS = 320  # of a search with the default beam and batch


def use_runtime(device: torch.device, threads: int | None = None) -> None:
    """Set up this process for training or for a command.

    Args:
        device: a GPU may use TF32 for products.
        threads: of the CPU; torch's default if ``None``.
    """
    if threads is not None:
        torch.set_num_threads(threads)
    # oneDNN caches a primitive for every shape of a product or an LSTM. The 1,024 that it keeps filled a GiB
    # with the shapes of a corpus; a search, whose shapes come again, was a tenth slower with 32.
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "128")
    torch.set_flush_denormal(True)  # otherwise optimizers are several times slower on tiny numbers
    if "fbgemm" in torch.backends.quantized.supported_engines:
        torch.backends.quantized.engine = "fbgemm"  # of --int8
    keep_freed_memory()
    if device.type == "cuda":
        torch.backends.cuda.matmul.allow_tf32 = True
        torch.backends.cudnn.allow_tf32 = True


def use_deterministic(deterministic: bool) -> None:
    """Restrict a GPU to algorithms that give the same bits again; those of the CPU all do."""
    if deterministic:
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # read when the GPU is first used
    if deterministic != torch.are_deterministic_algorithms_enabled():  # to set it takes a second
        torch.use_deterministic_algorithms(deterministic)
    torch.backends.cudnn.benchmark = False


def use_processor(model: Seq2Seq, device: torch.device) -> None:
    """Let a command translate as fast as the processor can."""
    use_float32_products(device, SEARCHED_ROWS * sum(parameter.numel() for parameter in model.parameters()))


def translate_all(translator: "Translator", sentences: Sequence[str], **options: Any) -> "list[Translation]":
    """Translate for a command: on a CPU with several workers, which share torch's threads meanwhile.

    A step of a search is many small operations, which threads share badly. The batches of the sentences are
    spread over the workers, so there are not more workers than batches.

    Args:
        options: as of :meth:`Translator.translate`.
    """
    threads, batches = torch.get_num_threads(), -(-len(sentences) // translator.search.batch_size)
    workers = min(threads, MAX_WORKERS, batches)
    if workers < 2 or translator.device.type != "cpu":
        return translator.translate(sentences, **options)
    torch.set_num_threads(threads // workers)
    translator.workers = workers
    try:
        return translator.translate(sentences, **options)
    finally:
        torch.set_num_threads(threads)
        translator.workers = 1


def float32_instructions() -> str | None:
    """Instructions that torch's products in float32 pass over, and oneDNN's use: AVX-512 or ``None``.

    MKL multiplies in 256 bits on AMD's processors. From Zen 5 on, which have VNNI outside of AVX-512 too, a
    product in 512 bits takes half as long (docs/benchmarks.md). ``ATEN_CPU_CAPABILITY=avx2`` forbids it.
    """
    has, allowed = torch.cpu.get_capabilities(), torch.backends.cpu.get_cpu_capability() == "AVX512"
    wide = str(has.get("cpu_name", "")).startswith("AMD") and has.get("avx512_f") and has.get("avx_vnni")
    return "AVX-512" if allowed and wide and not has.get("amx_bf16") else None


def use_float32_products(device: torch.device, work: int) -> None:
    """Let oneDNN multiply in float32 on a CPU where that is faster, with float32's digits.

    Torch's setting for it allows bfloat16 inside a product. Without AMX oneDNN has no kernel that would use
    it, and multiplies in float32; should another one have it, the setting goes back.

    Args:
        work: of a training step, see :func:`work_of`, or of a search: parameters times hypotheses of a batch.
            Small products stay with MKL.
    """
    if device.type != "cpu" or float32_instructions() is None:
        return
    torch.set_float32_matmul_precision("medium")
    if work < ENOUGH_FOR_ONEDNN or not keeps_digits():
        torch.set_float32_matmul_precision("highest")


def keeps_digits() -> bool:
    """Whether a product in float32 keeps digits that bfloat16 has not."""
    numbers = torch.full((64, 64), 1 + 2**-20)
    return torch.equal(numbers @ torch.eye(64), numbers)


def forward_precision(runtime: RuntimeConfig, device: torch.device, work: int = 0) -> torch.dtype:
    """The precision of the forward pass: the configured one, or the best that ``device`` supports.

    On a CPU that is bfloat16 where the processor has instructions for it and a step is large enough, else
    float32; on a GPU bfloat16 or, without it, float16 for one process and float32 for several.

    Args:
        work: :func:`work_of` the model and its batches.
    """
    if runtime.precision != "auto":
        return PRECISIONS[runtime.precision]
    if device.type != "cuda":
        return torch.bfloat16 if work >= ENOUGH_WORK and bfloat16_instructions() else torch.float32
    if torch.cuda.is_bf16_supported(including_emulation=False):
        return torch.bfloat16
    return torch.float16 if runtime.parallel == "none" else torch.float32


def work_of(model: torch.nn.Module, batch_tokens: int) -> int:
    """Trained parameters times target tokens of a batch: about a sixth of the operations of a step."""
    return batch_tokens * sum(
        parameter.numel() for parameter in model.parameters() if parameter.requires_grad
    )


def check_precision(precision: str, device: torch.device) -> None:
    """Raise :class:`UserError` for float16 on a CPU."""
    if precision == "float16" and device.type == "cpu":
        raise UserError(
            "runtime.precision=float16: a CPU multiplies float16 slowly, and its range is small; expected "
            "float32 or bfloat16"
        )


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
    if not re.fullmatch(r"cpu|cuda(:\d\d?)?", name):
        raise UserError(f"{where}: expected auto, cpu, cuda or cuda:N, got {name!r}")
    device = torch.device(name)
    if device.type == "cuda":
        if not torch.cuda.is_available():
            raise UserError(f"{where}: {name} is wanted, but torch {torch.__version__} sees no GPU; use cpu")
        if device.index is not None and device.index >= torch.cuda.device_count():
            raise UserError(f"{where}: {name} was asked for, but there are {torch.cuda.device_count()} GPUs")
    return device
