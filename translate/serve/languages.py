"""The language that a text is written in, one of a few."""

from collections.abc import Iterable

from translate.text.languages import base, identifier_of

MAX_CHARACTERS = 4096  # of a text that are read


def identify(text: str, among: Iterable[str]) -> tuple[str, float]:
    """The likeliest language of ``text``, and its probability among the given ones.

    A text without a letter gives the first language, with probability 0. A language that the identifier does
    not know is never found.

    Args:
        text: its first ``MAX_CHARACTERS`` characters are read.
        among: codes such as ``en`` or ``pt-BR``; of codes with one language the first is found.
    Raises:
        UserError: if the package ``py3langid`` is missing.
    """
    codes: dict[str, str] = {}  # of the identifier -> as given
    for code in among:
        codes.setdefault(base(code), code)
    start = text[:MAX_CHARACTERS]
    identifier = identifier_of(tuple(sorted(codes)), "language identification", "serve")
    if identifier is None or not any(map(str.isalpha, start)):
        return next(iter(codes.values())), 0.0
    language, probability = identifier.classify(start)
    return codes[language], min(1.0, float(probability))
