import warnings

import matplotlib
import pytest
from matplotlib import font_manager
from matplotlib.ft2font import FT2Font

from translate.figures import figure as fonts

BUNDLED = f"{matplotlib.get_data_path()}/fonts/ttf/"


@pytest.fixture
def only_bundled(monkeypatch):
    """A machine with no fonts but matplotlib's."""
    entries = [entry for entry in font_manager.fontManager.ttflist if entry.fname.startswith(BUNDLED)]
    monkeypatch.setattr(font_manager.fontManager, "ttflist", entries)
    monkeypatch.setattr(font_manager, "findSystemFonts", list)
    fonts._list_new_fonts.cache_clear()


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


def test_a_font_that_was_installed_after_the_list_was_stored_is_found(only_bundled, monkeypatch):
    listed = [entry for entry in font_manager.fontManager.ttflist if entry.name.startswith("DejaVu")]
    monkeypatch.setattr(font_manager.fontManager, "ttflist", listed)
    monkeypatch.setattr(font_manager, "findSystemFonts", lambda: [BUNDLED + "STIXGeneral.ttf"])
    covered = [set(FT2Font(entry.fname).get_charmap()) for entry in listed]
    new = set(FT2Font(BUNDLED + "STIXGeneral.ttf").get_charmap()).difference(*covered)
    lacking = next(chr(code) for code in sorted(new) if chr(code).isalpha())
    assert fonts.families_for(["a", lacking]) == ["DejaVu Sans", "STIXGeneral"]


@pytest.mark.parametrize(
    ("word", "script"), [("你好", "CJK"), ("हिन्दी", "DEVANAGARI, symbols"), ("🫠", "symbols")]
)
def test_the_script_of_missing_characters_is_named(only_bundled, word, script):
    with pytest.warns(UserWarning, match=rf"characters \({script}\)") as caught:
        assert fonts.families_for([word, "a"]) == ["DejaVu Sans"]
    assert len(caught) == 1
    assert "apt install fonts-noto" in str(caught[0].message)
