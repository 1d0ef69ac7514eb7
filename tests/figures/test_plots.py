"""The curves of a run."""

from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure

from translate.figures import figure, plots

ROWS: list[dict[str, Any]] = [
    *({"kind": "train", "step": 10 * n, "nll": 5.0 / n} for n in range(1, 8)),
    {"kind": "train", "step": 72, "nll": 0.1},  # of two steps
    *(
        {"kind": "validation", "step": 35 * n, "nll": 4.0 / n, "bleu": 11.0 * n, "aer": 0.3 / n}
        for n in (1, 2)
    ),
]


def test_curves_are_drawn_alike_whatever_the_user_s_settings(tmp_path: Path) -> None:
    first = plots.draw_curves(ROWS, tmp_path / "first.png")
    with matplotlib.rc_context({"lines.linewidth": 9.0, "font.size": 23.0, "axes.facecolor": "pink"}):
        second = plots.draw_curves(ROWS, tmp_path / "second.png")
    assert first.read_bytes() == second.read_bytes()


def test_points_of_a_few_steps_join_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[Figure] = []
    monkeypatch.setattr(plots, "save", lambda found, path: drawn.append(found))
    steps = {50: 6.0, 100: 5.0, 131: 4.0, 150: 3.0, 169: 2.0, 172: 9.0}  # went on after 131 and 150
    rows = [{"kind": "train", "step": step, "nll": nll} for step, nll in steps.items()]
    plots.draw_curves(rows, tmp_path / "x.png")
    points = drawn[0].axes[0].lines[0].get_xydata()
    assert np.allclose(np.asarray(points), [(50, 6.0), (100, 5.0), (131, 4.0), (169, 2.5)])


def test_names_of_systems_are_shown_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[Figure] = []
    monkeypatch.setattr(plots, "save", lambda found, path: drawn.append(found))
    names = ["_old", "$x^{$"]
    part = {"shortest": 1, "longest": 9, "bleu": dict.fromkeys(names, 20.0)}
    plots.draw_lengths([part], tmp_path / "a.svg")
    legend = drawn[0].axes[0].get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == names
    drawn[0].canvas.draw()


def test_curves_have_a_panel_a_score(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[Figure] = []

    def keep(found: Figure, path: Path) -> None:
        assert figure._drawing.locked()
        drawn.append(found)

    monkeypatch.setattr(plots, "save", keep)
    plots.draw_curves(ROWS, tmp_path / "x.png")
    panels = {
        axes.get_title(): [np.asarray(line.get_ydata()).tolist() for line in axes.lines]
        for axes in drawn[0].axes
    }
    assert list(panels) == ["negative log-likelihood", "BLEU", "AER"]
    assert panels["AER"] == [[30.0, 15.0]]
    assert panels["negative log-likelihood"][0] == [5.0 / n for n in range(1, 8)]
    assert panels["negative log-likelihood"][1] == [4.0, 2.0]
