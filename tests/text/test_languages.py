"""Two languages that were taken for each other."""

import pytest

from translate.text.languages import are_swapped

ENGLISH = [
    "The children play in the garden.",
    "I do not know him.",
    "It was raining all day.",
    "See you!",
] * 5
FRENCH = [
    *[
        "Les enfants jouent dans le jardin.",
        "Je ne le connais pas.",
        "Il pleuvait toute la journée.",
        "Salut !",
    ]
] * 5


@pytest.mark.parametrize(
    ("sides", "languages", "expected"),
    [
        ((ENGLISH, FRENCH), ("en", "fr"), False),
        ((ENGLISH, FRENCH), ("fr", "en"), True),
        ((ENGLISH, FRENCH), ("fr-CA", "en_GB"), True),
        ((ENGLISH, ENGLISH), ("fr", "en"), False),
        ((ENGLISH, FRENCH), ("de", "en"), False),
        ((ENGLISH, FRENCH), ("fr", "xx"), False),
        ((ENGLISH, FRENCH), ("source", "target"), False),
        (([], []), ("en", "fr"), False),
    ],
)
def test_swapped_languages_are_seen(
    sides: tuple[list[str], list[str]], languages: tuple[str, str], expected: bool
) -> None:
    assert are_swapped(sides, languages) is expected
