"""`make demo`: trains the three backends on the embedded corpus and draws what they look at.

python scripts/demo.py [--out runs/demo] [--seeds 1 2 3] [--docs] [OVERRIDE ...]

With several seeds the table gives the range of each figure. ``--docs`` keeps the figures in docs/demo.json
writes the table of docs/results.md from it, and draws README's picture.
"""

import argparse
import json
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
BACKENDS = ("rnn_bahdanau", "rnn_luong", "transformer")
TITLES = {"rnn_bahdanau": "RNN, Bahdanau", "rnn_luong": "RNN, Luong", "transformer": "Transformer"}
DRAWN = (
    "she does not give them the small green apples today .",
    "elle ne leur donne pas les petites pommes vertes aujourd'hui .",
)
SENTENCES = (
    "I love you .",
    "look it up .",
    "she does not like the green apples .",
    "where are my small black dogs ?",
)
MARK = "<!-- table of scripts/demo.py -->"
# Title of a column, key of a row, and how its numbers are written.
COLUMNS: tuple[tuple[str, str, Callable[[float], str]], ...] = (
    ("parameters", "parameters", lambda value: f"{value:,}"),
    ("seconds", "seconds", lambda value: f"{value:.0f}"),
    ("target tokens/s", "tokens_per_second", lambda value: f"{value:,.0f}"),
    ("BLEU", "bleu", lambda value: f"{value:.2f}"),
    ("AER, %", "aer", lambda value: f"{100 * value:.2f}"),
)


def folder_of(out: Path, backend: str, seed: int, seeds: Sequence[int]) -> Path:
    """The folder of a run; the first seed has the names that the documentation uses."""
    return out / backend if seed == seeds[0] else out / f"{backend}-seed{seed}"


