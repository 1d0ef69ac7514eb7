"""Which language a side is written in, among the languages of the world, and in which script."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from translate.errors import UserError

MAX_CHARACTERS = 200  # of a side that are read; more make it no surer
TOGETHER = 1024  # sides that are identified together
# The languages with most text, among which a sentence that is not in its own language is looked for. Rare
# ones would be found in short sentences of their larger neighbours.
_WORLD = (
    "ar bg bn ca cs da de el en es et fa fi fr he hi hr hu id it ja ko lt lv ms nl no pl pt ro ru sk sl sr "
    "sv ta th tr uk ur vi zh"
)
_RANGES = {
    "Latin": "A-Za-zªºÀ-ÖØ-öø-\u02af\u1e00-\u1eff\u2c60-\u2c7f\ua720-\ua7ff\uff21-\uff5a",
    "Greek": "\u0370-\u03ff\u1f00-\u1fff",
    "Cyrillic": "\u0400-\u052f\u1c80-\u1c8f",
    "Armenian": "\u0530-\u058f",
    "Hebrew": "\u0590-\u05ff\ufb1d-\ufb4f",
    "Arabic": "\u0600-\u06ff\u0750-\u077f\u08a0-\u08ff\ufb50-\ufdff\ufe70-\ufefc",
    "Devanagari": "\u0900-\u097f",
    "Bengali": "\u0980-\u09ff",
    "Tamil": "\u0b80-\u0bff",
    "Thai": "\u0e00-\u0e7f",
    "Georgian": "\u10a0-\u10ff\u1c90-\u1cbf",
    "Hangul": "\u1100-\u11ff\u3130-\u318f\uac00-\ud7af",
    "Kana": "\u3040-\u30ff\u31f0-\u31ff",
    "Han": "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff",
}
_LATIN = (
    "af br ca cs cy da de en eo es et eu fi fr ga gl hr hu id is it la lb lt lv ms mt nl no nb nn pl pt ro "
    "sk sl sq sv sw tl tr vi"
)
_SCRIPTS = {
    "el": ("Greek",),
    **dict.fromkeys(("ru", "uk", "be", "bg", "mk", "kk", "ky", "mn"), ("Cyrillic",)),
    **dict.fromkeys(("sr", "uz", "az"), ("Cyrillic", "Latin")),
    "hy": ("Armenian",),
    **dict.fromkeys(("he", "yi"), ("Hebrew",)),
    **dict.fromkeys(("ar", "fa", "ur", "ps", "ug"), ("Arabic",)),
    **dict.fromkeys(("hi", "mr", "ne"), ("Devanagari",)),
    "bn": ("Bengali",),
    "ta": ("Tamil",),
    "th": ("Thai",),
    "ka": ("Georgian",),
    "ko": ("Hangul", "Han"),
    "ja": ("Kana", "Han"),
    "zh": ("Han",),
    **dict.fromkeys(_LATIN.split(), ("Latin",)),
}


class Identified(NamedTuple):
    """The likeliest language, and its probability."""

    language: str
    probability: float


def base(code: str) -> str:
    """The language of a code such as ``pt-BR``."""
    return code.replace("_", "-").partition("-")[0].casefold()


@lru_cache(maxsize=16)
def without_letters_of(code: str) -> re.Pattern[str] | None:
    """A pattern for all but the letters of the scripts of a language; ``None`` if its script is not known."""
    scripts = _SCRIPTS.get(base(code))
    return re.compile(f"[^{''.join(_RANGES[each] for each in scripts)}]+") if scripts else None


def identify(texts: Sequence[str], pair: tuple[str, str]) -> list[Identified]:
    """The likeliest language of each side among `_WORLD` and the languages of the pair.

    It is the library's model (Lui and Baldwin 2012), read for many sides at once: an automaton that goes from
    byte to byte and counts features, and naive Bayes over the logarithms of the counts.
    """
    found: list[Identified] = []
    for begin in range(0, len(texts), TOGETHER):
        part = [text[:MAX_CHARACTERS] for text in texts[begin : begin + TOGETHER]]
        found += _classified([text.lower() if text.isupper() else text for text in part], pair)
    return found


def _classified(texts: Sequence[str], pair: tuple[str, str]) -> list[Identified]:
    model = _model(tuple(map(base, pair)))
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    order = sorted(range(len(texts)), key=lambda index: -len(encoded[index]))
    lengths = np.array([len(encoded[index]) for index in order], np.int64)
    rows, features = model.visits([encoded[index] for index in order], lengths)
    keys, counts = np.unique(rows * len(model.weights) + features, return_counts=True)
    rows, features = keys // len(model.weights), keys % len(model.weights)
    scores = np.zeros((len(texts), len(model.prior)))
    if len(keys):
        begins = np.flatnonzero(np.diff(rows, prepend=-1))
        parts = np.log1p(counts)[:, None] * model.weights[features]
        scores[rows[begins]] = np.add.reduceat(parts, begins, axis=0) + model.prior
    scores /= np.sqrt(np.maximum(lengths, 1))[:, None]  # or long sides would be too sure
    likely = np.exp(scores - scores.max(1, keepdims=True))
    likely = (likely / likely.sum(1, keepdims=True)) @ model.joined  # a language may have several scripts
    best = likely.argmax(1)
    result: list[Identified] = [Identified("", 0.0)] * len(texts)
    for place, index in enumerate(order):
        probability = min(1.0, float(likely[place, best[place]]))
        result[index] = Identified(model.languages[best[place]], probability)
    return result


def is_known(code: str) -> bool:
    """Whether the identifier knows a language."""
    return base(code) in _identifier(()).labels


class _Model(NamedTuple):
    """The library's model for some languages. Q states, F features, C classes, L languages."""

    following: np.ndarray  # (rows, 256) the state after a byte
    row: np.ndarray  # (Q,) row of each state in that table
    feature: np.ndarray  # (Q,) that a visit of the state counts; -1 for none
    weights: np.ndarray  # (F, C) log p(feature | class)
    prior: np.ndarray  # (C,) log p(class)
    joined: np.ndarray  # (C, L) 1 where a class is of a language
    languages: list[str]

    def visits(self, texts: Sequence[bytes], lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The text and the feature of each visit; the longest text comes first."""
        places = np.repeat(np.arange(len(texts)), lengths)
        columns = np.arange(len(places)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        grid = np.zeros((int(lengths.max(initial=0)), len(texts)), np.uint8)
        grid[columns, places] = np.frombuffer(b"".join(texts), np.uint8)
        reading = np.searchsorted(-lengths, -np.arange(len(grid)), side="left")  # texts longer than that
        state = np.zeros(len(texts), np.int64)
        rows, features = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for column, count in zip(grid, reading.tolist()):
            state = self.following[self.row[state[:count]], column[:count]]
            found = self.feature[state]
            counted = np.flatnonzero(found >= 0)
            rows.append(counted)
            features.append(found[counted])
        return np.concatenate(rows), np.concatenate(features)


@lru_cache(maxsize=4)
def _model(pair: tuple[str, ...]) -> _Model:
    found = _identifier(pair)
    classes = [str(name) for name in found.nb_classes]
    languages = list(dict.fromkeys(classes))
    joined = np.array([[name == language for language in languages] for name in classes], float)
    return _Model(
        np.asarray(found.tk_nextmove, np.int64).reshape(-1, 256),
        np.asarray(found.tk_row, np.int64),
        np.asarray(found.tk_output, np.int64),
        np.asarray(found.nb_ptc, float),
        np.asarray(found.nb_pc, float),
        joined,
        languages,
    )


@lru_cache(maxsize=4)
def _identifier(pair: tuple[str, ...]) -> Any:
    try:
        from py3langid.langid import MODEL_FILE, LanguageIdentifier
    except ImportError as error:
        raise UserError(
            "filters.language needs py3langid; pip install 'seq2seq-translate[prepare]', or set "
            "filters.language=null"
        ) from error
    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    if pair:
        known = set(identifier.labels)
        identifier.set_languages(sorted(known & {*_WORLD.split(), *pair}))
    return identifier
