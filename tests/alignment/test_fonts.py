import warnings

import matplotlib
import pytest
from matplotlib import font_manager
from matplotlib.ft2font import FT2Font

from translate.alignment import fonts

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
