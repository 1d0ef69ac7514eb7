"""The languages of codes and of texts, and their scripts."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from translate.text.markup import read_markup

_LINES = Path(__file__).with_name("languages.txt").read_text(encoding="utf-8").splitlines()
FEWEST, SOME, MOST = 100, 300, 0.8  # lines that tell something, that are looked at, and the share that tells
JOINED = 10  # lines that are identified together, since short ones are in any language
NAMES = {line.partition(" ")[0]: line.partition(" ")[2].split(", ") for line in _LINES}
# Scripts, as classes of a regular expression, and the languages that are written in them.
_SCRIPTS = {
    r"\p{Latin}": "af br ca cs cy da de en eo es et eu fi fr ga gl hr hu id is it la lb lt lv ms mt nl no nb "
    "nn pl pt ro sk sl sq sv sw tl tr vi",
    r"\p{Greek}": "el",
    r"\p{Cyrillic}": "ru uk be bg mk kk ky mn",
    r"\p{Cyrillic}\p{Latin}": "sr uz az",
    r"\p{Armenian}": "hy",
    r"\p{Hebrew}": "he yi",
    r"\p{Arabic}": "ar fa ur ps ug",
    r"\p{Devanagari}": "hi mr ne",
    r"\p{Bengali}": "bn",
    r"\p{Tamil}": "ta",
    r"\p{Thai}": "th",
    r"\p{Georgian}": "ka",
    r"\p{Hangul}\p{Han}": "ko",
    r"\p{Hiragana}\p{Katakana}\p{Han}\x{30fc}": "ja",
    r"\p{Han}": "zh",
}
MAX_CHARACTERS = 4096  # of a text that are read to identify its language
MOST_OF_SIDE = 100  # of a side of a pair; more make it hardly surer
# The languages with most text, among which a sentence that is not in its own language is looked for. Rare
# ones would be found in short sentences of their larger neighbours.
_WORLD = (
    "ar bg bn ca cs da de el en es et fa fi fr he hi hr hu id it ja ko lt lv ms nl no pl pt ro ru sk sl sr "
    "sv ta th tr uk ur vi zh"
)
LETTERS_OF_TWO, SURE = 12, 0.999  # that tell one of two languages, and the least probability
LETTERS = 8  # that tell something: names and abbreviations are Latin in every language
_NEAR = ("no", "nb", "nn", "da"), ("hr", "sr", "bs", "sl"), ("id", "ms"), ("pt", "gl")  # taken for each other
_CODE_OF = {name.casefold(): code for code, names in NAMES.items() for name in names}


def language_name(code: str) -> str:
    """The English name of a language; its code where it has none here."""
    return NAMES.get(code, [code])[0]


def code_of(name: str) -> str:
    """The code of a language by its English or its own name, or in capitals; another text stays."""
    folded = name.strip().casefold()
    return _CODE_OF.get(folded, folded if folded in NAMES else name)


def base(code: str) -> str:
    """The language of a code such as ``pt-BR``."""
    return code.strip().replace("_", "-").partition("-")[0].casefold()


def script_of(code: str) -> str | None:
    """The letters of a language, as the content of a class in a regular expression; ``None`` if unknown."""
    return next((script for script, codes in _SCRIPTS.items() if base(code) in codes.split()), None)


@lru_cache
def _script_names(code: str) -> frozenset[str]:
    """The first words of Unicode's names of the letters of a language; none if its script is not known."""
    found = re.findall(r"{([A-Z]\w+)}", script_of(code) or "")
    return frozenset("CJK" if name == "Han" else name.upper() for name in found)


def is_foreign(text: str, code: str) -> bool:
    """Whether a text has several letters, but none of the script of a language."""
    names = _script_names(code)
    letters = [*filter(str.isalpha, text[:MAX_CHARACTERS])] if names else []
    own = (unicodedata.name(letter, "").partition(" ")[0] in names for letter in letters)
    return len(letters) >= LETTERS and not any(own)


def build_identifier(languages: Sequence[str]) -> Any:
    """py3langid's identifier of these languages alone; ``None`` if it knows none of them. It takes 90 MB."""
    from py3langid import langid  # takes half a second

    identifier = langid.LanguageIdentifier.from_model_file(langid.MODEL_FILE, norm_probs=True)
    known = [language for language in languages if language in identifier.labels]
    if known:
        identifier.set_languages(known)
    return identifier if known else None


identifier_of = lru_cache(maxsize=16)(build_identifier)


def identify(text: str, among: Sequence[str]) -> tuple[str, float]:
    """The likeliest language of ``text``, and its probability among the given ones.

    A text without a letter gives the first language, with probability 0. A language that the identifier does
    not know is never found.

    Args:
        text: its first ``MAX_CHARACTERS`` characters are read.
        among: codes such as ``en``, without a country.
    """
    start = text[:MAX_CHARACTERS]
    identifier = identifier_of(tuple(sorted(among)))
    if identifier is None or not any(map(str.isalpha, start)):
        return among[0], 0.0
    language, probability = identifier.classify(start)
    return language, min(1.0, float(probability))


def identify_sides(texts: Iterable[str], pair: tuple[str, str]) -> Iterator[tuple[str, float]]:
    """The likeliest language of each text among ``_WORLD`` and a pair's languages, and its probability.

    By naive Bayes over sequences of bytes (Lui and Baldwin 2012); ``MOST_OF_SIDE`` characters are read.
    """
    identifier = identifier_of(tuple(sorted({*_WORLD.split(), *map(base, pair)})))
    return (identifier.classify(text[:MOST_OF_SIDE]) for text in texts)


def is_known(code: str) -> bool:
    """Whether the identifier knows a language."""
    return identifier_of((base(code),)) is not None


def likely_languages(*sides: Sequence[str]) -> list[str | None]:
    """The language, one of ``NAMES``, that most lines of each side are in; ``None`` of few, or if unsure."""
    identifier = None
    with suppress(OSError):  # it unpacks its model to the disk, which may be full
        identifier = build_identifier([*NAMES]) if any(len(lines) >= FEWEST for lines in sides) else None
    found = list[str | None]()
    for lines in sides:
        if identifier is None or len(lines) < FEWEST:
            found.append(None)
            continue
        some = lines[:: len(lines) // SOME or 1]
        texts = [" ".join(some[begin : begin + JOINED]) for begin in range(0, len(some), JOINED)]
        ((language, count),) = Counter(identifier.classify(text)[0] for text in texts).most_common(1)
        found.append(language if count >= MOST * len(texts) else None)
    return found


def is_exchanged(text: str, source: str, target: str) -> bool:
    """Whether a text is surely in the language that is translated to, by codes, and not in the other one.

    Of 10,600 sentences of at least ``LETTERS_OF_TWO`` letters, of test sets in English, German and French, 2
    were taken for the other language, and 53 to 98 % of each set were surely in their own.
    """
    pair, text = [base(source), base(target)], read_markup(text).text  # tags and names are mostly English
    if sum(map(str.isalpha, text)) < LETTERS_OF_TWO or pair[0] == pair[1] or not {*pair} <= NAMES.keys():
        return False
    with suppress(OSError):  # of a full disk, as below
        found, probability = identify(text, pair)
        return found == pair[1] and probability > SURE
    return False


def other_than(code: str, likely: str | None) -> bool:
    """Whether a language that most lines are in, one of :func:`likely_languages`, is none of a code."""
    near = next((group for group in _NEAR if base(code) in group), (base(code),))
    return base(code) in NAMES and likely is not None and likely not in near
