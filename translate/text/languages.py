"""The languages of codes and of texts."""

from functools import lru_cache
from pathlib import Path
from typing import Any

from translate.errors import optional

_LINES = Path(__file__).with_name("languages.txt").read_text(encoding="utf-8").splitlines()
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


@lru_cache(maxsize=16)
def identifier_of(languages: tuple[str, ...], user: str, extra: str) -> Any:
    """py3langid's identifier of these languages alone; ``None`` if it knows none of them.

    Args:
        languages: their codes.
        user, extra: as of :func:`optional`.

    Raises:
        UserError: if the package is missing.
    """
    library = optional("py3langid.langid", user, extra)
    identifier = library.LanguageIdentifier.from_model_file(library.MODEL_FILE, norm_probs=True)
    known = [language for language in languages if language in identifier.labels]
    if known:
        identifier.set_languages(known)
    return identifier if known else None
