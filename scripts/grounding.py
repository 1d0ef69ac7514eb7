"""Whether a run reads the picture beside a sentence: ambiguous sentences right with it, and without it.

    python scripts/grounding.py RUN [--split test] [--beam-size 5]

Translates the sentences of `data=scenes` whose English leaves the French open, with their own picture, with
that of another ambiguous sentence, and without one. By the law of the generator the translations of such a
sentence are equally probable, so that chance is the mean of 1 / their number.
"""

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import translate
from translate.config.data import DataConfig
from translate.corpora.images.line import join_line, split_line
from translate.corpora.images.scene_corpus import ScenePair, generate_scenes, pair_of
from translate.runs.load import read_settings
from translate.runs.runtime import find_device, use_runtime
from translate.runs.storage.run_directory import RunDirectory

SAMPLE = 20_000  # scenes in which the translations of a sentence are looked up


class Riddle(NamedTuple):
    """An ambiguous sentence with what decides it.

    Attributes:
        picture: a description of the scene.
        answers: how many translations the sentence has in other scenes and this one.
    """

    picture: str
    sentence: str
    french: str
    answers: int


def riddles(data: DataConfig, split: str, languages: tuple[str, str]) -> list[Riddle]:
    """The ambiguous sentences of a split of a run's corpus."""
    sizes = {"test": data.num_test, "validation": data.num_validation, "train": SAMPLE}
    found = generate_scenes(sizes, data.seed, captions=False)
    lines: dict[str, list[ScenePair]] = {
        name: [pair_of(example, languages, "both", None) for example in examples]
        for name, examples in found.items()
    }
    answers: defaultdict[str, set[str]] = defaultdict(set)
    for pair in (*lines["train"], *lines[split]):
        answers[split_line(pair.source).sentence].add(pair.target)
    chosen = []
    for pair in lines[split]:
        picture, sentence, _ = split_line(pair.source)
        assert picture is not None
        if len(answers[sentence]) > 1:
            chosen.append(Riddle(picture, sentence, pair.target, len(answers[sentence])))
    return chosen


def kind(riddle: Riddle) -> str:
    """What is open: the gender of a pronoun or of a side, or what *light* is said of, or both."""
    light, named = "light" in riddle.sentence.split(), riddle.answers == 2
    return ("light" if named else "gender and light") if light else "gender"


def report(title: str, riddles: Sequence[Riddle], texts: Sequence[str]) -> None:
    """Print the share of sentences that are translated as the reference, and that of each kind."""
    right, all_of = Counter[str](), Counter(map(kind, riddles))
    for riddle, text in zip(riddles, texts, strict=True):
        right[kind(riddle)] += text == riddle.french
    parts = ", ".join(f"{name} {100 * right[name] / count:.1f} %" for name, count in sorted(all_of.items()))
    print(f"{title:24} {100 * right.total() / len(riddles):5.1f} % right ({parts})")


def main(arguments: list[str]) -> None:
    """Print a line for each kind of picture."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", type=Path)
    parser.add_argument("--split", choices=("test", "validation"), default="test")
    parser.add_argument("--beam-size", type=int, default=5)
    given = parser.parse_args(arguments)
    use_runtime(find_device("auto"))  # as the command does
    translator = translate.load(given.run)
    data = read_settings(RunDirectory(given.run)).data
    source, target = translator.languages
    found = riddles(data, given.split, (source, target))
    chance = sum(1 / riddle.answers for riddle in found) / len(found)
    print(f"{len(found)} ambiguous sentences of the {given.split} split; chance {100 * chance:.1f} %")
    others = [*found[1:], found[0]]
    for title, pictures in (
        ("with the picture", [riddle.picture for riddle in found]),
        ("with another's picture", [riddle.picture for riddle in others]),
        ("without a picture", [None] * len(found)),
    ):
        lines = [join_line(picture, riddle.sentence) for picture, riddle in zip(pictures, found, strict=True)]
        texts = [each.text for each in translator.translate(lines, beam_size=given.beam_size)]
        report(title, found, texts)


if __name__ == "__main__":
    main(sys.argv[1:])
