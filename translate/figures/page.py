"""Alignments as a page: one HTML file that shows, for the word under the pointer, what it looks at.

The file needs no network, and its content security policy allows only its own script, by hash. Words enter as
JSON data and are shown as plain text.
"""

import base64
import hashlib
import html
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from translate.errors import UserError
from translate.figures.matrix import WordMatrix, is_right_to_left, label
from translate.links.links import Gold, Links
from translate.text.file_writing import write_text

SCALE = 65535  # weights are stored as unsigned 16-bit fractions of this
MODULES = ("state.js", "sentences.js", "matrix.js", "controls.js")  # of any page; other scripts import them
_LONGEST_FULL = 500  # characters of a word in its hint
_HINTS = {
    "alignment": "the attention that calibration chose",
    "attention": "where each head of each layer looked",
    "gradient": "gradient of the word's log-probability, times the input",
    "erasure": "drop of the word's log-probability without a source word",
    "norm": "attention weighted by the norm of the attended values",
}
_VERBS = dict.fromkeys(("gradient", "erasure"), ("depends on", "matters to"))  # of target and source words
_LOOKS = ("looks at", "is looked at by")


@dataclass(frozen=True)
class Alternative:
    """One target sentence of a page's source, with views of their alignment.

    Attributes:
        views: name (such as attention, gradient, erasure, norm) -> weights from 0 to 1, either one matrix
            (T words, S words), or (layers, heads, T words, S words), among which the reader chooses. The page
            opens with the first view.
        gold: gold links, drawn over the weights.
        score: of the translation, if it has one.
        doubtful: index of a target word -> why its alignment is doubtful, such as two views that disagree.
        text: the sentence; if it is empty, the words have spaces between them.
    """

    target_words: Sequence[str]
    views: Mapping[str, np.ndarray]
    gold: Gold | None = None
    score: float | None = None
    doubtful: Mapping[int, str] = field(default_factory=dict)
    text: str = ""


@dataclass(frozen=True)
class Page:
    """A page for one source sentence with one target sentence, or with the n best.

    Attributes:
        chosen: layer and heads of the calibrated alignment, which are marked and shown first.
        languages: codes of source and target, or empty; a browser reads the words aloud accordingly.
        title, note: shown at the top.
    Raises:
        UserError: if there are no words.
        ValueError: for weights of another shape or outside 0 to 1, for links, doubts or a choice outside the
            words or heads, or if the alternatives have different views.
    """

    source_words: Sequence[str]
    alternatives: Sequence[Alternative]
    chosen: tuple[int, tuple[int, ...]] | None = None
    languages: tuple[str, str] = ("", "")
    title: str = "Word alignment"
    note: str = ""

    def __post_init__(self) -> None:
        if not self.alternatives or not self.alternatives[0].views:
            raise ValueError("a page needs at least one alternative with one view")
        names = list(self.alternatives[0].views)
        for index, alternative in enumerate(self.alternatives):
            S, T = len(self.source_words), len(alternative.target_words)
            if not S * T:
                raise UserError(f"nothing to show: {S} source and {T} target words")
            where = f"alternative {index}"
            if list(alternative.views) != names:
                raise ValueError(f"{where} has the views {list(alternative.views)}, the first has {names}")
            self._check(where, alternative)

    def _check(self, where: str, alternative: Alternative) -> None:
        T, S = len(alternative.target_words), len(self.source_words)
        for name, weights in alternative.views.items():
            weights = np.asarray(weights)
            if weights.ndim not in (2, 4) or weights.shape[-2:] != (T, S) or not weights.size:
                raise ValueError(
                    f"{where}, {name}: weights have shape {weights.shape}, "
                    f"expected ({T}, {S}) or (layers, heads, {T}, {S})"
                )
            if not (np.isfinite(weights).all() and weights.min() >= 0 and weights.max() <= 1 + 1e-4):
                raise ValueError(f"{where}, {name}: weights must lie between 0 and 1")
            if weights.ndim == 4 and self.chosen is not None:
                layer, heads = self.chosen
                if not 0 <= layer < weights.shape[0] or not all(0 <= h < weights.shape[1] for h in heads):
                    raise ValueError(f"chosen is {self.chosen}, but {name} has shape {weights.shape}")
        gold = alternative.gold
        links: Links = gold.sure | gold.possible if gold is not None else frozenset()
        if any(not (0 <= source < S and 0 <= target < T) for source, target in links):
            raise ValueError(f"{where}: a gold link lies outside the {S} source and {T} target words")
        if any(not 0 <= target < T for target in alternative.doubtful):
            raise ValueError(f"{where}: a doubtful word lies outside the {T} target words")

    @classmethod
    def of(cls, alignment: WordMatrix, *, gold: Gold | None = None, title: str | None = None) -> "Page":
        """The page of one alignment, with one view."""
        only = Alternative(alignment.target_words, {"alignment": alignment.weights}, gold)
        title = "Word alignment" if title is None else title
        return cls(alignment.source_words, [only], title=title, note=alignment.method)

    def html(self) -> str:
        """The text of the file; equal pages give equal text."""
        return fill(
            skeleton(),
            data=embed(self._data()),
            title=escape(self.title),
            note=escape(self.note),
            plain=plain(self.source_words, *(one.target_words for one in self.alternatives)),
        )

    def write(self, path: str | Path) -> Path:
        """Write the page; raises UserError if it cannot be written."""
        return write_page(path, self.html())

    def _data(self) -> dict[str, Any]:
        source, target = (label(language, 35) for language in self.languages)
        return {
            "source": [_word(word) for word in self.source_words],
            "languages": {"source": source, "target": target},
            "rightToLeft": {"source": is_right_to_left(self.source_words)},
            "chosen": self.chosen and {"layer": self.chosen[0], "heads": list(self.chosen[1])},
            "alternatives": [
                {
                    "target": [_word(word) for word in one.target_words],
                    "rightToLeft": is_right_to_left(one.target_words),
                    "score": one.score,
                    "text": label(one.text or " ".join(one.target_words), 1000),
                    "gold": one.gold
                    and {"sure": sorted(one.gold.sure), "possible": sorted(one.gold.possible)},
                    "doubtful": {str(target): label(why, 200) for target, why in one.doubtful.items()},
                    "views": [_view(name, np.asarray(weights)) for name, weights in one.views.items()],
                }
                for one in self.alternatives
            ],
        }


