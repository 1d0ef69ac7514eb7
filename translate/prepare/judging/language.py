"""Which language a side is written in, among the languages of the world, and in which script."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from translate.errors import UserError
from translate.prepare.judging.characters import parts_of

MAX_CHARACTERS = 200  # of a side that are read; more make it no surer
TOGETHER = 4096  # sides that are identified together
FEATURES = 1024  # whose weights are looked up together, about, so that they stay in the processor's cache
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


def letters_of(code: str) -> str | None:
    """The ranges of the letters of a language's scripts; ``None`` if its script is not known."""
    scripts = _SCRIPTS.get(base(code))
    return "".join(_RANGES[each] for each in scripts) if scripts else None


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
    lengths = np.fromiter(map(len, encoded), np.int64, len(encoded))
    owners = np.repeat(np.arange(len(texts)) * len(model.weights), lengths)
    features = model.visits(np.frombuffer(b"".join(encoded), np.uint8), lengths)
    keys, counts = np.unique((owners + features)[features >= 0], return_counts=True)
    rows = keys // len(model.weights)
    features, counted = keys - rows * len(model.weights), np.log1p(counts)
    begins = np.searchsorted(rows, np.arange(len(texts) + 1))  # where the features of each text begin
    scores = np.zeros((len(texts), len(model.prior)))
    for part in parts_of(begins, FEATURES):
        inside = slice(begins[part.start], begins[part.stop])
        if inside.stop > inside.start:
            weights = model.weights.take(features[inside], axis=0)
            weights *= counted[inside, None]
            firsts = np.flatnonzero(np.diff(rows[inside], prepend=-1))
            scores[rows[inside][firsts]] = np.add.reduceat(weights, firsts, axis=0) + model.prior
    scores /= np.sqrt(np.maximum(lengths, 1))[:, None]  # or long sides would be too sure
    likely = np.exp(scores - scores.max(1, keepdims=True))
    likely = (likely / likely.sum(1, keepdims=True)) @ model.joined  # a language may have several scripts
    best = likely.argmax(1)
    sure = np.minimum(1.0, likely[np.arange(len(best)), best])
    return [
        Identified(model.languages[number], probability)
        for number, probability in zip(best.tolist(), sure.tolist())
    ]


def is_known(code: str) -> bool:
    """Whether the identifier knows a language."""
    return base(code) in _identifier(()).labels


class _Model(NamedTuple):
    """The library's model for some languages. Q states, F features, C classes, L languages."""

    following: np.ndarray  # (rows * 256,) the state after a byte; int32, to need less of the cache
    row: np.ndarray  # (Q,) where the row of each state begins in that table
    feature: np.ndarray  # (Q,) that a visit of the state counts; -1 for none
    weights: np.ndarray  # (F, C) log p(feature | class)
    prior: np.ndarray  # (C,) log p(class)
    joined: np.ndarray  # (C, L) 1 where a class is of a language
    languages: list[str]

    def visits(self, texts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        """The feature that each byte of the texts visits, -1 for none; all texts are read side by side."""
        order = np.argsort(-lengths, kind="stable")
        begins = (np.cumsum(lengths) - lengths)[order]
        longest = int(lengths.max(initial=0))
        reading = np.searchsorted(-lengths[order], -np.arange(longest), side="left")  # texts longer than that
        states, state = np.empty(len(texts), np.int32), np.zeros(len(lengths), np.int32)
        for column, count in enumerate(reading.tolist()):
            places = begins[:count] + column
            moves = self.row.take(state[:count])
            moves += texts.take(places)
            state = self.following.take(moves)
            states[places] = state
        return self.feature.take(states)


@lru_cache(maxsize=4)
def _model(pair: tuple[str, ...]) -> _Model:
    found = _identifier(pair)
    classes = [str(name) for name in found.nb_classes]
    languages = list(dict.fromkeys(classes))
    joined = np.array([[name == language for language in languages] for name in classes], float)
    return _Model(
        np.asarray(found.tk_nextmove, np.int32).ravel(),
        np.asarray(found.tk_row, np.int64) << 8,
        np.asarray(found.tk_output, np.int64),
        np.ascontiguousarray(found.nb_ptc, float),  # row by row, as it is read
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
