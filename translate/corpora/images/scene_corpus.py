"""The embedded corpus of scenes: images, sentences said of them in English and French, and exact regions.

Half of the sentences beside an image are ambiguous in English; captions never are.
"""

import random
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from translate.config.data import DataConfig
from translate.config.names import shorten
from translate.corpora.images.image_names import LANGUAGE, leave_out
from translate.corpora.images.line import join_line
from translate.corpora.images.scenes import PLACES, ROOM, SIDE, Scene, Thing, draw
from translate.corpora.split import RawCorpus, Split
from translate.errors import UserError
from translate.grammar import english, french
from translate.grammar import scene_words as words
from translate.grammar.generator import Example, gold
from translate.grammar.meaning import Sentence, Token
from translate.links.links import moved_line

LANGUAGES = ("en", "fr")
HALF = 0.5  # of a patch; a region's patches that it covers so far are sure, the others possible
_REALISERS = {"en": english.realise, "fr": french.realise}
_FRUITLESS = 10_000  # draws in a row without a new scene
_LOOKS = (*words.WEIGHTS, *words.SHADES)


class SceneExample(NamedTuple):
    """A scene and what is said of it.

    Attributes:
        groups: the things of which a concept speaks, by the first letter of its path.
    """

    scene: Scene
    sentence: Sentence
    groups: Mapping[str, Sequence[int]]

    @property
    def is_description(self) -> bool:
        """Whether the scene alone decides the sentence."""
        return "O" in self.groups or "K" in self.groups

    def tokens(self, language: str) -> list[Token]:
        return _REALISERS[language](self.sentence)


def load_scenes(data: DataConfig) -> RawCorpus:
    """The splits of `data=scenes`; raises :class:`UserError` for other languages than English and French."""
    source, target = data.source_language or "en", data.target_language or "fr"
    if data.read == "picture":
        source = LANGUAGE
    asked = (target,) if data.read == "picture" else (source, target)
    if not set(asked) <= set(LANGUAGES) or source == target:
        raise UserError(
            f"the corpus of scenes has en and fr, not {shorten(source, 100)} and {shorten(target, 100)}; set "
            "data.source_language and data.target_language"
        )
    sizes = {"test": data.num_test, "validation": data.num_validation, "train": data.num_train}
    examples = generate_scenes(sizes, data.seed, captions=data.read == "picture")
    splits = {}
    for name, found in examples.items():
        # Gold regions need the drawings; nothing reads those of the training split.
        grid = None if name == "train" else data.patch_size
        pairs = [pair_of(example, (source, target), data.read, grid) for example in found]
        if pairs:
            gold = None if name == "train" else [pair.gold for pair in pairs]
            splits[name] = Split([pair.source for pair in pairs], [pair.target for pair in pairs], gold)
    if data.read == "both":
        described = {row for row, example in enumerate(examples["train"]) if example.is_description}
        splits["train"] = leave_out(splits["train"], data, described)
    return RawCorpus.of((source, target), splits)


def generate_scenes(sizes: Mapping[str, int], seed: int, *, captions: bool) -> dict[str, list[SceneExample]]:
    """Splits of the given sizes that share no scene, a function of the arguments alone."""
    chooser, seen = _Chooser(seed), set[Scene]()
    found: dict[str, list[SceneExample]] = {}
    for name, size in sizes.items():
        found[name], fruitless = [], 0
        while len(found[name]) < size:
            example = chooser.description() if captions or chooser.random.random() < 0.5 else chooser.riddle()
            if example.scene in seen:
                if (fruitless := fruitless + 1) > _FRUITLESS:
                    raise UserError(f"scenes: no more than about {len(seen):,} scenes exist; ask for fewer")
                continue
            fruitless = 0
            seen.add(example.scene)
            found[name].append(example)
    return found


