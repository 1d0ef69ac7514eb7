"""What every picture of alignments shares: settings, fonts, colours, and how it is saved."""

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
from translate.pictures.fonts import families_for

# Time stamps and versions are left out, so that equal alignments give equal files.
_METADATA: dict[str, dict[str, str | None]] = {
    ".png": {"Software": None},
    ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    ".svg": {"Date": None, "Creator": None},
}
_DPI, _LARGEST_SIDE = 200, 12_000  # pixels; above, a picture of a long text would exhaust the memory

_drawing = threading.Lock()  # matplotlib's settings and font caches belong to the process


def check_extension(path: str | Path) -> Path:
    """The path, if a picture can be saved there; raises UserError for an extension that is none of ours."""
    path = Path(path)
    if path.suffix.lower() not in _METADATA:
        raise UserError(
            f"{path}: cannot draw to '{path.suffix}'; allowed extensions are .png, .pdf and .svg "
            f"(and .html for a page of a pair)"
        )
    return path


def find_colour_map(name: str) -> Colormap:
    """matplotlib's colour map of this name; raises UserError with the nearest name if there is none."""
    try:
        return matplotlib.colormaps[name]
    except KeyError:
        near = difflib.get_close_matches(name, list(matplotlib.colormaps), n=1)
        hint = f"did you mean '{near[0]}'?" if near else "try gray, gray_r or viridis"
        raise UserError(f"colour map '{name}' is not known; {hint}") from None


@contextmanager
def drawing(texts: Iterable[str]) -> Iterator[None]:
    """Draw and save inside: the same picture whatever the user's settings are, with fonts for the texts."""
    own = {
        "text.hinting": "none",  # a text is as wide in the picture as measured, at any resolution
        "svg.fonttype": "none",  # text stays text
        "svg.hashsalt": "translate",
        "pdf.fonttype": 42,
    }
    with _drawing:
        own["font.family"] = families_for(texts)
        with matplotlib.style.context(["default", own]), warnings.catch_warnings():
            # families_for has said so
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
    """Save a figure as its path's extension says; raises UserError if it cannot be written."""
    dpi = min(_DPI, _LARGEST_SIDE / max(figure.get_size_inches()))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=dpi, metadata=_METADATA[path.suffix.lower()])
    except OSError as error:
        raise UserError(f"{path}: cannot be written: {error.strerror}") from error
