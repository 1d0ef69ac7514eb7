import warnings

import matplotlib
import numpy as np
import pytest
from matplotlib import font_manager
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ft2font import FT2Font

from translate.figures import figure as fonts
from translate.figures.figure import drawing

BUNDLED = f"{matplotlib.get_data_path()}/fonts/ttf/"


@pytest.fixture
def only_bundled(monkeypatch):
    """A machine with no fonts but matplotlib's."""
    entries = [entry for entry in font_manager.fontManager.ttflist if entry.fname.startswith(BUNDLED)]
    monkeypatch.setattr(font_manager.fontManager, "ttflist", entries)
    monkeypatch.setattr(font_manager, "findSystemFonts", list)
    monkeypatch.setattr(fonts, "_warned", set())


def test_latin_needs_one_family():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fonts.families_for(["je", "t'", "ĝi", "e\u0301", "приве́т", "a\u200db\n"]) == ["DejaVu Sans"]


def test_another_family_covers_what_is_missing(only_bundled):
    covered = [set(FT2Font(BUNDLED + name).get_charmap()) for name in ("STIXGeneral.ttf", "DejaVuSans.ttf")]
    lacking = next(chr(code) for code in sorted(covered[0] - covered[1]) if chr(code).isalpha())
    families = fonts.families_for(["a", lacking])
    assert families[0] == "DejaVu Sans"
    assert len(families) == 2


@pytest.mark.parametrize(
    ("word", "script", "package"),
    [
        ("你好", "Chinese", "fonts-noto-cjk"),
        ("ひらがな", "Japanese", "fonts-noto-cjk"),
        ("한국어", "Korean", "fonts-noto-cjk"),
        ("हिन्दी", "Devanagari", "fonts-noto-core"),
        ("ไทย", "Thai", "fonts-noto-core"),
        ("ܐܪܡܝܐ", "Syriac", "fonts-noto-core"),
        ("🫠", "symbols and emoji", "fonts-symbola"),
    ],
)
def test_missing_script_is_named_once(only_bundled, word, script, package):
    with pytest.warns(UserWarning, match=script) as caught:
        assert fonts.families_for([word, "a"]) == ["DejaVu Sans"]
    assert len(caught) == 1
    assert f"apt install {package}" in str(caught[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fonts.families_for([word])


def test_fonts_installed_after_the_list_was_made_are_found(only_bundled, monkeypatch):
    wanted = BUNDLED + "STIXGeneral.ttf"
    lacking = next(
        chr(code)
        for code in sorted(
            set(FT2Font(wanted).get_charmap()) - set(FT2Font(BUNDLED + "DejaVuSans.ttf").get_charmap())
        )
        if chr(code).isalpha()
    )
    known = [entry for entry in font_manager.fontManager.ttflist if entry.name == "DejaVu Sans"]
    monkeypatch.setattr(font_manager.fontManager, "ttflist", known)
    monkeypatch.setattr(font_manager, "findSystemFonts", lambda: [wanted])
    assert fonts.families_for([lacking]) == ["DejaVu Sans", "STIXGeneral"]


def _components(word):
    """Width in pixels of each run of columns with ink, left to right."""
    with drawing([word]):
        figure = Figure(figsize=(3, 1), dpi=200)
        canvas = FigureCanvasAgg(figure)
        figure.text(0.1, 0.4, word, fontsize=40, parse_math=False)
        canvas.draw()
        ink = (np.asarray(canvas.buffer_rgba())[..., 0] < 128).any(axis=0)
    edges = np.flatnonzero(np.diff(np.concatenate(([0], ink.astype(int), [0]))))
    return (edges[1::2] - edges[::2]).tolist()


def test_right_to_left_words_are_drawn_right():
    narrow, wide = _components("ו")[0], _components("ש")[0]
    assert wide > 2 * narrow
    assert _components("וש") == pytest.approx([wide, narrow], abs=2)  # vav, the first letter, at the right
    assert len(_components("بب")) == 1  # Arabic letters join
    assert len(_components("ب\u200cب")) == 2  # unless told not to
    assert _components("abc") == _components("abc\u200e")


def test_the_warning_helps_on_other_systems_too(only_bundled):
    with pytest.warns(UserWarning, match="elsewhere install a Noto font for Tibetan"):
        fonts.families_for(["བོད"])