def start(backend: str, run: Path, overrides: list[str]) -> subprocess.Popen[str]:
    """Train one backend by the command that a user would type; its output comes through a pipe.

    A run that was interrupted goes on.
    """
    begun = (run / "checkpoints" / "last").exists() and not (run / "scores.json").exists()
    command = ["train", f"experiment=demo_{backend}", f"run.name={run.name}", f"run.directory={run}"]
    command += ["training.resume=true" if begun else "run.overwrite=true", *overrides]
    print(f"$ translate {' '.join(command)}", flush=True)
    # In a process of its own, so that memory is given back, and the demo does what the command line does.
    whole = [sys.executable, "-m", "translate.cli.main", *command]
    return subprocess.Popen(whole, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def show_output(backend: str, process: subprocess.Popen[str]) -> None:
    """Print the output of a training line by line behind the backend's name."""
    assert process.stdout is not None
    for line in process.stdout:
        print(f"{backend:>12} | {line}", end="", flush=True)


def train(folders: dict[str, Path], overrides: list[str]) -> None:
    """Train the backends side by side, and wait for all of them; exits with the code of one that fails.

    Models as small as these gain little from a second thread, so each has one, and they share the cores.
    """
    if not any(override.startswith("runtime.threads=") for override in overrides):
        overrides = [*overrides, "runtime.threads=1"]
    print("Three models are trained side by side, one thread each: about four minutes on two cores.")
    processes = {backend: start(backend, run, overrides) for backend, run in folders.items()}
    readers = [threading.Thread(target=show_output, args=running) for running in processes.items()]
    for reader in readers:
        reader.start()
    try:
        for reader in readers:
            reader.join()
    except KeyboardInterrupt:  # the trainings have received it too: they save and end
        for reader in readers:
            reader.join()
        raise SystemExit(130) from None
    for process in processes.values():
        if process.wait():
            raise SystemExit(process.returncode)


def summary(out: Path, seeds: Sequence[int]) -> list[dict[str, Any]]:
    """A row of figures for every backend and seed."""
    rows = []
    for backend in BACKENDS:
        for seed in seeds:
            scores_file = folder_of(out, backend, seed, seeds) / "scores.json"
            scores = json.loads(scores_file.read_text(encoding="utf-8"))
            measured = {**scores, **scores["test"]}
            rows.append({"backend": backend, "seed": seed} | {key: measured[key] for _, key, _ in COLUMNS})
    return rows


def spread(values: Sequence[float], written: Callable[[float], str]) -> str:
    """The value, or the smallest and the largest of several."""
    smallest, largest = written(min(values)), written(max(values))
    return smallest if smallest == largest else f"{smallest} to {largest}"


def cells(rows: list[dict[str, Any]]) -> list[list[str]]:
    """A line for every backend: its name, its figures, and the number of its seeds."""
    lines = []
    for backend in BACKENDS:
        own = [row for row in rows if row["backend"] == backend]
        figures = [spread([row[key] for row in own], written) for _, key, written in COLUMNS]
        lines.append([backend, *figures, str(len(own))])
    return lines


def markdown(rows: list[dict[str, Any]]) -> str:
    """The table of docs/results.md."""
    titles = ["backend", *(title for title, *_ in COLUMNS), "seeds"]
    lines = [f"| {' | '.join(titles)} |", f"| --- |{' ---: |' * (len(titles) - 1)}"]
    lines += [f"| {' | '.join([f'`{line[0]}`', *line[1:]])} |" for line in cells(rows)]
    return "\n".join(lines)


def write_docs(rows: list[dict[str, Any]]) -> None:
    """Keep the figures in docs/demo.json, and write them between the marks of docs/results.md."""
    (ROOT / "docs" / "demo.json").write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    page = ROOT / "docs" / "results.md"
    before, _, after = page.read_text(encoding="utf-8").split(MARK)
    page.write_text(MARK.join([before, f"\n{markdown(rows)}\n", after]), encoding="utf-8")


def show(rows: list[dict[str, Any]], out: Path) -> Path:
    """Print the table and some translations, and draw the picture, whose path is returned."""
    from rich.console import Console
    from rich.table import Table

    import translate
    from translate.figures.heatmap import draw
    from translate.figures.matrix import Style
    from translate.runs.runtime import find_device, use_runtime

    console = Console(highlight=False)
    table = Table(title="test set of the embedded corpus", title_justify="left")
    table.add_column("backend")
    for title, *_ in COLUMNS:
        table.add_column(title, justify="right")
    table.add_column("seeds", justify="right")
    for line in cells(rows):
        table.add_row(*line)
    print()
    console.print(table)
    if len({row["seed"] for row in rows}) == 1:
        print("One seed: another seed or processor may give half a BLEU more or less (--seeds 1 2 3).")
    alignments = []
    use_runtime(find_device("auto"))  # as the command does
    for backend in BACKENDS:
        translator = translate.load(out / backend)
        print(f"\n{backend}")
        results = translator.translate(SENTENCES)
        for sentence, result in zip(SENTENCES, results, strict=True):
            print(f"  {sentence}  ->  {result.text}")
        alignments += translator.align([DRAWN[0]], [DRAWN[1]])
    titles = [TITLES[name] for name in BACKENDS]
    picture = draw(alignments, out / "alignments.png", titles=titles, style=Style("Blues"))
    print(f"\nthe source words that each target word looked at: {picture}")
    return picture


def main() -> None:
    parser = argparse.ArgumentParser(description="Train the three backends and draw what they look at.")
    parser.add_argument("--out", type=Path, default=Path("runs/demo"), help="folder of the runs")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1], help="train once with each")
    parser.add_argument("--docs", action="store_true", help="write the tables of the documentation")
    parser.add_argument("overrides", nargs="*", help="settings, such as training.max_steps=500")
    arguments = parser.parse_args()
    began = time.monotonic()
    for seed in arguments.seeds:
        folders = {name: folder_of(arguments.out, name, seed, arguments.seeds) for name in BACKENDS}
        train(folders, [*arguments.overrides, f"training.seed={seed}"])
    rows = summary(arguments.out, arguments.seeds)
    (arguments.out / "summary.json").write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    picture = show(rows, arguments.out)
    if arguments.docs:
        write_docs(rows)
        shutil.copy(picture, ROOT / "docs" / "pictures")
    print(f"{time.monotonic() - began:.0f} s in all")


if __name__ == "__main__":
    main()
