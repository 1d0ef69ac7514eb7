"""The languages of codes and of texts."""

from functools import lru_cache
from typing import Any

from translate.errors import optional


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
