"""The words and sentences about drawn scenes: shapes, colours, sizes, numbers, grounds and places.

English leaves open what only the picture decides: the gender of *it*, *they* and *the left one*, and whether
*light* is said of a weight or of a colour.
"""

from typing import NamedTuple

from translate.grammar.lexicon import (
    ADJECTIVES,
    BE,
    PRONOUNS,
    QUANTITIES,
    TABLES,
    THERE,
    WORD,
    Adjective,
    Name,
    Noun,
    Pair,
    adjective,
    noun,
    pair,
)
from translate.grammar.meaning import Clause, Phrase, PrepositionalPhrase, Quality, Sentence

_KNOWN = {entry.english: entry for entry in ADJECTIVES}
_NUMBERS = {quantity.english: quantity for quantity in QUANTITIES}

SHAPES: dict[str, Noun] = {row[0].partition("/")[0]: noun(row) for row in TABLES["shapes"]}
GROUNDS: dict[str, Noun] = {row[0]: noun(row) for row in TABLES["grounds"]}
COLOURS: dict[str, Adjective] = {name: _KNOWN[name] for name in ("red", "blue", "green", "black", "white")}
COLOURS |= {row[0]: adjective(row) for row in TABLES["colours"]}
SIZES: dict[str, Adjective] = {name: _KNOWN[name] for name in ("big", "small")}
_LIGHT, _PALE, _DARK = (adjective(row) for row in TABLES["qualities"])
# what a thing on scales, or one without, can be said to be
WEIGHTS: dict[str, Adjective] = {"light": _LIGHT, "heavy": _KNOWN["heavy"]}
SHADES: dict[str, Adjective] = {"pale": _PALE, "deep": _DARK}
ABOVE, LEFT_OF = (pair(row[0], row[1], row[2]) for row in TABLES["scene places"])
_SIDES = {
    (row[0].split()[1], row[2] == "f"): Name(pair(row[0], row[1], row[3]), row[2] == "f", "one")
    for row in TABLES["ones"]
}
NUMBERS: dict[int, Pair | None] = {1: None, 2: _NUMBERS["two",], 3: _NUMBERS["three",]}


class Named(NamedTuple):
    """Things of one kind in a scene, by the names of the tables."""

    shape: str
    colour: str
    size: str
    number: int = 1

    @property
    def feminine(self) -> bool:
        return SHAPES[self.shape].feminine


def described(things: Named) -> Phrase:
    """`a big red circle`, `two small blue stars`."""
    adjectives = (SIZES[things.size], COLOURS[things.colour])
    plural, quantity = things.number > 1, NUMBERS[things.number]
    return Phrase(SHAPES[things.shape], "a" if quantity is None else "", plural, adjectives, quantity)


def there_is(things: Named, ground: str) -> Sentence:
    """`there are two small blue stars on the sand .`"""
    return Sentence(Clause(Phrase(THERE), BE, object=described(things), place=_on(ground)))


def stands(first: Named, place: Pair, second: Named) -> Sentence:
    """`a big red circle is above two small blue stars .`"""
    where = PrepositionalPhrase(place, described(second))
    return Sentence(Clause(described(first), BE, predicate=where))


def _on(ground: str) -> PrepositionalPhrase:
    return PrepositionalPhrase(WORD["on"], Phrase(GROUNDS[ground], "the"))


def _it(things: Named) -> Phrase:
    return Phrase(PRONOUNS[("they" if things.number > 1 else "it") + ("-f" if things.feminine else "")])


def it_is(things: Named, quality: Adjective) -> Sentence:
    """`it is red .`, `they are light .`: English does not say of what gender."""
    return Sentence(Clause(_it(things), BE, predicate=Quality(quality)))


def it_lies(things: Named, ground: str) -> Sentence:
    """`it is on the sand .`"""
    return Sentence(Clause(_it(things), BE, predicate=_on(ground)))


def side_is(things: Named, side: str, quality: Adjective) -> Sentence:
    """`the left one is red .`: of two things; `side` is left or right."""
    return Sentence(Clause(Phrase(_SIDES[side, things.feminine]), BE, predicate=Quality(quality)))


def the_shape_is(things: Named, quality: Adjective) -> Sentence:
    """`the circle is light .`: of weight or of colour."""
    subject = Phrase(SHAPES[things.shape], "the", things.number > 1)
    return Sentence(Clause(subject, BE, predicate=Quality(quality)))
