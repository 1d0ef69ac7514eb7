"""The curves of a training run, and the scores of sentences by their length."""

from collections.abc import Mapping, Sequence
from itertools import cycle, pairwise
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from translate.figures.figure import check_extension, drawing, save

_CURVES = (("nll", "negative log-likelihood"), ("bleu", "BLEU"), ("aer", "AER"))


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
    panels = [(key, title) for key, title in _CURVES if key == "nll" or any(key in row for row in validated)]
    with drawing(()):
        figure = Figure(figsize=(4.2 * len(panels), 3.2), layout="constrained")
        for axes, (key, title) in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
            if key == "nll":
                axes.plot([x for x, _ in points], [y for _, y in points], label="training")
                pairs = [(row["step"], row["nll"]) for row in validated]
                axes.plot([x for x, _ in pairs], [y for _, y in pairs], marker="o", label="validation")
                axes.set_ylabel("nats a token")
                axes.legend(frameon=False)
            else:
                scale = 100 if key == "aer" else 1
                pairs = [(row["step"], scale * row[key]) for row in validated if key in row]
                axes.plot([x for x, _ in pairs], [y for _, y in pairs], marker="o", color="C1")
                axes.set_ylabel("%" if key == "aer" else "")
            axes.set_title(title)
            axes.set_xlabel("optimizer step")
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
    check_extension(path)
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
