"""Figures: their fonts, settings and colours, and how they are saved."""

import threading
import unicodedata
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache, lru_cache
from pathlib import Path

import matplotlib
import matplotlib.style
from matplotlib import font_manager
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import Colormap
from matplotlib.figure import Figure
from matplotlib.ft2font import FT2Font

from translate.config.names import did_you_mean, nearest
from translate.errors import UserError, UserNotice
from translate.figures.matrix import PRINT, Style
from translate.text.file_writing import aside


def families_for(texts: Iterable[str], first: str = PRINT.font) -> list[str]:
    """Names of installed font families that together can draw the texts, in order of preference.

    `first` comes first, then families with characters that it lacks.
    """
    characters = {character for text in texts for character in text if not _is_invisible(character)}
    families = [first]
    missing = characters - _coverage(str(font_manager.findfont(first)))
    if missing:
        _list_new_fonts()
    for entry in sorted(font_manager.fontManager.ttflist, key=_rank):
        covered = missing & _coverage(entry.fname) if missing and _is_upright(entry) else set()
        if covered:
            families.append(entry.name)
            missing = missing - covered
    if missing:
        scripts = {unicodedata.name(c, "?").split()[0] if c.isalpha() else "symbols" for c in missing}
        shown = ", ".join(sorted(scripts)[:3])
        warnings.warn(
            f"no installed font draws some of the characters ({shown}); they appear as boxes. "
            "Install a Noto font for them, on Debian or Ubuntu: apt install fonts-noto-core fonts-noto-cjk",
            UserNotice,
            stacklevel=4,
        )
    return families


@cache
def _list_new_fonts() -> None:
    """Let matplotlib know the fonts that were installed after it had stored its list."""
    known = {entry.fname for entry in font_manager.fontManager.ttflist}
    for path in font_manager.findSystemFonts():
        if path not in known:
            with suppress(OSError, RuntimeError):  # broken
                font_manager.fontManager.addfont(path)


def _rank(entry: font_manager.FontEntry) -> tuple[bool, bool, bool, str, str]:
    return "Mono" in entry.name, "Serif" in entry.name, "Sans" not in entry.name, entry.name, entry.fname


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


def _is_invisible(character: str) -> bool:
    return character.isspace() or unicodedata.category(character) in ("Cf", "Mn", "Cc", "Cs", "Co", "Cn")


# Time stamps and versions are left out, so that equal alignments give equal files.
_METADATA: dict[str, dict[str, str | None]] = {
    ".png": {"Software": None},
    ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    ".svg": {"Date": None, "Creator": None},
}
_DPI = 200  # pixels an inch
_MARGIN = 0.12  # inches
_LARGEST_SIDE = 12_000  # pixels; without a limit, the figure of a long text would exhaust the memory

_drawing = threading.Lock()  # matplotlib's settings and font caches belong to the process


def check_extension(path: str | Path, further: str = "") -> Path:
    """Return the path; raises UserError, with ``further`` ones, if figures cannot have its extension."""
    path = Path(path)
    if path.suffix.lower() not in _METADATA:
        raise UserError(f"{path}: cannot draw to '{path.suffix}'; expected .png, .pdf or .svg{further}")
    return path


def find_colour_map(name: str) -> Colormap:
    """matplotlib's colour map of this name; raises UserError with the nearest name for an unknown one."""
    try:
        return matplotlib.colormaps[name]
    except KeyError:
        hint = did_you_mean(nearest(name, matplotlib.colormaps)) or "; try gray, gray_r or viridis"
        raise UserError(f"unknown colour map '{name}'{hint}") from None


def find_font(name: str) -> str:
    """The installed font family of this name; raises UserError with the nearest name for an unknown one."""
    names = {entry.name.lower(): entry.name for entry in font_manager.fontManager.ttflist}
    if name.lower() not in names:
        hint = did_you_mean(nearest(name, names.values())) or f"; try {PRINT.font} or DejaVu Serif"
        raise UserError(f"no installed font is called '{name}'{hint}")
    return names[name.lower()]


@contextmanager
def drawing(texts: Iterable[str], style: Style = PRINT) -> Iterator[None]:
    """Context in which to draw and save: it ignores the user's settings and finds fonts for the texts.

    Raises:
        UserError: for a font that is not installed.
    """
    own = {
        "text.hinting": "none",  # a text is as wide in the figure as measured, at any resolution
        "svg.fonttype": "none",  # text stays text
        "svg.hashsalt": "translate",
        "pdf.fonttype": 42,
    }
    with _drawing:
        own["font.family"] = families_for(texts, find_font(style.font))
        with matplotlib.style.context(["default", own]), warnings.catch_warnings():
            # families_for has warned already
            warnings.filterwarnings("ignore", message="Glyph .* missing from")
            yield


def text_sizes(texts: Sequence[str], font_size: float) -> list[tuple[float, float]]:
    """Width and height of each text in inches."""
    figure = Figure(dpi=_DPI)
    renderer = FigureCanvasAgg(figure).get_renderer()
    sizes = []
    for text in texts:
        artist = figure.text(0, 0, text, fontsize=font_size, parse_math=False)
        box = artist.get_window_extent(renderer)
        sizes.append((box.width / _DPI, box.height / _DPI))
        artist.remove()
    return sizes


def save(figure: Figure, path: Path) -> None:
    """Save a figure with all that stands beside its axes; raises UserError if it cannot be written."""
    box = figure.get_tightbbox(FigureCanvasAgg(figure).get_renderer())
    dpi = min(_DPI, _LARGEST_SIDE / (max(box.width, box.height) + 2 * _MARGIN))
    with aside(path) as new:
        figure.savefig(
            new,
            dpi=dpi,
            metadata=_METADATA[path.suffix.lower()],
            format=path.suffix[1:].lower(),
            bbox_inches="tight",
            pad_inches=_MARGIN,
        )
