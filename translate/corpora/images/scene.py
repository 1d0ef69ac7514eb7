"""A drawn scene: things of shape, colour and size on a ground; written as one word, and read from it.

`scene:sand/circle.red.big.0.1.2.-1/star.blue.small.2.2.0.0` has a circle in the first row and second column
of places, moved by 2 pixels to the right and 1 up, and a star. After the offsets may follow `light` or
`heavy`, which sets the thing on scales, or `pale` or `deep`, which is a shade of its colour.
"""

from collections.abc import Mapping
from typing import NamedTuple

from translate.errors import UserError
from translate.grammar.scene_words import COLOURS, GROUNDS, SHADES, SHAPES, SIZES, WEIGHTS

PREFIX = "scene:"
PLACES = 3  # rows and columns of places for things
PLACE = 16  # pixels of a place
SIDE = PLACES * PLACE  # pixels of a scene
ROOM = {"big": 1, "small": 2}  # pixels by which a thing may be off the middle of its place
MAX_THINGS = PLACES * PLACES


class Thing(NamedTuple):
    """One thing of a scene.

    Attributes:
        row, column: of its place, from 0.
        right, down: pixels by which it is off the middle of its place.
        look: "", a weight (light, heavy) or a shade (pale, deep).
    """

    shape: str
    colour: str
    size: str
    row: int
    column: int
    right: int = 0
    down: int = 0
    look: str = ""

    def __str__(self) -> str:
        return ".".join(str(part) for part in self if part != "")


class Scene(NamedTuple):
    """Things on a ground."""

    ground: str
    things: tuple[Thing, ...]

    def __str__(self) -> str:
        return PREFIX + "/".join([self.ground, *map(str, self.things)])


def is_scene(text: str) -> bool:
    """Whether ``text`` describes a scene rather than naming a file."""
    return text.startswith(PREFIX)


def read_scene(text: str) -> Scene:
    """The scene that ``text`` describes; raises :class:`UserError` for a wrong description."""
    ground, *rest = text.removeprefix(PREFIX).split("/")
    if ground not in GROUNDS:
        raise _wrong(text, f"the ground is {ground[:30]!r}; expected one of {', '.join(GROUNDS)}")
    if not 1 <= len(rest) <= MAX_THINGS:
        raise _wrong(text, f"{len(rest)} things; expected 1 to {MAX_THINGS}")
    return Scene(ground, tuple(_read_thing(text, part) for part in rest))


def _read_thing(text: str, part: str) -> Thing:
    fields = part.split(".")
    tables: tuple[Mapping[str, object], ...] = (SHAPES, COLOURS, SIZES)
    for name, table in zip(fields, tables):
        if name not in table:
            raise _wrong(text, f"{name[:30]!r} is none of {', '.join(table)}")
    look = fields[7] if len(fields) == 8 else ""
    try:
        row, column, right, down = (int(field) for field in fields[3:7])
    except ValueError:
        raise _wrong(text, f"{part[:60]!r}: expected shape.colour.size.row.column.right.down") from None
    if not (0 <= row < PLACES and 0 <= column < PLACES):
        raise _wrong(text, f"{part[:60]!r} is outside the {PLACES} rows and columns of places")
    if max(abs(right), abs(down)) > ROOM[fields[2]]:
        raise _wrong(text, f"{part[:60]!r} is off its place; expected {ROOM[fields[2]]} pixels at most")
    if len(fields) > 8 or (look and look not in (*WEIGHTS, *SHADES)):
        raise _wrong(text, f"{part[:60]!r} ends in no look; there are {', '.join((*WEIGHTS, *SHADES))}")
    return Thing(fields[0], fields[1], fields[2], row, column, right, down, look)


def _wrong(text: str, reason: str) -> UserError:
    shown = text if len(text) <= 80 else f"{text[:79]}…"
    return UserError(f"{shown}: not a scene: {reason}")
