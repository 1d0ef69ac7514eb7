"""Loss, BLEU and AER over a run, as a picture."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

PANELS = (("nll", "negative log-likelihood"), ("bleu", "BLEU"), ("aer", "AER"))


def draw_curves(rows: Sequence[Mapping[str, Any]], path: Path) -> Path:
    """Draw the rows of ``metrics.jsonl``: a panel for each score that was measured."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    trained = [row for row in rows if row["kind"] == "train"]
    validated = [row for row in rows if row["kind"] == "validation"]
    panels = [(key, title) for key, title in PANELS if key == "nll" or any(key in row for row in validated)]
    figure = Figure(figsize=(4.2 * len(panels), 3.2), layout="constrained")
    FigureCanvasAgg(figure)
    for axes, (key, title) in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
        if key == "nll":
            axes.plot([row["step"] for row in trained], [row["nll"] for row in trained], label="training")
            # Earlier versions called it loss.
            pairs = [(row["step"], row.get("nll", row.get("loss"))) for row in validated]
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
    figure.savefig(path, dpi=120, metadata={"Software": None})
    return path
