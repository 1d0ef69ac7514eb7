"""Generates the embedded corpora: pairs of English and French or an invented language, with exact links."""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from translate.errors import UserError
from translate.grammar import english, french, sov
from translate.grammar.meaning import Token
from translate.grammar.sentence_choice import SentenceChooser

_MAX_WORDS = 17
RECIPE_PAIRS = 82_000  # that a recipe of conf/experiment draws at most, with data.seed=1
_APART = 1 << 40  # between the seeds of a corpus and of its test pairs
_FRUITLESS = 20_000  # draws in a row without a new pair, after which the grammar is taken to be exhausted
# shown in the documentation's pictures, so they must be training pairs
_CLASSICS = ("I love you .", "look it up .")
_REALISERS = {"fr": french.realise, "sov": sov.realise}


class Example(NamedTuple):
    """A white-space tokenised pair; `gold` is a Pharaoh line, `0-1` sure and `0p1` possible, source first."""

    source: str
    target: str
    gold: str


def generate(
    num_train: int,
    num_validation: int,
    num_test: int,
    seed: int = 1,
    target: str = "fr",
    *,
    apart: bool = False,
) -> dict[str, list[Example]]:
    """Generate three splits of distinct examples that share no sentence on either side.

    The target sentence is a function of the source sentence, and the result depends only on the arguments.

    Args:
        target: `fr`, or `sov` for an invented language with the verb at the end.
        apart: draw validation and test pairs whose sentences are in no training text of this package's
            recipes either, however many of their pairs a run takes.
    Raises:
        UserError: for more pairs than the grammar has.
    """
    held_out = num_test + num_validation
    chooser, seen = SentenceChooser(seed), set[str]()
    examples = _distinct(chooser, num_train + held_out, target, seen)
    # early draws are short and frequent sentences; shuffling spreads them over the splits
    for i in range(len(examples) - 1, 0, -1):
        j = int(chooser.draw() * (i + 1))
        examples[i], examples[j] = examples[j], examples[i]
    examples.sort(key=lambda example: example.source in _CLASSICS)
    others = examples[:held_out]
    if apart:  # with another stream of numbers: this one would give the recipes' sentences again
        others = _distinct(SentenceChooser(seed + _APART), held_out, target, seen | _of_recipes(target))
    return {"train": examples[held_out:], "validation": others[num_test:], "test": others[:num_test]}


def _distinct(chooser: SentenceChooser, number: int, language: str, seen: set[str]) -> list[Example]:
    """Pairs without a sentence of ``seen``, to which theirs are added."""
    examples: list[Example] = []
    fruitless = 0
    while len(examples) < number:
        if (fruitless := fruitless + 1) > _FRUITLESS:
            raise UserError(f"grammar: only about {len(examples)} pairs exist; expected fewer than {number}")
        sentence = chooser.sentence()
        source = english.realise(sentence)
        source_line = " ".join([token.text for token in source])
        if source_line in seen or len(source) > _MAX_WORDS:
            continue
        target = _REALISERS[language](sentence)
        # a mark, as a sentence such as a name may be the same in both languages
        target_line = " ".join([token.text for token in target])
        if f"{language}: {target_line}" in seen or len(target) > _MAX_WORDS:
            continue
        seen |= {source_line, f"{language}: {target_line}"}
        examples.append(Example(source_line, target_line, gold(source, target)))
        fruitless = 0
    return examples


@cache
def _of_recipes(language: str) -> frozenset[str]:
    """The sentences of the largest recipe, among which are those of every smaller one."""
    seen = set[str]()
    _distinct(SentenceChooser(1), RECIPE_PAIRS, language, seen)
    return frozenset(seen)


def gold(source: Sequence[Token], target: Sequence[Token]) -> str:
    """A Pharaoh line that links tokens with a common concept.

    A link is sure if both express the concept strongly, possible if only one does.
    """
    strong = _by_concept([token.strong for token in source])
    weak = _by_concept([token.weak for token in source])
    sure, possible = set[tuple[int, int]](), set[tuple[int, int]]()
    for j, token in enumerate(target):
        for concept in token.strong:
            sure |= {(i, j) for i in strong.get(concept, ())}
            possible |= {(i, j) for i in weak.get(concept, ())}
        for concept in token.weak:
            possible |= {(i, j) for i in strong.get(concept, ())}
    return " ".join([f"{i}{'-' if (i, j) in sure else 'p'}{j}" for i, j in sorted(sure | possible)])


def _by_concept(concepts: Sequence[Sequence[str]]) -> dict[str, list[int]]:
    """The tokens of each concept, from the concepts of each token."""
    found: dict[str, list[int]] = {}
    for i, own in enumerate(concepts):
        for concept in own:
            found.setdefault(concept, []).append(i)
    return found
