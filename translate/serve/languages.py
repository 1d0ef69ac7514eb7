"""Which language a text is written in, among those that a server has."""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from translate.errors import UserError

MAX_CHARACTERS = 4096  # of a text that are read


def identify(text: str, among: Iterable[str]) -> tuple[str, float]:
    """The likeliest language of ``text``, and its probability among the given ones.

    A text without a letter gives the first language, with probability 0. A language that the identifier does
    not know is never found.

    Args:
        text: its first ``MAX_CHARACTERS`` characters are read.
        among: codes such as ``en`` or ``pt-BR``; of codes with one language the first is found.
    Raises:
        UserError: if no codes are given, or if the package ``py3langid`` is missing.
    """
    codes: dict[str, str] = {}  # of the identifier -> as given
    for code in among:
        codes.setdefault(code.replace("_", "-").partition("-")[0].casefold(), code)
    if not codes:
        raise UserError("language identification: expected at least one language to choose from")
    start = text[:MAX_CHARACTERS]
    identifier = _identifier(tuple(sorted(codes)))
    if identifier is None or not any(map(str.isalpha, start)):
        return next(iter(codes.values())), 0.0
    language, probability = identifier.classify(start)
    return codes[language], min(1.0, float(probability))


@lru_cache(maxsize=16)
def _identifier(languages: tuple[str, ...]) -> Any:
    """An identifier of these languages alone; ``None`` if it knows none of them."""
    try:
        from py3langid.langid import MODEL_FILE, LanguageIdentifier
    except ImportError as error:
        raise UserError(
            "language identification needs py3langid; pip install 'seq2seq-translate[serve]'"
        ) from error
    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    known = [language for language in languages if language in identifier.labels]
    if known:
        identifier.set_languages(known)
    return identifier if known else None
