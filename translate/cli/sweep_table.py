"""The table that ends a sweep: what varied between its runs, their best validation, and their time."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from translate.config.names import aligned

UNEVEN = 1.1  # ratio of the most steps, and target tokens, to the fewest from which a table says so
SCORES = ("nll", "bleu", "chrf", "ter", "aer")


class SweepRun(NamedTuple):
    """A run of a sweep, its name without those of its values, and the overrides that others do not have."""

    directory: Path
    name: str
    values: Mapping[str, str]


def write_table(runs: Sequence[SweepRun], path: Path) -> list[str]:
    """Write the table with tabs between its columns, and return it as lines for the terminal."""
    from translate.runs.terminal_lines import clock
    from translate.text.file_writing import write_text

    bests = [_best_validation(run.directory) for run in runs]
    varied = list(dict.fromkeys(key for run in runs for key in run.values))
    measured = [name for name in SCORES if any(name in best for best in bests)]
    titles = ["aer, %" if name == "aer" else name for name in measured]
    rows = [["run", *varied, "best step", *titles, "time"]]
    for run, best in zip(runs, bests, strict=True):
        values = [run.values.get(key, "") for key in varied]
        shown = best | {"aer": 100 * best.get("aer", 0.0)}
        scores = [f"{shown[name]:.3f}" if name in best else "" for name in measured]
        time = clock(best["time"]) if "time" in best else ""
        rows.append([run.directory.name, *values, str(best.get("step", "")), *scores, time])
    ended = [best for best in bests if "tokens" in best]
    steps, tokens = ([best[name] for best in ended] or [0] for name in ("steps", "tokens"))
    uneven = not any(key.startswith("training.max_") for key in varied) and all(
        max(counts) > UNEVEN * min(counts) for counts in (steps, tokens)
    )
    read = f"{min(tokens):,} to {max(tokens):,} target tokens"
    note = f"note: the runs read {read}; training.max_epochs gives each as many"
    write_text(path, "".join("\t".join(row) + "\n" for row in rows))
    return [*aligned(rows), f"written to {path}", *[note] * uneven]


def _best_validation(path: Path) -> dict[str, Any]:
    """The logged row of a finished run's best validation, its ``time`` in seconds, ``steps``, ``tokens``."""
    from translate.runs.run_directory import RunDirectory

    directory = RunDirectory(path)
    if not directory.scores.exists():
        return {}
    scores = json.loads(directory.scores.read_text(encoding="utf-8"))
    rows = {row["step"]: row for row in directory.rows() if row["kind"] == "validation"}
    return {
        "time": scores["seconds"],
        **rows.get(scores["best_step"], {}),
        "steps": scores["steps"],
        "tokens": scores["tokens"],
    }