def skeleton() -> str:
    """The text of every page, with fields ``{{data}}``, ``{{title}}``, ``{{note}}`` and ``{{plain}}``."""
    script = "".join(_as_script(asset(name)) for name in (*MODULES, "start.js"))
    return filled("page", '"use strict";\n' + script)


def filled(name: str, script: str, **values: str) -> str:
    """The page ``NAME.html`` with the style ``NAME.css``, a script and other values."""
    style = asset(f"{name}.css")
    hashes = {"style_hash": content_hash(style), "script_hash": content_hash(script)}
    return fill(asset(f"{name}.html"), style=style, script=script, **hashes, **values)


def asset(name: str, package: str = "translate.figures") -> str:
    """The text of a file that pages are made of."""
    return (resources.files(package) / "assets" / name).read_text(encoding="utf-8")


def fill(text: str, **values: str) -> str:
    """The text with values in place of its fields, in one pass: braces in a value are no field."""
    return re.sub(r"\{\{(\w+)\}\}", lambda match: values.get(match[1], match[0]), text)


def _as_script(module: str) -> str:
    """A module as a part of one script, in which all names are known."""
    module = re.sub(r"^import [^;]*;\n", "", module, flags=re.MULTILINE)
    return re.sub(r"^export ", "", module, flags=re.MULTILINE)


def _word(word: str) -> dict[str, str]:
    """The label of a word, and the full word where the label differs."""
    shown = label(word)
    shown = shown if shown.strip() else "␣"
    return {"label": shown} if shown == word else {"label": shown, "full": label(word, _LONGEST_FULL)}


def _view(name: str, weights: np.ndarray) -> dict[str, Any]:
    layers, heads = weights.shape[:2] if weights.ndim == 4 else (0, 0)
    numbers = np.round(np.minimum(weights, 1) * SCALE).astype("<u2").tobytes()
    return {
        "name": label(name),
        "hint": _HINTS.get(name, ""),
        "verbs": dict(zip(("target", "source"), _VERBS.get(name, _LOOKS), strict=True)),
        "layers": layers,
        "heads": heads,
        "data": base64.b64encode(numbers).decode("ascii"),
    }


def embed(data: dict[str, Any]) -> str:
    """JSON that no word can end: ASCII, without the characters that have a meaning in HTML."""
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return re.sub("[<>&]", lambda match: f"\\u{ord(match[0]):04x}", text)


def escape(text: str) -> str:
    """The text for HTML, with control characters escaped."""
    return html.escape(label(text, 1000))


def plain(*sentences: Sequence[str]) -> str:
    """The sentences as text, for a browser that runs no scripts."""
    return "<br>".join(escape(" ".join(label(word) for word in words)) for words in sentences)


def write_page(path: str | Path, html: str) -> Path:
    """Write a page; raises UserError if it cannot be written."""
    write_text(Path(path), html)
    return Path(path)


def content_hash(text: str) -> str:
    """The hash by which a content security policy allows this text."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")
