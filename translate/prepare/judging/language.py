"""Which language a side is written in, among the languages of the world, and in which script."""

import re
from functools import lru_cache
from typing import Any, NamedTuple

from translate.errors import UserError

MAX_CHARACTERS = 200  # of a side that are read; more make it no surer
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


def identify(text: str, pair: tuple[str, str]) -> Identified:
    """The likeliest language of a side among `_WORLD` and the languages of the pair."""
    language, probability = _identifier(tuple(map(base, pair))).classify(text[:MAX_CHARACTERS])
    return Identified(str(language), min(1.0, float(probability)))


def is_known(code: str) -> bool:
    """Whether the identifier knows a language."""
    return base(code) in _identifier(()).labels


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
