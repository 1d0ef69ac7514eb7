"""Checks a GPU: tests, attention kernels, steps of large models, trainings, translating.

    python scripts/gpu_check.py --data MULTI30K_DIRECTORY [--seconds 120] [--out runs/gpu-check]

Prints one table, in under 10 minutes: the seconds until each backend reaches 40 BLEU on validation; the
target tokens a second of a Transformer of the "big" size and of the RNNs, with their share of a bfloat16
product's speed; and how fast the trained runs translate in bfloat16, beside CTranslate2 and Hugging Face if
they are installed. Without a GPU the GPU tests skip, attention is not timed, small models take steps in
float32, trainings run on the CPU for the given time, and 200 sentences are translated there in float32.
"""

import argparse
import json
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
AIM = 40.0  # BLEU on validation


def run(command: list[str]) -> tuple[int, str, float]:
    """Exit code, output and seconds of a command, whose output is also shown as it comes."""
    print(f"\n$ {' '.join(command)}", flush=True)
    began = time.monotonic()
    lines = []
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            lines.append(line)
    return process.returncode, "".join(lines), time.monotonic() - began


def training(data: Path, backend: str, seconds: int, out: Path) -> list[str]:
    """Train a backend on Multi30k en-de for ``seconds`` seconds; a row of the table."""
    directory = out / backend
    command = [sys.executable, "-m", "translate.cli.main", "train", "data=multi30k", f"data.path={data}"]
    command += ["data.source_language=en", "data.target_language=de", f"model={backend}"]
    command += ["run.overwrite=true"]
    command += [f"run.name=gpu-check-{backend}", f"run.directory={directory}", f"training.max_time={seconds}"]
    command += ["training.validation_pairs=null", "training.validate_every=100"]
    code, _, taken = run(command)
    if code:
        return [f"Multi30k en-de, {backend}", f"failed, exit code {code}", f"{taken:.0f}"]
    scores = json.loads((directory / "scores.json").read_text(encoding="utf-8"))
    test = scores["test"]
    shown = (
        f"{until(directory, AIM)}, test BLEU {test['bleu']:.2f}, {scores['tokens_per_second']:,.0f} "
        f"target tokens/s ({test['signature']})"
    )
    return [f"Multi30k en-de, {backend}", shown, f"{taken:.0f}"]


def until(directory: Path, bleu: float) -> str:
    """When a run's validation first reached ``bleu``."""
    lines = (directory / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    validations = [record for record in map(json.loads, lines) if record["kind"] == "validation"]
    reached = [record["seconds"] for record in validations if record["bleu"] >= bleu]
    if reached:
        return f"{bleu:g} BLEU after {reached[0]:.0f} s"
    best = max((record["bleu"] for record in validations), default=0.0)
    return f"{bleu:g} BLEU not reached (best {best:.1f})"


def steps(*, has_gpu: bool) -> list[str]:
    """Optimizer steps of a large Transformer and of both RNNs; a row of the table."""
    command = [sys.executable, "scripts/bench_steps.py", "--rounds", "4"]
    if has_gpu:
        command += ["--device", "cuda", "--precision", "bfloat16", "--batch-tokens", "16384"]
        command += ["--beside", "torch"]
        command += ["--sizes", "transformer_big", "transformer", "rnn_bahdanau", "rnn_luong"]
    code, output, taken = run(command)
    found = re.findall(
        r"^(\w+, [^:]+): ([\d,]+) target tokens/s.* (\d+ %) of the product", output, flags=re.MULTILINE
    )
    shown = "; ".join(f"{name} {speed} target tokens/s ({share})" for name, speed, share in found)
    return ["optimizer steps", shown or f"exit code {code}", f"{taken:.0f}"]


def translating(data: Path, backends: list[str], out: Path, *, has_gpu: bool) -> list[str]:
    """Time translations of the trained runs; a row of the table."""
    transformer, *others = sorted(backends, key=lambda name: name != "transformer")
    if transformer != "transformer":
        return ["translating", "no Transformer was trained", "0"]
    command = [sys.executable, "scripts/bench_translate.py", str(out / transformer), "--data", str(data)]
    command += [part for name in others for part in ("--rnn", str(out / name))]
    if has_gpu:
        command += ["--device", "cuda", "--precision", "bfloat16"]
    else:
        command += ["--sentences", "200", "--rounds", "1"]
    code, output, taken = run(command)
    rows = re.findall(r"^\| ([^|]+) \| (\d+) \| ([\d.]+) \|", output, flags=re.MULTILINE)
    shown = "; ".join(f"{name}, beam {beam}: {speed} sentences/s" for name, beam, speed in rows)
    return ["translating", shown or f"exit code {code}", f"{taken:.0f}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--data", type=Path, required=True, help="directory with train.en.gz, train.de.gz ..."
    )
    parser.add_argument("--seconds", type=int, default=120, help="of each training")
    parser.add_argument("--out", type=Path, default=Path("runs/gpu-check"))
    parser.add_argument("--backends", nargs="*", default=["transformer", "rnn_bahdanau", "rnn_luong"])
    arguments = parser.parse_args()

    import torch
    from rich.console import Console
    from rich.table import Table

    has_gpu = torch.cuda.is_available()
    device = torch.cuda.get_device_name() if has_gpu else f"CPU, {torch.get_num_threads()} threads"
    rows = []
    code, output, taken = run([sys.executable, "-m", "pytest", "-q", "-m", "gpu", "-rs", "tests"])
    summary = re.findall(r"^.*(?:passed|skipped|failed|deselected).*$", output, flags=re.MULTILINE)
    rows.append(["GPU tests", summary[-1].strip("= ") if summary else f"exit code {code}", f"{taken:.0f}"])
    if has_gpu:
        bench = [sys.executable, "scripts/bench_attention.py", "--device", "cuda"]
        code, _, taken = run([*bench, "--lengths", "128", "512", "1024", "4096", "8192"])
        rows.append(["attention", f"table above, exit code {code}", f"{taken:.0f}"])
    rows.append(steps(has_gpu=has_gpu))
    data, out = arguments.data.resolve(), arguments.out.resolve()
    for backend in arguments.backends:
        rows.append(training(data, backend, arguments.seconds, out))
    rows.append(translating(data, arguments.backends, out, has_gpu=has_gpu))
    table = Table(
        "check", "result", "seconds", title=f"{device}, torch {torch.__version__}", title_justify="left"
    )
    for row in rows:
        table.add_row(*row)
    Console(highlight=False, width=140).print(table)


if __name__ == "__main__":
    main()