def pair_of(example: SceneExample, languages: tuple[str, str], read: str, patch_size: int | None) -> Example:
    """The pair in two languages; links count patches before source words.

    Args:
        languages: of source and target; the first does not matter if only the image is read.
        read: ``picture``, ``text`` or ``both``.
        patch_size: pixels of a patch of the grid that the gold links count; ``None`` for no links.
    """
    target = example.tokens(languages[1])
    source = [] if read == "picture" else example.tokens(languages[0])
    line = join_line(str(example.scene) if read != "text" else None, _text(source))
    if patch_size is None:
        return Example(line, _text(target), "")
    links = []
    num_patches = 0
    if read != "text":
        num_patches = (SIDE // patch_size) ** 2
        links += region_links(example, target, patch_size)
    if source:
        links += moved_line(gold(source, target), num_patches).split()
    return Example(line, _text(target), " ".join(links))


def region_links(example: SceneExample, target: Sequence[Token], patch_size: int) -> list[str]:
    """Links of patches and target words that name a thing or its quality.

    All patches that a thing touches are linked, surely if the thing covers half of the patch or no other
    patch more; words that only refer to things (*it*, *two*) have possible links alone.
    """
    regions = draw(example.scene).regions
    count, links = SIDE // patch_size, []
    for position, token in enumerate(target):
        group, named = _group_of(example, token)
        if group is None:
            continue
        region = regions[list(group)].any(0).reshape(count, patch_size, count, patch_size)
        shares = region.mean((1, 3)).reshape(-1)
        least = min(HALF, float(shares.max()))
        for patch in np.flatnonzero(shares):
            sure = named and shares[patch] >= least
            links.append(f"{patch}{'-' if sure else 'p'}{position}")
    return links


def _group_of(example: SceneExample, token: Token) -> tuple[Sequence[int] | None, bool]:
    """The things of which a token speaks, and whether it names a thing or a quality of it."""
    for concept in token.strong:
        path, part = (concept[0], concept[1:]) if concept[0].isupper() else ("", concept)
        group = example.groups.get(path or "S") if path or part == "a9" else None
        if group is not None and part[0] in "haq":
            named = hasattr(example.sentence.clause.subject.head, "forms")  # not by a pronoun
            pronoun = path == "S" and part[0] == "h" and "S" in example.groups and not named
            return group, part[0] != "q" and not pronoun
    return None, False


def _text(tokens: Sequence[Token]) -> str:
    return " ".join(token.text for token in tokens)


class _Chooser:
    """Draws scenes and sentences at random."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def description(self) -> SceneExample:
        """A sentence that says which things there are, or how two kinds of things stand."""
        pick, ground = self.random.choice, self.random.choice(list(words.GROUNDS))
        first, second = self.named(), self.named()
        if self.random.random() < 0.4:
            things = self.placed(first, self.places(first.number))
            return SceneExample(Scene(ground, things), words.there_is(first, ground), _all("O", things))
        above = pick([True, False])
        lines = sorted(self.random.sample(range(PLACES), 2))
        across = self._facing(first.number, second.number)
        placed = [
            self.placed(named, [(line, place) if above else (place, line) for place in places])
            for named, line, places in zip((first, second), lines, across)
        ]
        sentence = words.stands(first, words.ABOVE if above else words.LEFT_OF, second)
        count = len(placed[0])
        groups = {"S": range(count), "K": range(count, count + len(placed[1]))}
        return SceneExample(Scene(ground, (*placed[0], *placed[1])), sentence, groups)

    def riddle(self) -> SceneExample:
        """A sentence whose English leaves open what the image decides."""
        kind = self.random.choice(("it", "place", "side", "shape"))
        ground, named = self.random.choice(list(words.GROUNDS)), self.named()
        look = self.random.choice(_LOOKS) if kind == "shape" or self.random.random() < 0.4 else ""
        quality = words.COLOURS[named.colour]
        if look:
            quality = words.WEIGHTS[look] if look in words.WEIGHTS else words.SHADES[look]
        if kind == "side":
            return self._side(ground, named, look, quality)
        look = look if kind != "place" else ""
        things = self.placed(named, self.places(named.number), look)
        sentence = {
            "it": words.it_is(named, quality),
            "place": words.it_lies(named, ground),
            "shape": words.the_shape_is(named, quality),
        }[kind]
        return SceneExample(Scene(ground, things), sentence, _all("S", things))

    def _side(self, ground: str, named: words.Named, look: str, quality: words.Adjective) -> SceneExample:
        """Two single things beside each other; the one of which the sentence speaks comes first."""
        side, named = self.random.choice(("left", "right")), named._replace(number=1)
        columns = sorted(self.random.sample(range(PLACES), 2), reverse=side == "right")
        places = [(self.random.randrange(PLACES), column) for column in columns]
        things = self.placed(named, places[:1], look) + self.placed(
            self.named()._replace(number=1), places[1:], self.random.choice(("", *_LOOKS))
        )
        return SceneExample(Scene(ground, things), words.side_is(named, side, quality), {"S": range(1)})

    def _facing(self, *counts: int) -> list[list[int]]:
        """Places across two lines, some of which face each other: else a diagonal would have two names."""
        while True:
            found = [sorted(self.random.sample(range(PLACES), count)) for count in counts]
            if set(found[0]) & set(found[1]):
                return found

    def named(self) -> words.Named:
        pick = self.random.choice
        count = self.random.choices((1, 2, 3), (5, 3, 2))[0]
        shape, colour, size = (pick(list(table)) for table in (words.SHAPES, words.COLOURS, words.SIZES))
        return words.Named(shape, colour, size, count)

    def places(self, count: int) -> list[tuple[int, int]]:
        cells = self.random.sample(range(PLACES**2), count)
        return [divmod(cell, PLACES) for cell in sorted(cells)]

    def placed(
        self, named: words.Named, places: Sequence[tuple[int, int]], look: str = ""
    ) -> tuple[Thing, ...]:
        """Things at places, a little off their middles; on scales only to the side."""
        room, things = ROOM[named.size], []
        for row, column in places:
            right = self.random.randint(-room, room)
            down = 0 if look in words.WEIGHTS else self.random.randint(-room, room)
            things.append(Thing(named.shape, named.colour, named.size, row, column, right, down, look))
        return tuple(things)


def _all(path: str, things: Sequence[Thing]) -> dict[str, Sequence[int]]:
    return {path: range(len(things))}
