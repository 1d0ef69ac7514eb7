"""The statistical aligner against a plain-loop expectation maximisation, and on the embedded corpus."""

import math
from collections import defaultdict

import pytest
from ibm_model_2 import (
    NULL_PROBABILITY,
    TENSION,
    Rounds,
    align_corpus,
    align_one_direction,
)

from translate.grammar.generator import generate
from translate.links.error_rate import score
from translate.links.links import parse_gold
from translate.links.symmetrise import symmetrise

SOURCES = [["the", "house"], ["the", "book"], ["a", "book", "of", "the", "house"], ["a", "house"]]
TARGETS = [["la", "maison"], ["le", "livre"], ["un", "livre", "de", "la", "maison"], ["une", "maison"]]


def _prior(s: int, t: int, num_source: int, num_target: int) -> float:
    """Dyer et al. 2013, eq. 1; s = 0 is NULL."""
    if s == 0:
        return NULL_PROBABILITY
    closeness = [
        math.exp(-TENSION * abs((t + 1) / num_target - (i + 1) / num_source)) for i in range(num_source)
    ]
    return (1 - NULL_PROBABILITY) * closeness[s - 1] / sum(closeness)


def _by_loops(rounds: Rounds) -> list[set[tuple[int, int]]]:
    table: dict[tuple[str, str], float] = defaultdict(lambda: 1.0)
    for number in range(rounds.model_1 + rounds.model_2):
        counts: dict[tuple[str, str], float] = defaultdict(float)
        for source, target in zip(SOURCES, TARGETS, strict=True):
            words = ["NULL", *source]
            for t, target_word in enumerate(target):
                joint = [
                    table[word, target_word]
                    * (_prior(s, t, len(source), len(target)) if number >= rounds.model_1 else 1.0)
                    for s, word in enumerate(words)
                ]
                for word, value in zip(words, joint, strict=True):
                    counts[word, target_word] += value / sum(joint)
        totals: dict[str, float] = defaultdict(float)
        for (word, _), value in counts.items():
            totals[word] += value
        table = defaultdict(float, {key: value / totals[key[0]] for key, value in counts.items()})
    links = []
    for source, target in zip(SOURCES, TARGETS, strict=True):
        found = set()
        for t, target_word in enumerate(target):
            joint = [
                table[word, target_word] * _prior(s, t, len(source), len(target))
                for s, word in enumerate(["NULL", *source])
            ]
            best = max(range(len(joint)), key=lambda s: joint[s])
            if best:
                found.add((best - 1, t))
        links.append(found)
    return links


@pytest.mark.parametrize("rounds", [Rounds(1, 0), Rounds(3, 0), Rounds(3, 2)])
def test_equals_plain_loops(rounds: Rounds) -> None:
    assert align_one_direction(SOURCES, TARGETS, rounds) == _by_loops(rounds)


@pytest.mark.slow
def test_finds_most_links_of_the_embedded_corpus() -> None:
    pairs = generate(3000, 0, 0)["train"]
    sources, targets = [pair.source.split() for pair in pairs], [pair.target.split() for pair in pairs]
    golds = [parse_gold(pair.gold, where="gold") for pair in pairs]
    assert score(align_corpus(sources, targets), golds).aer < 0.1
    assert score(align_corpus(sources, targets, method="intersection"), golds).precision > 0.97


def test_both_directions_are_symmetrised() -> None:
    forward = align_one_direction(SOURCES, TARGETS, Rounds())
    backward = [{(s, t) for t, s in links} for links in align_one_direction(TARGETS, SOURCES, Rounds())]
    expected = [symmetrise(f, b, "union") for f, b in zip(forward, backward, strict=True)]
    assert align_corpus(SOURCES, TARGETS, method="union") == expected


def test_empty_sides_have_no_links() -> None:
    assert align_corpus([[], ["a"], ["a"]], [["x"], [], ["x"]]) == [frozenset(), frozenset(), {(0, 0)}]
