"""The languages of codes and of texts."""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

_LINES = Path(__file__).with_name("languages.txt").read_text(encoding="utf-8").splitlines()
SOME, MOST = 300, 0.8  # lines whose languages are looked at, and their share that tells
_NAME_OF = dict(line.split(" ", 1) for line in _LINES)
_CODE_OF = {name.casefold(): code for code, name in _NAME_OF.items()}


def language_name(code: str) -> str:
    """The English name of a language; its code where it has none here."""
    return _NAME_OF.get(code, code)


def is_language(code: str) -> bool:
    """Whether this is the code of a language."""
    return code in _NAME_OF


def code_of(name: str) -> str:
    """The code of a language by its English name, or in capitals, as columns have it; another text stays."""
    folded = name.strip().casefold()
    return _CODE_OF.get(folded, folded if folded in _NAME_OF else name)


def base(code: str) -> str:
    """The language of a code such as ``pt-BR``."""
    return code.strip().replace("_", "-").partition("-")[0].casefold()


def build_identifier(languages: Sequence[str]) -> Any:
    """py3langid's identifier of these languages alone; ``None`` if it knows none of them. It takes 90 MB."""
    from py3langid import langid  # takes half a second

    identifier = langid.LanguageIdentifier.from_model_file(langid.MODEL_FILE, norm_probs=True)
    known = [language for language in languages if language in identifier.labels]
    if known:
        identifier.set_languages(known)
    return identifier if known else None


identifier_of = lru_cache(maxsize=16)(build_identifier)


def are_swapped(sides: Sequence[Sequence[str]], languages: Sequence[str]) -> bool:
    """Whether most lines of source and target are in the language of the other side.

    Args:
        sides: the lines of both.
        languages: their codes; of unknown ones nothing is said.
    """
    codes = [base(language) for language in languages]
    told_apart = all(sides) and codes[0] != codes[1] and all(map(is_language, codes))
    identifier = build_identifier(codes) if told_apart else None
    if identifier is None:
        return False
    for lines, other in zip(sides, reversed(codes), strict=True):
        some = lines[:: len(lines) // SOME or 1]
        if sum(identifier.classify(line)[0] == other for line in some) < MOST * len(some):
            return False
    return True
