"""Scenes: the corpus against its own rules, the drawings, and descriptions of one word."""

import re
from collections import Counter, defaultdict

import numpy as np
import pytest

from translate.corpora.images import scenes
from translate.corpora.images.line import split_line
from translate.corpora.images.scene_corpus import generate_scenes, pair_of
from translate.corpora.images.scenes import MAX_THINGS, PLACE, ROOM, SIDE, Scene, Thing, draw, read_scene
from translate.errors import UserError
from translate.grammar.scene_words import SHAPES, SIZES

SIZES_OF_SPLITS = {"test": 60, "train": 240}


@pytest.fixture(scope="module")
def riddles():
    return generate_scenes(SIZES_OF_SPLITS, 3, captions=False)


@pytest.fixture(scope="module")
def captions():
    return generate_scenes(SIZES_OF_SPLITS, 3, captions=True)


def thing(**changed) -> Thing:
    return Thing("circle", "red", "big", 1, 1)._replace(**changed)


def test_splits_share_no_scene_and_a_scene_is_read_from_its_word(captions):
    found = [example.scene for split in captions.values() for example in split]
    assert len(set(found)) == len(found) == 300
    for scene in found:
        assert len(str(scene).split()) == 1
        assert read_scene(str(scene)) == scene


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("scene:sea/circle.red.big.0.0.0.0", "the ground is 'sea'; expected one of sand, snow, grass, floor"),
        ("scene:sand", "0 things; expected 1 to 9"),
        ("scene:sand/" + "/".join(["circle.red.big.0.0.0.0"] * (MAX_THINGS + 1)), "10 things"),
        ("scene:sand/sofa.red.big.0.0.0.0", "'sofa' is none of circle, square"),
        ("scene:sand/circle.red.big.0.0", "expected shape.colour.size.row.column.right.down"),
        ("scene:sand/circle.red.big.0.3.0.0", "is outside the 3 rows and columns"),
        ("scene:sand/circle.red.big.0.2.2.0", "expected 1 pixels at most"),
        ("scene:sand/circle.red.big.0.2.0.0.blurred", "ends in no look; there are light, heavy, pale, deep"),
    ],
)
def test_a_wrong_description_is_told_in_one_sentence(text, message):
    with pytest.raises(UserError, match="not a scene") as error:
        read_scene(text)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("size", SIZES)
def test_a_region_is_where_the_colour_is(shape, size):
    """An oracle by colours: the same scene with a red and with a blue thing differs in the region alone."""
    room = ROOM[size]
    red, blue = (
        draw(Scene("snow", (thing(shape=shape, size=size, colour=colour, right=room, down=-room),)))
        for colour in ("red", "blue")
    )
    (region,) = red.regions
    redder = red.pixels[..., 0].astype(int) - red.pixels[..., 2] > 50
    bluer = blue.pixels[..., 2].astype(int) - blue.pixels[..., 0] > 50
    assert region.sum() > 10
    for coloured in (redder, bluer):
        assert (coloured & region).sum() / region.sum() > 0.5  # outlines are dark
    assert ((redder | bluer) & ~region).sum() < 0.5 * region.sum()  # half-covered pixels of the edge
    rows, columns = np.nonzero(region)
    assert PLACE <= rows.min() <= rows.max() < 2 * PLACE
    assert PLACE <= columns.min() <= columns.max() < 2 * PLACE


def test_the_picture_tells_gender_and_look(riddles):
    """Read from the scene alone: the subject's gender, and weight or shade."""
    feminine = {"star", "cross", "moon", "arrow"}
    seen: Counter[str] = Counter()
    for example in riddles["train"]:
        pair = pair_of(example, ("en", "fr"), "both", None)
        first, words = example.scene.things[0], pair.target.split()
        sentence = split_line(pair.source).sentence
        if sentence.startswith(("it ", "they ", "the left one", "the right one")):
            assert (words[0] in ("elle", "elles", "celle")) == (first.shape in feminine)
            seen["gender"] += 1
        if sentence.endswith(" light ."):
            assert words[-2].startswith("l" if first.look == "light" else "cl")
            seen["light"] += 1
    assert seen["gender"] > 50
    assert seen["light"] > 10


def test_captions_say_everything_and_are_never_ambiguous(captions):
    """A caption is a function of what is drawn: things without offsets, and their lines."""
    for example in captions["train"]:
        words = pair_of(example, ("en", "en"), "picture", None).target.split()
        kinds = list(dict.fromkeys((t.shape, t.colour, t.size) for t in example.scene.things))
        for shape, colour, size in kinds:
            assert colour in words
            assert size in words
            assert any(word.startswith(shape) for word in words)
        if "above" in words or "left" in words:
            halves: list[list[Thing]] = [[], []]
            count = len(example.groups["S"])
            for index, drawn in enumerate(example.scene.things):
                halves[index >= count].append(drawn)
            rows, columns = (
                [{getattr(t, axis) for t in half} for half in halves] for axis in ("row", "column")
            )
            across, along = (columns, rows) if "above" in words else (rows, columns)
            assert across[0] & across[1]  # they face each other, so no other sentence fits
            assert len(along[0]) == len(along[1]) == 1
            assert min(along[0]) < min(along[1])
        else:
            assert words[-2] == example.scene.ground


@pytest.mark.parametrize("patch_size", [4, 8, 16])
def test_gold_regions_are_the_patches_that_the_things_touch(captions, patch_size):
    """By a plain loop over the pixels of the regions of the drawing."""
    across = SIDE // patch_size
    for example in captions["test"][:12]:
        pair = pair_of(example, ("en", "en"), "picture", patch_size)
        words, regions = pair.target.split(), draw(example.scene).regions
        links = defaultdict(set)
        for link in pair.gold.split():
            patch, target = link.replace("p", "-").split("-")
            links[int(target)].add(int(patch))
        for position, word in enumerate(words):
            shown = [i for i, drawn in enumerate(example.scene.things) if word.startswith(drawn.shape)]
            names = {drawn.shape for drawn in example.scene.things}
            if not shown or len(names) < len({(t.shape, t.colour, t.size) for t in example.scene.things}):
                continue
            touched = {
                (y // patch_size) * across + x // patch_size
                for index in shown
                for y, x in zip(*np.nonzero(regions[index]))
            }
            assert links[position] == touched
    sure = pair_of(captions["test"][0], ("en", "en"), "picture", patch_size).gold
    assert "-" in sure


def test_the_example_of_the_documentation_is_a_scene():
    (example,) = re.findall(r"`(scene:[^`]+)`", scenes.__doc__)
    first, second = read_scene(example).things
    assert first == Thing("circle", "red", "big", 0, 1, 1, -1)
    assert second == Thing("star", "blue", "small", 2, 2, 0, 0)
