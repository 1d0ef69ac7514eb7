"""An alignment with a picture as a page: point at a word, and the region that it looked at lights up.

Like the page of sentences it is one file that needs no network, and allows only its own script and style.
"""

import base64
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from translate.corpora.images.patches import Image
from translate.errors import UserError
from translate.figures.matrix import WordMatrix, label
from translate.figures.page import asset, content_hash, embed, escape, fill
from translate.text.aside import told, write_text

DIGITS = 4  # of a weight


@dataclass(frozen=True)
class PicturePage:
    """A picture, perhaps with a sentence, and what was written about it.

    Attributes:
        picture: as the model read it.
        source_words: S words beside the picture.
        target_words: T words.
        weights: (T, patches + S), from 0 to 1, the patches row by row.
        title, note: shown at the top.
    Raises:
        UserError: if there are no target words.
        ValueError: for weights of another shape.
    """

    picture: Image
    source_words: Sequence[str]
    target_words: Sequence[str]
    weights: np.ndarray
    title: str = "What each word looked at"
    note: str = ""

    def __post_init__(self) -> None:
        if not self.target_words:
            raise UserError("nothing to show: no target words")
        expected = (len(self.target_words), len(self.picture) + len(self.source_words))
        if self.weights.shape != expected:
            raise ValueError(f"weights have shape {self.weights.shape}, expected {expected}")

    def html(self) -> str:
        """The text of the file; equal pages give equal text."""
        style, script = asset("picture.css"), asset("picture.js")
        sides = (self.source_words, self.target_words)
        plain = "<br>".join(escape(" ".join(label(word) for word in words)) for words in sides)
        return fill(
            asset("picture.html"),
            style=style,
            style_hash=content_hash(style),
            script=script,
            script_hash=content_hash(script),
            data=embed(self._data()),
            title=escape(self.title),
            note=escape(self.note),
            plain=plain,
        )

    def write(self, path: str | Path) -> Path:
        """Write the page, and create missing folders; raises UserError if it cannot be written."""
        path = Path(path)
        with told(path):
            path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, self.html())
        return path

    def _data(self) -> dict[str, Any]:
        count = len(self.picture)
        weights = np.round(self.weights.astype(np.float64), DIGITS)
        return {
            "size": list(self.picture.pixels.shape[:2]),
            "grid": [self.picture.rows, self.picture.columns],
            "pixels": base64.b64encode(np.ascontiguousarray(self.picture.pixels).tobytes()).decode("ascii"),
            "source": [label(word) for word in self.source_words],
            "target": [label(word) for word in self.target_words],
            "picture": weights[:, :count].tolist(),
            "beside": weights[:, count:].tolist(),
        }


class PicturedMatrix(WordMatrix, Protocol):
    """Weights whose first columns are the patches of a picture, row by row."""

    @property
    def picture(self) -> Image | None: ...


def show_regions(
    matrix: PicturedMatrix, path: str | Path, *, title: str | None = None, channels: np.ndarray | None = None
) -> Path:
    """Draw the region of each word over the picture, to png, pdf or svg, or write an html page.

    Args:
        matrix: with a picture.
        path: the file; its extension chooses the format.
        title: at the top.
        channels: weights of the channels of the encoder's gate, which a page does not show.
    """
    picture = matrix.picture
    assert picture is not None
    count, words = len(picture), list(matrix.source_words)
    if Path(path).suffix.lower() == ".html":
        page = PicturePage(picture, words[count:], matrix.target_words, matrix.weights, note=matrix.method)
        return (page if title is None else replace(page, title=title)).write(path)
    from translate.figures.over_picture import draw_regions  # matplotlib is slow to import

    return draw_regions(
        picture,
        matrix.target_words,
        matrix.weights[:, :count].reshape(-1, picture.rows, picture.columns),
        path,
        sentence=words[count:],
        beside=matrix.weights[:, count:],
        title=title or "",
        method=matrix.method,
        channels=channels,
    )
