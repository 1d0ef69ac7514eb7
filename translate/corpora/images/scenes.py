"""Scenes: things of shape, colour and size on a ground, written as one word, read from it, and drawn.

`scene:sand/circle.red.big.0.1.1.-1/star.blue.small.2.2.0.0` has a circle in the first row and second column
of places, moved by 1 pixel to the right and 1 up, and a star. After the offsets may follow `light` or
`heavy`, which sets the thing on scales, or `pale` or `deep`, which is a shade of its colour.
"""

import zlib
from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

import numpy as np

from translate.config.names import cut
from translate.errors import UserError
from translate.grammar.scene_words import SHADES, SHAPES, SIZES, WEIGHTS

PREFIX = "scene:"
PLACES = 3  # rows and columns of places for things
PLACE = 16  # pixels of a place
SIDE = PLACES * PLACE  # pixels of a scene
ROOM = {"big": 1, "small": 2}  # pixels by which a thing may be off the middle of its place
MAX_THINGS = PLACES * PLACES
FINE = 4  # rows and columns in which a pixel is sampled
MARGIN = 2  # pixels beyond its place that a thing may reach
WINDOW = PLACE + 2 * MARGIN  # pixels
BASELINE = 6  # pixels from the middle of a place to the scales that stand in it
EDGE = 0.55  # brightness of a thing's outline, of its colour
RADIUS = {"big": 6.8, "small": 4.6}  # pixels
COLOURS = {
    "red": (214, 40, 40),
    "blue": (36, 72, 208),
    "green": (24, 150, 48),
    "black": (24, 24, 24),
    "white": (248, 248, 248),
    "yellow": (244, 208, 24),
    "purple": (134, 44, 168),
}
GROUNDS = {
    "sand": (206, 184, 140),
    "snow": (216, 224, 232),
    "grass": (128, 150, 96),
    "floor": (156, 132, 116),
}
GREY = (128.0, 128.0, 128.0)  # of the scales


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
    return UserError(f"{cut(text, 80)}: not a scene: {reason}")


class Drawing(NamedTuple):
    """The pixels of a scene, and the exact region of each thing."""

    pixels: np.ndarray  # (SIDE, SIDE, 3) uint8
    regions: np.ndarray  # (things, SIDE, SIDE) bool: where each thing, without scales, covers half a pixel


def draw(scene: Scene) -> Drawing:
    """Draw a scene; the same scene always has the same pixels."""
    seed = zlib.crc32(str(scene).encode())
    whole = SIDE + 2 * MARGIN
    canvas, regions = np.zeros((whole, whole, 3)), np.zeros((len(scene.things), whole, whole), bool)
    inside = slice(MARGIN, -MARGIN)
    pixels = canvas[inside, inside]
    pixels[:] = _ground(scene.ground, np.random.default_rng(seed))
    for region, thing in zip(regions, scene.things, strict=True):
        if thing.look in ("light", "heavy"):
            _weigh(pixels, thing)
        window = tuple(slice(place * PLACE, place * PLACE + WINDOW) for place in (thing.row, thing.column))
        cover, inner = _covers(thing.shape, thing.size, thing.right, thing.down)
        colour, under = _shaded(np.array(COLOURS[thing.colour], np.float64), thing.look), canvas[window]
        for share, tone in ((cover, EDGE), (inner, 1.0)):
            under += share * (tone * colour - under)
        region[window] = cover[..., 0] >= 0.5
    return Drawing(np.clip(pixels.round(), 0, 255).astype(np.uint8), regions[:, inside, inside])


def _shaded(colour: np.ndarray, look: str) -> np.ndarray:
    if look == "pale":
        return colour + 0.6 * (255.0 - colour)
    return colour * 0.5 if look == "deep" else colour


def _ground(name: str, generator: np.random.Generator) -> np.ndarray:
    """A texture: grain on sand, few specks on snow, blades of grass, boards of a floor."""
    rows, columns = np.mgrid[:SIDE, :SIDE]
    shade = generator.normal(0.0, 5.0, (SIDE, SIDE))
    if name == "grass":
        shade += 14.0 * np.sin(columns * 1.9 + generator.uniform(0, 6) + 0.6 * np.sin(rows * 0.7))
    elif name == "floor":
        shade -= 26.0 * ((rows + int(generator.integers(12))) % 12 == 0)
    elif name == "sand":
        shade += generator.normal(0.0, 9.0, (SIDE, SIDE))
    return np.array(GROUNDS[name], np.float64) + shade[..., None]


@cache
def _covers(shape: str, size: str, right: int, down: int) -> tuple[np.ndarray, np.ndarray]:
    """The share of each pixel around its place that a thing covers, and its inside without the outline.

    Two arrays (WINDOW, WINDOW, 1). There are a few hundred, for all things that can be drawn.
    """
    steps = (np.arange(WINDOW * FINE) + 0.5) / FINE - 0.5 - MARGIN
    axes = ((steps - (PLACE - 1) / 2 - offset) / RADIUS[size] for offset in (down, right))
    y, x = np.meshgrid(*axes, indexing="ij")
    found = []
    for grown in (1.0, 1.0 - 0.9 / RADIUS[size]):
        fine = _inside(shape, x / grown, y / grown).astype(np.float64)
        share = fine.reshape(WINDOW, FINE, WINDOW, FINE).mean((1, 3))[..., None]
        share.setflags(write=False)
        found.append(share)
    return found[0], found[1]


def _inside(shape: str, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Whether points are inside a shape of radius 1; x to the right, y down."""
    if shape == "circle":
        return x**2 + y**2 <= 1.0
    if shape == "square":
        return np.maximum(abs(x), abs(y)) <= 0.86
    if shape == "triangle":
        return (y <= 0.8) & (y >= 2.0 * abs(x) - 1.05)
    if shape == "heart":
        lobes = (abs(x) - 0.45) ** 2 + (y + 0.35) ** 2 <= 0.30
        return lobes | ((y >= -0.35) & (y <= 0.95 - 1.32 * abs(x)))
    if shape == "star":
        angle = np.mod(np.arctan2(x, -y), 2 * np.pi / 5) - np.pi / 5
        return np.hypot(x, y) * (1.0 + 1.25 * np.cos(angle) ** 6) <= 1.12
    if shape == "cross":
        return (np.minimum(abs(x), abs(y)) <= 0.30) & (np.maximum(abs(x), abs(y)) <= 0.98)
    if shape == "moon":
        return (x**2 + y**2 <= 1.0) & ((x - 0.55) ** 2 + y**2 > 0.62)
    head = (x >= 0.05) & (x + abs(y) <= 1.0)  # an arrow to the right
    return head | ((abs(y) <= 0.28) & (x >= -0.98) & (x <= 0.1))


def _weigh(pixels: np.ndarray, thing: Thing) -> None:
    """Scales below a thing: a beam that is level under a light thing, and bent under a heavy one."""
    top = thing.row * PLACE + PLACE // 2 + BASELINE
    left = thing.column * PLACE
    grey = np.array(GREY)
    for offset in range(1, PLACE - 1):
        bend = 0 if thing.look == "light" else int(abs(offset - PLACE / 2 + 0.5) < 4)
        pixels[top + bend, left + offset] = 0.3 * grey if bend else 0.6 * grey
        if thing.look == "heavy":
            pixels[top + bend - 1, left + offset] = 0.3 * grey
