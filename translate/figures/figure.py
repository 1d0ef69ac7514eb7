"""The settings, fonts and colours of all pictures of alignments, and how they are saved."""

import difflib
import threading
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import matplotlib
import matplotlib.style
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import Colormap
from matplotlib.figure import Figure

from translate.errors import UserError
from translate.figures.fonts import families_for
from translate.text.aside import aside, told

# Time stamps and versions are left out, so that equal alignments give equal files.
_METADATA: dict[str, dict[str, str | None]] = {
    ".png": {"Software": None},
    ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    ".svg": {"Date": None, "Creator": None},
}
_DPI = 200  # pixels an inch
_LARGEST_SIDE = 12_000  # pixels; without a limit, the picture of a long text would exhaust the memory

_drawing = threading.Lock()  # matplotlib's settings and font caches belong to the process


def check_extension(path: str | Path) -> Path:
    """Return the path; raises UserError if pictures cannot be saved with its extension."""
    path = Path(path)
    if path.suffix.lower() not in _METADATA:
        raise UserError(
            f"{path}: cannot draw to '{path.suffix}'; expected .png, .pdf or .svg "
            f"(or .html for the page of one pair)"
        )
    return path


def find_colour_map(name: str) -> Colormap:
    """matplotlib's colour map of this name; raises UserError with the nearest name for an unknown one."""
    try:
        return matplotlib.colormaps[name]
    except KeyError:
        near = difflib.get_close_matches(name, list(matplotlib.colormaps), n=1)
        hint = f"did you mean '{near[0]}'?" if near else "try gray, gray_r or viridis"
        raise UserError(f"unknown colour map '{name}'; {hint}") from None


@contextmanager
def drawing(texts: Iterable[str]) -> Iterator[None]:
    """Context in which to draw and save: it ignores the user's settings and finds fonts for the texts."""
    own = {
        "text.hinting": "none",  # a text is as wide in the picture as measured, at any resolution
        "svg.fonttype": "none",  # text stays text
        "svg.hashsalt": "translate",
        "pdf.fonttype": 42,
    }
    with _drawing:
        own["font.family"] = families_for(texts)
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
    """Save a figure in the format of the extension; raises UserError if it cannot be written."""
    dpi = min(_DPI, _LARGEST_SIDE / max(figure.get_size_inches()))
    with told(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    with aside(path) as new:
        figure.savefig(new, dpi=dpi, metadata=_METADATA[path.suffix.lower()], format=path.suffix[1:].lower())
