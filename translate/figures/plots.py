"""The curves of a training run, and the scores of sentences by their length."""

from collections.abc import Mapping, Sequence
from itertools import cycle, pairwise
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from translate.figures.figure import drawing, save

_CURVES = (("nll", "negative log-likelihood", "nats a token"), ("bleu", "BLEU", ""), ("aer", "AER", "%"))


def draw_curves(rows: Sequence[Mapping[str, Any]], path: Path) -> Path:
    """Draw the rows of ``metrics.jsonl``, with a panel for each score that the run measured."""
    trained = [row for row in rows if row["kind"] == "train" and "nll" in row]
    gaps = [after - before for before, after in pairwise((0, *(row["step"] for row in trained)))]
    points: list[tuple[int, float]] = []
    steps = total = 0.0
    for row, gap in zip(trained, gaps, strict=True):
        steps, total = steps + gap, total + gap * row["nll"]
        if 2 * steps >= max(gaps):  # means of a few steps, at an interruption, join the next
            points.append((row["step"], total / steps))
            steps = total = 0.0
    validated = [row for row in rows if row["kind"] == "validation"]
    panels = [curve for curve in _CURVES if curve[0] == "nll" or any(curve[0] in row for row in validated)]
    with drawing(()):
        figure = Figure(figsize=(4.2 * len(panels), 3.2), layout="constrained")
        places = figure.subplots(1, len(panels), squeeze=False)[0]
        for axes, (key, title, unit) in zip(places, panels, strict=True):
            if key == "nll":
                axes.plot([x for x, _ in points], [y for _, y in points], label="training")
            scale = 100 if unit == "%" else 1
            measured = {row["step"]: scale * row[key] for row in validated if key in row}
            axes.plot([*measured], [*measured.values()], marker="o", color="C1", label="validation")
            if key == "nll":
                axes.legend(frameon=False)
            axes.set(title=title, xlabel="optimizer step", ylabel=unit)
            axes.grid(alpha=0.3)
        save(figure, path)
    return path


def draw_lengths(parts: Sequence[Mapping[str, Any]], path: Path) -> Path:
    """Draw BLEU by the length of the source, a line for each system (Bahdanau et al. 2015, figure 2).

    Args:
        parts: ranges of lengths with the BLEU of each system, as
            :func:`~translate.evaluation.comparison.by_length` returns them.
        path: .png, .pdf or .svg.
    """
    with drawing(parts[0]["bleu"]):
        figure = Figure(figsize=(4.8, 3.2), layout="constrained")
        axes = figure.subplots()
        for name, marker in zip(parts[0]["bleu"], cycle("os^Dvx"), strict=False):
            axes.plot([part["bleu"][name] for part in parts], marker=marker)  # a gap for None
        axes.set_xticks(range(len(parts)), [f"{part['shortest']} to {part['longest']}" for part in parts])
        axes.set(xlabel="words of the source", ylabel="BLEU", ylim=(0, None))
        axes.grid(alpha=0.3)
        for text in axes.legend(axes.lines, list(parts[0]["bleu"]), frameon=False).get_texts():
            text.set_parse_math(False)
        save(figure, path)
    return path
