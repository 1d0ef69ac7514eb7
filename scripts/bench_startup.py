"""How long a command takes that has little to do: a sentence, a page, and mistakes that it reports.

python scripts/bench_startup.py RUN [--rounds 5] [--threads 1]

Each command line is a new process, in turn with the others; the first round fills Python's cache of bytecode
and that of the system's files, and does not count. `import torch` alone is the part that no command which
computes can avoid.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import NamedTuple

SENTENCE = "I love you ."
COMMAND = (sys.executable, "-m", "translate.cli.main")


class Cost(NamedTuple):
    """What a process took, in seconds; `cpu` is that of all its threads, in the kernel too."""

    wall: float
    cpu: float


def command_lines(run: Path, page: Path, threads: int) -> dict[str, list[str]]:
    """Each command line, by the name that the table gives it."""
    machine = ["--threads", str(threads)]
    lines = {
        "text RUN SENTENCE": ["text", str(run), SENTENCE, *machine],
        "align RUN SENTENCE --out page.html": ["align", str(run), SENTENCE, "--out", str(page), *machine],
        "text with a run that is missing": ["text", str(run / "missing"), SENTENCE],
        "text with an option that is unknown": ["text", str(run), "--beem-size", "3"],
        "train training.max_stepz=9": ["train", "training.max_stepz=9"],
        "train training.max_steps=-9": ["train", "training.max_steps=-9"],
        "train data=files data.train.source=none": ["train", "data=files", "data.train.source=none"],
        "train model.num_layerz=9": ["train", "model.num_layerz=9"],
        "train model.num_heads=7": ["train", "model.num_heads=7"],
        "--help": ["--help"],
    }
    named = {f"translate {name}": [*COMMAND, *line] for name, line in lines.items()}
    return {"import torch": [sys.executable, "-c", "import torch"], **named}


def measured(line: list[str], environment: Mapping[str, str]) -> Cost:
    """Run a command line to its end, whatever its exit code says."""
    began = time.perf_counter()
    process = subprocess.Popen(line, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 2):
        raise SystemExit(f"exit code {process.returncode}: {' '.join(line)}")
    return Cost(wall, usage.ru_utime + usage.ru_stime)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("run", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryDirectory() as folder:
        lines = command_lines(options.run, Path(folder, "page.html"), options.threads)
        costs: dict[str, list[Cost]] = {name: [] for name in lines}
        for _ in range(options.rounds + 1):
            for name, line in lines.items():
                costs[name].append(measured(line, environment))
    print("| command | seconds | CPU seconds |", "| --- | ---: | ---: |", sep="\n")
    for name, found in costs.items():
        wall, cpu = (median(values) for values in zip(*found[1:], strict=True))
        print(f"| `{name}` | {wall:.2f} | {cpu:.2f} |")


if __name__ == "__main__":
    main()
