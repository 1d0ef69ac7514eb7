"""`make demo`: trains the three backends on the embedded corpus and draws what they look at.

python scripts/demo.py [--out runs/demo] [--threads N] [OVERRIDE ...]
"""

import argparse
import json
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

BACKENDS = ("rnn_bahdanau", "rnn_luong", "transformer")
TITLES = {"rnn_bahdanau": "RNN, Bahdanau", "rnn_luong": "RNN, Luong", "transformer": "Transformer"}
CLASSIC = ("I love you .", "je t' aime .")
SENTENCES = (
    CLASSIC[0],
    "look it up .",
    "she does not like the green apples .",
    "where are my small black dogs ?",
)


def start(backend: str, run: Path, overrides: list[str]) -> subprocess.Popen[str]:
    """One backend by the command that a user would type; what it prints comes through a pipe."""
    command = ["train", f"experiment=demo_{backend}", f"run.name={run.name}", f"run.directory={run}"]
    command += ["run.overwrite=true", *overrides]
    print(f"$ translate {' '.join(command)}", flush=True)
    # A process of its own: memory is given back, and the demo does what the command line does.
    whole = [sys.executable, "-m", "translate.cli.main", *command]
    return subprocess.Popen(whole, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def show_output(backend: str, process: subprocess.Popen[str]) -> None:
    """Print what a training prints, line by line, each behind the backend's name."""
    assert process.stdout is not None
    for line in process.stdout:
        print(f"{backend:>12} | {line}", end="", flush=True)


def train(out: Path, overrides: list[str]) -> None:
    """Train the backends side by side, and wait for all of them; leaves with the exit code of one that fails.

    Models as small as these gain little from a second thread, so each has one, and they share the cores.
    """
    if not any(each.startswith("runtime.threads=") for each in overrides):
        overrides = [*overrides, "runtime.threads=1"]
    processes = {backend: start(backend, out / backend, overrides) for backend in BACKENDS}
    readers = [threading.Thread(target=show_output, args=each) for each in processes.items()]
    for reader in readers:
        reader.start()
    try:
        for reader in readers:
            reader.join()
    except KeyboardInterrupt:  # the trainings have heard it too: they save and end
        for reader in readers:
            reader.join()
        raise SystemExit(130) from None
    for process in processes.values():
        if process.wait():
            raise SystemExit(process.returncode)


def summary(out: Path) -> list[dict[str, Any]]:
    """The scores of the three runs."""
    rows = []
    for backend in BACKENDS:
        scores = json.loads((out / backend / "scores.json").read_text(encoding="utf-8"))
        rows.append(
            {
                "backend": backend,
                "parameters": scores["parameters"],
                "seconds": scores["seconds"],
                "tokens_per_second": scores["tokens_per_second"],
                "bleu": scores["test"]["bleu"],
                "aer": scores["test"]["aer"],
            }
        )
    return rows


def show(rows: list[dict[str, Any]], out: Path) -> None:
    """The table, some translations, and the picture."""
    from rich.console import Console
    from rich.table import Table

    import translate
    from translate.pictures.heatmap import draw

    console = Console(highlight=False)
    table = Table(title="test set of the embedded corpus", title_justify="left")
    table.add_column("backend")
    for name in ("parameters", "seconds", "tokens/s", "BLEU", "AER %"):
        table.add_column(name, justify="right")
    for row in rows:
        table.add_row(
            row["backend"],
            f"{row['parameters']:,}",
            f"{row['seconds']:.0f}",
            f"{row['tokens_per_second']:,.0f}",
            f"{row['bleu']:.2f}",
            f"{100 * row['aer']:.2f}",
        )
    print()
    console.print(table)
    alignments = []
    for backend in BACKENDS:
        translator = translate.load(out / backend)
        print(f"\n{backend}")
        results = translator.translate(SENTENCES)
        for sentence, result in zip(SENTENCES, results, strict=True):
            print(f"  {sentence}  ->  {result.text}")
        alignments += translator.align([CLASSIC[0]], [CLASSIC[1]])
    picture = draw(
        alignments, out / "alignments.png", titles=[TITLES[name] for name in BACKENDS], values=True
    )
    print(f"\nwhat each target word looked at: {picture}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Train the three backends and draw what they look at.")
    parser.add_argument("--out", type=Path, default=Path("runs/demo"), help="folder of the runs")
    parser.add_argument("overrides", nargs="*", help="settings, such as training.max_steps=50")
    arguments = parser.parse_args()
    began = time.monotonic()
    train(arguments.out, arguments.overrides)
    rows = summary(arguments.out)
    (arguments.out / "summary.json").write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    show(rows, arguments.out)
    print(f"{time.monotonic() - began:.0f} s in all")


if __name__ == "__main__":
    main()
