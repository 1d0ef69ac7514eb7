"""The language that a text is written in, one of a few."""

from collections.abc import Sequence

from translate.text.languages import identifier_of

MAX_CHARACTERS = 4096  # of a text that are read


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
