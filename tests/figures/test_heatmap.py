import re
import subprocess
import sys
from xml.etree import ElementTree

import matplotlib
import numpy as np
import pytest
from matplotlib.image import imread

from translate.alignment.alignment import Alignment
from translate.errors import UserError
from translate.figures.heatmap import draw
from translate.figures.matrix import Style
from translate.links.links import parse_gold

WEIGHTS = np.array([[0.94, 0.04, 0.02], [0.12, 0.0, 0.88]])
ALIGNMENT = Alignment(["I", "love", "you"], ["je", "t'"], WEIGHTS)
WEIRD = [
    *("$x_1$", "$", "a\nb", "\t", "\0", "e\u0301", "שלום", "مرحبا", "你好", "😀", "", "\ud800", "<&>"),
    *("\\frac", "w" * 99),
]


def _cells(path, height, width):
    """Colour of the middle of each cell, found in the picture itself: the first block of coloured columns."""
    pixels = np.round(imread(path)[..., :3] * 255).astype(int)
    coloured = np.ptp(pixels, axis=-1) > 30
    columns = np.flatnonzero(coloured.any(axis=0))
    columns = columns[: np.flatnonzero(np.diff(np.append(columns, 10**6)) > 10)[0] + 1]
    rows = np.flatnonzero(coloured[:, columns].any(axis=1))
    across = columns[0] + (np.arange(width) + 0.5) / width * (columns[-1] + 1 - columns[0])
    down = rows[0] + (np.arange(height) + 0.5) / height * (rows[-1] + 1 - rows[0])
    return down.astype(int), across.astype(int), pixels


def test_colours_of_the_cells_are_the_weights(tmp_path):
    down, across, pixels = _cells(draw([ALIGNMENT], tmp_path / "v.png", style=Style("viridis")), 2, 3)
    expected = np.round(matplotlib.colormaps["viridis"](WEIGHTS)[..., :3] * 255)
    np.testing.assert_allclose(pixels[np.ix_(down, across)], expected, atol=1)
    for style, shades in ((Style(), 1 - WEIGHTS), (Style("gray"), WEIGHTS)):  # white for 0 unless asked
        shown = np.round(imread(draw([ALIGNMENT], tmp_path / "g.png", style=style))[..., 0] * 255)
        assert shown.shape == pixels.shape[:2]
        np.testing.assert_allclose(shown[np.ix_(down, across)], shades * 255, atol=2)


def test_words_and_cells_have_the_size_that_is_wanted(tmp_path):
    for size, pitch in ((11, 36), (5.5, 18)):  # points; half an inch at the usual 11
        style = Style(font="dejavu serif", size=size)
        svg = draw([ALIGNMENT], tmp_path / "a.svg", style=style).read_text()
        found = re.findall(
            r"<text style=\"font-size: ([\d.]+)px; font-family: 'DejaVu Serif'.*? x=\"([\d.]+)", svg
        )
        assert [float(word) for word, _ in found[:3]] == [size] * 3
        np.testing.assert_allclose(np.diff([float(x) for _, x in found[:3]]), pitch, atol=1e-3)


def _texts(path):
    root = ElementTree.fromstring(path.read_bytes())
    return ["".join(element.itertext()) for element in root.iter("{http://www.w3.org/2000/svg}text")]


def test_words_values_and_titles_are_text_in_svg(tmp_path):
    texts = _texts(draw([ALIGNMENT, ALIGNMENT], tmp_path / "a.svg", titles=["RNN", "$x$"], values=True))
    for text in ("I", "love", "you", "je", "t'", "0.94", "0.04", "0.00", "0.88"):
        assert texts.count(text) == 2
    assert texts.count("RNN") == texts.count("$x$") == 1


def test_a_sentence_from_right_to_left_runs_so_across_the_top(tmp_path):
    mirrored = Alignment(["שלום", "עולם", "יפה"], ["je", "t'"], WEIGHTS)
    down, across, pixels = _cells(draw([mirrored], tmp_path / "v.png", style=Style("viridis")), 2, 3)
    expected = np.round(matplotlib.colormaps["viridis"](WEIGHTS[:, ::-1])[..., :3] * 255)
    np.testing.assert_allclose(pixels[np.ix_(down, across)], expected, atol=1)


