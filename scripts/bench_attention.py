"""Time and peak memory of explicit and fused attention, forward and backward, over the length.

    python scripts/bench_attention.py [--lengths 64 128 ...] [--threads 2] [--repeats 7] [--device cpu]

Every length runs in a new process. Times are medians of rounds in which the variants take turns. Memory
is the peak that a variant adds to its process (CPU: resident set; GPU: torch's allocator), at batch size 1.
"""

import argparse
import json
import platform
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

LENGTHS = (64, 128, 256, 512, 1024, 2048, 4096, 8192)
TOKENS = 8192  # of a batch that is timed
WIDTH, HEADS = 256, 4
ADDITIVE = {"batch": 64, "targets": 32, "sources": 32, "attention_size": 512}
# Variants of self-attention: (mechanism, kernel).
VARIANTS = {
    "explicit": ("multi_head", "explicit"),
    "fused": ("multi_head", "auto"),
    "linear": ("linear", "auto"),
}


def dtype_of(device: str) -> Any:
    import torch

    return torch.bfloat16 if device == "cuda" else torch.float32


def self_attention(variant: str, length: int, batch: int, device: str) -> Callable[[], None]:
    """A closure that runs one variant forward and backward on ``batch`` causal sequences."""
    import torch

    from translate import attention

    name, kernel = VARIANTS[variant]
    torch.manual_seed(1)
    mechanism = attention.create(
        name, query_size=WIDTH, key_size=WIDTH, num_heads=HEADS, kernel=kernel, causal=True
    )
    mechanism.to(device, dtype_of(device))
    states = torch.randn(batch, length, WIDTH, device=device, dtype=dtype_of(device), requires_grad=True)

    def run() -> None:
        mechanism.attend_self(states).sum().backward()  # type: ignore[operator]
        states.grad = None

    return run


def additive(kernel: str, device: str, batch: int, targets: int, sources: int) -> Callable[[], None]:
    """A closure that runs the additive score forward and backward."""
    import torch

    from translate import attention

    size = ADDITIVE["attention_size"]
    torch.manual_seed(1)
    mechanism = attention.create(
        "additive", query_size=size, key_size=size, attention_size=size, kernel=kernel
    ).to(device, dtype_of(device))
    query = torch.randn(batch, targets, size, device=device, dtype=dtype_of(device), requires_grad=True)
    states = torch.randn(batch, sources, size, device=device, dtype=dtype_of(device), requires_grad=True)

    def run() -> None:
        mechanism(query, mechanism.prepare(states))[0].sum().backward()
        query.grad = states.grad = None

    return run


def seconds(variants: dict[str, Callable[[], None]], repeats: int, device: str) -> dict[str, float]:
    """The median time of every variant; each round runs all of them once."""
    import torch

    taken: dict[str, list[float]] = {name: [] for name in variants}
    for round_number in range(repeats + 1):
        for name, run in variants.items():
            began = time.perf_counter()
            run()
            if device == "cuda":
                torch.cuda.synchronize()
            if round_number:  # the first warms up
                taken[name].append(time.perf_counter() - began)
    return {name: statistics.median(times) for name, times in taken.items()}


def mebibytes(run: Callable[[], None], device: str) -> float:
    """The memory that one forward and backward pass adds to the peak."""
    import torch

    if device == "cuda":
        run()
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        run()
        torch.cuda.synchronize()
        return float((torch.cuda.max_memory_allocated() - before) / 2**20)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    run()
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 2**10


def child(arguments: argparse.Namespace) -> None:
    """One measurement, printed as JSON."""
    import torch

    torch.set_num_threads(arguments.threads)
    device, task = arguments.device, arguments.task
    if task == "time":
        batch = max(1, TOKENS // arguments.length)
        runs = {name: self_attention(name, arguments.length, batch, device) for name in VARIANTS}
        found: Any = seconds(runs, arguments.repeats, device)
    elif task == "memory":
        # A short sequence first, so that libraries and thread pools are loaded before the peak is read.
        self_attention(arguments.variant, 16, 1, device)()
        found = mebibytes(self_attention(arguments.variant, arguments.length, 1, device), device)
    elif task == "additive-time":
        sizes = (ADDITIVE["batch"], ADDITIVE["targets"], ADDITIVE["sources"])
        kernels = arguments.variant.split(",")
        found = seconds({name: additive(name, device, *sizes) for name in kernels}, arguments.repeats, device)
    else:
        additive(arguments.variant, device, 2, 8, 8)()
        found = mebibytes(additive(arguments.variant, device, 8, arguments.length, arguments.length), device)
    print(json.dumps(found))


def measure(arguments: argparse.Namespace, task: str, length: int = 0, variant: str = "") -> Any:
    """The result of :func:`child` in a process of its own."""
    command = [sys.executable, __file__, "--task", task, "--length", str(length), "--variant", variant]
    command += ["--threads", str(arguments.threads), "--repeats", str(arguments.repeats)]
    command += ["--device", arguments.device]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return None if "emory" in done.stderr else sys.exit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = ["| " + " | ".join(header) + " |", "|" + " ---: |" * len(header)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--lengths", type=int, nargs="*", default=LENGTHS)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--task", help=argparse.SUPPRESS)
    parser.add_argument("--length", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--variant", default="", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.task:
        child(arguments)
        return

    import torch

    from translate.attention.kernels.fused import kernels

    device = torch.cuda.get_device_name() if arguments.device == "cuda" else platform.processor() or "CPU"
    print(f"{device}, {arguments.threads} threads, torch {torch.__version__}, {dtype_of(arguments.device)}\n")
    print(f"Self-attention, causal, width {WIDTH}, {HEADS} heads, forward and backward; {TOKENS:,} tokens.\n")
    rows = []
    for length in arguments.lengths:
        taken = measure(arguments, "time", length)
        held = {variant: measure(arguments, "memory", length, variant) for variant in VARIANTS}
        cells = [f"{length:,}", *(f"{1000 * taken[variant]:.1f}" for variant in VARIANTS)]
        cells += [f"{taken['explicit'] / taken['fused']:.2f}"]
        rows.append([*cells, *("-" if mib is None else f"{mib:.0f}" for mib in held.values())])
    times = [f"{variant}, ms" for variant in VARIANTS]
    print(table(["S", *times, "explicit / fused", *(f"{variant}, MiB" for variant in VARIANTS)], rows))

    failures = kernels(torch.device(arguments.device))
    chosen = [kernel for kernel in ("explicit", "chunked") if not failures[kernel]]
    taken = measure(arguments, "additive-time", variant=",".join(chosen))
    print(f"\nAdditive score, {ADDITIVE}, forward and backward.\n")
    rows = [[name, f"{1000 * taken[name]:.1f}", f"{taken['explicit'] / taken[name]:.2f}"] for name in chosen]
    print(table(["kernel", "ms", "explicit / it"], rows))
    print("\nAdditive score, B 8, T = S, A 512: MiB that one pass adds.\n")
    lengths = [length for length in arguments.lengths if length <= 512]
    rows = [
        [
            f"{length:,}",
            *(f"{measure(arguments, 'additive-memory', length, kernel) or 0:.0f}" for kernel in chosen),
        ]
        for length in lengths
    ]
    print(table(["T = S", *chosen], rows))


if __name__ == "__main__":
    main()
