"""``translate doctor``: versions, device, threads, and the kernels that run here."""

import platform

PACKAGES = (
    "seq2seq-translate",
    "torch",
    "sentencepiece",
    "datasets",
    "hydra-core",
    "sacrebleu",
    "matplotlib",
    "safetensors",
)


def doctor() -> None:
    """Show the versions, the device, the threads and the attention kernels of this machine."""
    from importlib.metadata import PackageNotFoundError, version

    import torch
    from rich.console import Console
    from rich.table import Table

    from translate.attention.kernels.fused import kernels
    from translate.attention.kernels.linear import bfloat16_instructions
    from translate.runs.runtime import float32_instructions

    console = Console(highlight=False)
    table = Table("package", "version", title="versions", title_justify="left")
    table.add_row("python", platform.python_version())
    for name in PACKAGES:
        try:
            table.add_row(name, torch.__version__ if name == "torch" else version(name))  # +cpu, +cu130
        except PackageNotFoundError:
            table.add_row(name, "not installed")
    console.print(table)
    has_gpu = torch.cuda.is_available()
    device = torch.cuda.get_device_name() if has_gpu else f"CPU, {torch.backends.cpu.get_cpu_capability()}"
    console.print(f"device: {device}")
    console.print(f"bfloat16 products on the CPU: {bfloat16_instructions() or 'no instructions for them'}")
    products = "AVX-512, by oneDNN" if float32_instructions() else "by the library that torch chooses"
    console.print(f"float32 products on the CPU: {products}")
    console.print(f"threads: {torch.get_num_threads()}")
    table = Table("kernel", "runs here", "why not", title="attention kernels", title_justify="left")
    for kernel, reason in kernels(torch.device("cuda" if has_gpu else "cpu")).items():
        table.add_row(kernel, "no" if reason else "yes", reason)
    console.print(table)