def test_gold_frames(tmp_path):
    gold = parse_gold("0-0 1p0 2-1 1p1 2p0", where="x")
    svg = draw([ALIGNMENT, ALIGNMENT], tmp_path / "a.svg", gold=[gold, None]).read_text()
    frames = [style for style in re.findall(r'style="([^"]*)"', svg) if "stroke: #ff7f0e" in style]
    assert len(frames) == 5
    assert sum("stroke-dasharray" in style for style in frames) == 3


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 3, 60])
def test_nothing_is_cut_off_or_overlaps(tmp_path, size):
    words = [("long-word-", "w", "")[i % 3] * 2 + str(i) for i in range(size)]
    alignment = Alignment(words, words, np.eye(size))
    pixels = imread(draw([alignment, alignment], tmp_path / "a.png", titles=["a long title " * 4, "b"]))[
        ..., :3
    ]
    for edge in (pixels[:8], pixels[-8:], pixels[:, :8], pixels[:, -8:]):
        assert (edge == 1).all()
    assert pixels.shape[1] >= 2 * size * 0.2 * 200  # a cell keeps 0.2 inches


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:no installed font")
@pytest.mark.parametrize("extension", ["png", "PDF", "svg"])
def test_weird_words_are_drawn_as_they_are(tmp_path, extension):
    alignment = Alignment(WEIRD, WEIRD, np.eye(len(WEIRD)))
    path = draw([alignment], tmp_path / f"a.{extension}", titles=["$\\frac{1$ \n\0"], values=True)
    with pytest.raises(UserError, match=r"none/a\.png: cannot be written"):
        draw([alignment], tmp_path / "none" / "a.png")
    assert path.stat().st_size > 1000
    if extension == "svg":
        texts = _texts(path)
        for shown in ("$x_1$", "a\\nb", "\\t", "\\x00", "שלום", "你好", "\\ud800", "<&>", "\\frac"):
            assert texts.count(shown) == 2
        assert "w" * 16 + "…" + "w" * 15 in texts


def test_wrong_input(tmp_path):
    for name in ("a.jpg", "a.html", "a"):
        with pytest.raises(UserError, match=r"\.png, \.pdf or \.svg"):
            draw([ALIGNMENT], tmp_path / name)
    with pytest.raises(UserError, match="did you mean viridis"):
        draw([ALIGNMENT], tmp_path / "a.png", style=Style("virdis"))
    with pytest.raises(
        UserError, match="no installed font is called 'Dejavu Seri'; did you mean DejaVu Serif"
    ):
        draw([ALIGNMENT], tmp_path / "a.png", style=Style(font="Dejavu Seri"))
    with pytest.raises(UserError, match="1000; expected 3 to 40 points"):
        Style(size=1000)
    with pytest.raises(UserError, match="nothing to draw"):
        draw([Alignment([], ["a"], np.zeros((1, 0)))], tmp_path / "a.png")
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="cannot be written"):
        draw([ALIGNMENT], tmp_path / "file" / "a.png")
    with pytest.raises(ValueError, match="2 titles for 1"):
        draw([ALIGNMENT], tmp_path / "a.png", titles=["a", "b"])
    outside = parse_gold("0-0 3p1", where="x")
    with pytest.raises(ValueError, match="3-1 lies outside"):
        draw([ALIGNMENT], tmp_path / "a.png", gold=[outside])
    with pytest.raises(ValueError, match="no alignment"):
        draw([], tmp_path / "a.png")
    for one in (ALIGNMENT, ["a"]):
        with pytest.raises(ValueError, match="expected a list of alignments"):
            draw(one, tmp_path / "a.png")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="titles: expected a list"):
        draw([ALIGNMENT], tmp_path / "a.png", titles="a")


@pytest.mark.parametrize("extension", ["png", "pdf", "svg"])
def test_equal_files_whatever_the_settings(tmp_path, extension):
    first = draw([ALIGNMENT], tmp_path / f"a.{extension}").read_bytes()
    with matplotlib.rc_context(
        {"font.size": 30, "font.family": "serif", "savefig.bbox": "tight", "axes.grid": True}
    ):
        before = dict(matplotlib.rcParams)
        assert draw([ALIGNMENT], tmp_path / f"b.{extension}").read_bytes() == first
        assert dict(matplotlib.rcParams) == before


@pytest.mark.slow
def test_pyplot_stays_out_and_matplotlib_waits_for_the_first_picture(tmp_path):
    code = (
        "import sys, numpy as np; from translate.alignment.alignment import Alignment; "
        "assert 'matplotlib' not in sys.modules; alignment = Alignment(['a'], ['b'], np.ones((1, 1))); "
        f"alignment.heatmap({str(tmp_path / 'a.png')!r}, title='t', values=True); "
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert (tmp_path / "a.png").exists()
