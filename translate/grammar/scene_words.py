"""The words and sentences about drawn scenes: shapes, colours, sizes, numbers, grounds and places.

English leaves open what only the picture decides: the gender of *it*, *they* and *the left one*, and whether
*light* is said of a weight or of a colour.
"""

from typing import NamedTuple

from translate.grammar.entries import Adjective, Adverbial, Name, Noun, adjective, noun, pair, rows
from translate.grammar.meaning import Clause, Phrase, PrepositionalPhrase, Quality, Sentence
from translate.grammar.modifiers import ADJECTIVES, QUANTITIES, WORD
from translate.grammar.nouns import PRONOUNS
from translate.grammar.verbs import BE

# english | french | gender
_SHAPES = """
circle | cercle | m
square | carré | m
triangle | triangle | m
heart | cœur | m
star | étoile | f
cross/crosses | croix | f
moon | lune | f
arrow | flèche | f
"""
_GROUNDS = """
sand | sable | m
snow | neige | f
grass | herbe | f
floor | sol | m
"""
# beside those of the embedded corpus
_COLOURS = """
yellow | jaune | after
purple | violet violette | after
"""
_QUALITIES = """
light/lighter | léger | after
light/lighter | clair | after
dark/darker | sombre | after
"""
_PLACES = """
above | au-dessus de | 0-0 0-1
to the left of | à gauche de | 0p0 1p0 2-1 3-2
"""
_ONES = """
the left one | celui de gauche | m | 0p0 2-0 1p1 1-2
the left one | celle de gauche | f | 0p0 2-0 1p1 1-2
the right one | celui de droite | m | 0p0 2-0 1p1 1-2
the right one | celle de droite | f | 0p0 2-0 1p1 1-2
"""

_KNOWN = {entry.english: entry for entry in ADJECTIVES}
_NUMBERS = {quantity.pair.english: quantity for quantity in QUANTITIES}

SHAPES: dict[str, Noun] = {row[0].partition("/")[0]: noun(row) for row in rows(_SHAPES, 5)}
GROUNDS: dict[str, Noun] = {row[0]: noun(row) for row in rows(_GROUNDS, 5)}
COLOURS: dict[str, Adjective] = {name: _KNOWN[name] for name in ("red", "blue", "green", "black", "white")}
COLOURS |= {row[0]: adjective(row) for row in rows(_COLOURS, 4)}
SIZES: dict[str, Adjective] = {name: _KNOWN[name] for name in ("big", "small")}
_LIGHT, _PALE, _DARK = (adjective(row) for row in rows(_QUALITIES, 4))
# what a thing on scales, or one without, can be said to be
WEIGHTS: dict[str, Adjective] = {"light": _LIGHT, "heavy": _KNOWN["heavy"]}
SHADES: dict[str, Adjective] = {"pale": _PALE, "deep": _DARK}
ABOVE, LEFT_OF = (Adverbial(pair(row[0], row[1], row[2]), frozenset()) for row in rows(_PLACES, 3))
_SIDES = {
    (row[0].split()[1], row[2] == "f"): Name(pair(row[0], row[1], row[3]), row[2] == "f", "one")
    for row in rows(_ONES, 4)
}
NUMBERS: dict[int, Adverbial | None] = {1: None, 2: _NUMBERS["two",], 3: _NUMBERS["three",]}


class Named(NamedTuple):
    """Things of one kind in a scene, by the names of the tables."""

    shape: str
    colour: str
    size: str
    number: int = 1

    @property
    def feminine(self) -> bool:
        return SHAPES[self.shape].feminine


def described(things: Named, *, definite: bool = False) -> Phrase:
    """`a big red circle`, `two small blue stars`, `the green moon`."""
    adjectives = (SIZES[things.size], COLOURS[things.colour])
    plural, quantity = things.number > 1, NUMBERS[things.number]
    determiner = "the" if definite else "" if quantity is not None else "a"
    return Phrase(SHAPES[things.shape], determiner, plural, adjectives, None if definite else quantity)


def there_is(things: Named, ground: str) -> Sentence:
    """`there are two small blue stars on the sand .`"""
    place = PrepositionalPhrase(WORD["on"], Phrase(GROUNDS[ground], "the"))
    return Sentence(Clause(Phrase(PRONOUNS["there"]), BE, object=described(things), place=place))


def stands(first: Named, place: Adverbial, second: Named) -> Sentence:
    """`a big red circle is above two small blue stars .`"""
    where = PrepositionalPhrase(place, described(second))
    return Sentence(Clause(described(first), BE, predicate=where))


def it_is(things: Named, quality: Adjective) -> Sentence:
    """`it is red .`, `they are light .`: English does not say of what gender."""
    name = "they" if things.number > 1 else "it"
    pronoun = PRONOUNS[f"{name}-f" if things.feminine else name]
    return Sentence(Clause(Phrase(pronoun), BE, predicate=Quality(quality)))


def it_lies(things: Named, ground: str) -> Sentence:
    """`it is on the sand .`"""
    name = "they" if things.number > 1 else "it"
    pronoun = PRONOUNS[f"{name}-f" if things.feminine else name]
    where = PrepositionalPhrase(WORD["on"], Phrase(GROUNDS[ground], "the"))
    return Sentence(Clause(Phrase(pronoun), BE, predicate=where))


def side_is(things: Named, side: str, quality: Adjective) -> Sentence:
    """`the left one is red .`: of two things; `side` is left or right."""
    return Sentence(Clause(Phrase(_SIDES[side, things.feminine]), BE, predicate=Quality(quality)))


def the_shape_is(things: Named, quality: Adjective) -> Sentence:
    """`the circle is light .`: of weight or of colour."""
    subject = Phrase(SHAPES[things.shape], "the", things.number > 1)
    return Sentence(Clause(subject, BE, predicate=Quality(quality)))
