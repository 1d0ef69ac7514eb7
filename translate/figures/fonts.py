"""Finds fonts for the words of a picture."""

import unicodedata
import warnings
from collections.abc import Iterable
from functools import lru_cache

from matplotlib import font_manager
from matplotlib.ft2font import FT2Font

from translate.errors import UserNotice

DEFAULT_FAMILY = "DejaVu Sans"  # comes with matplotlib

# First word of a character's Unicode name -> name of the script, and the Debian package with a font for it.
_SCRIPTS = {
    **dict.fromkeys(
        ("CJK", "IDEOGRAPHIC", "KANGXI", "FULLWIDTH", "HALFWIDTH"), ("Chinese", "fonts-noto-cjk")
    ),
    **dict.fromkeys(("HIRAGANA", "KATAKANA"), ("Japanese", "fonts-noto-cjk")),
    "HANGUL": ("Korean", "fonts-noto-cjk"),
    "BOPOMOFO": ("Bopomofo", "fonts-noto-cjk"),
}
_SYMBOLS = ("symbols and emoji", "fonts-symbola")

_warned: set[str] = set()


def families_for(texts: Iterable[str]) -> list[str]:
    """Names of installed font families that together can draw the texts, in order of preference.

    DejaVu Sans comes first, then families with characters that it lacks. If no installed font covers a
    script, one warning in each process names it and the Debian package to install.
    """
    characters = {character for text in texts for character in text if not _is_invisible(character)}
    families = [DEFAULT_FAMILY]
    default = font_manager.findfont(font_manager.FontProperties(family=[DEFAULT_FAMILY]))
    missing = characters - _coverage(str(default))
    if missing:
        missing = _add_covering(families, missing, characters)
    if missing:
        _find_new_fonts()
        missing = _add_covering(families, missing, characters)
    if missing:
        _warn_missing(missing)
    return families


def _add_covering(families: list[str], missing: set[str], characters: set[str]) -> set[str]:
    """Append installed families until nothing is missing or none helps; returns what is still missing."""
    scripts = {_script(character)[0] for character in characters}
    # Countries draw Chinese characters differently; the scripts beside them tell the country.
    country = "JP" if "Japanese" in scripts else "KR" if "Korean" in scripts else "SC"

    def preference(entry: font_manager.FontEntry) -> tuple[bool, bool, bool, bool, str, str]:
        name = entry.name
        other = "CJK" in name and not name.endswith(country)
        return "Mono" in name, "Serif" in name, "Sans" not in name, other, name, entry.fname

    for entry in sorted(font_manager.fontManager.ttflist, key=preference):
        if not missing:
            break
        if entry.name in families or not _is_upright(entry):
            continue
        covered = missing & _coverage(entry.fname)
        if covered:
            families.append(entry.name)
            missing = missing - covered
    return missing


def _is_upright(entry: font_manager.FontEntry) -> bool:
    # "Last Resort" fonts have a glyph for every character, but it only shows the script.
    return (
        entry.style == "normal"
        and entry.weight in (400, "normal", "regular")
        and "Last Resort" not in entry.name
    )


@lru_cache(maxsize=1024)
def _coverage(path: str) -> frozenset[str]:
    try:
        return frozenset(chr(code) for code in FT2Font(path).get_charmap())
    except (OSError, RuntimeError):  # removed or broken since matplotlib listed it
        return frozenset()


def _find_new_fonts() -> None:
    """Add fonts installed after matplotlib wrote its cached list."""
    known = {entry.fname for entry in font_manager.fontManager.ttflist}
    for path in sorted(set(font_manager.findSystemFonts()) - known):
        try:
            font_manager.fontManager.addfont(path)
        except (OSError, RuntimeError, ValueError):
            continue  # FreeType cannot read this font


def _is_invisible(character: str) -> bool:
    return character.isspace() or unicodedata.category(character) in ("Cf", "Mn", "Cc", "Cs", "Co", "Cn")


def _warn_missing(missing: set[str]) -> None:
    scripts: dict[tuple[str, str], list[str]] = {}
    for character in sorted(missing):
        scripts.setdefault(_script(character), []).append(character)
    for (script, package), characters in scripts.items():
        if script in _warned:
            continue
        _warned.add(script)
        examples = " ".join(f"U+{ord(character):04X}" for character in characters[:3])
        warnings.warn(
            f"no installed font draws {script} ({examples}); its characters appear as boxes. "
            f"On Debian or Ubuntu: apt install {package}; elsewhere install a Noto font for {script}",
            UserNotice,
            stacklevel=4,
        )


def _script(character: str) -> tuple[str, str]:
    if unicodedata.category(character).startswith("S"):
        return _SYMBOLS
    word = unicodedata.name(character, "UNKNOWN").split()[0]
    return _SCRIPTS.get(word, (word.capitalize(), "fonts-noto-core"))
