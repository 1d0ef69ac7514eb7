"""Links estimated by the statistical aligner, compared with plain loops over pairs and with gold links."""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
import pytest

from translate.grammar.generator import generate
from translate.links.hidden_markov import MAX_JUMP, NULL_PROBABILITY, first_jumps, forward_backward, model_1
from translate.links.links import Links, parse_gold, score
from translate.links.statistical import (
    HMM_ROUNDS,
    LINK_PROBABILITY,
    MODEL_1_ROUNDS,
    NULL_LIMITS,
    KnownLinks,
    estimate_links,
)
from translate.links.symmetrise import symmetrise

ENGLISH = ("the house", "the book", "a book of the house", "a house", "the the")
FRENCH = ("la maison", "le livre", "un livre de la maison", "une maison", "la")
SOURCES, TARGETS = ([sentence.split() for sentence in side] for side in (ENGLISH, FRENCH))
# Two pairs for five, so each counts as 2.5; links are (source, target).
KNOWN = KnownLinks(
    [["the", "red", "house"], ["a", "book"]],
    [["la", "maison", "rouge"], ["le", "livre", "bleu"]],
    [frozenset({(0, 0), (1, 2), (2, 1)}), frozenset({(1, 0), (1, 1)})],
)
NOTHING_KNOWN = KnownLinks([], [], [])


class _Loops:
    """One direction, a pair at a time, its tables in dictionaries; the last pairs' links are known."""

    def __init__(
        self, given: Sequence[Sequence[str]], made: Sequence[Sequence[str]], known: list[np.ndarray]
    ) -> None:
        self.given, self.made, self.known = given, made, known
        types = {word for line in made for word in line}
        self.table = {(g, m): 1 / len(types) for a, b in zip(given, made, strict=True) for g in a for m in b}
        self.null = dict.fromkeys(types, 1 / len(types))
        self.jumps, self.p0 = first_jumps(), NULL_PROBABILITY

    def believe(self, *, jumping: bool) -> list[np.ndarray]:
        links: list[np.ndarray] = []
        self.null_counts: dict[str, float] = defaultdict(float)
        self.jump_counts = np.zeros(2 * MAX_JUMP + 1)
        self.words = 0.0
        num_unknown = len(self.given) - len(self.known)
        for number, (given, made) in enumerate(zip(self.given, self.made, strict=True)):
            if number >= num_unknown:
                weight = num_unknown / len(self.known)
                linked = self.known[number - num_unknown]  # (made, given)
                links.append(weight * linked)
                self.words += weight * len(made)
                for word, row in zip(made, linked, strict=True):
                    self.null_counts[word] += 0 if row.any() else weight
                continue
            self.words += len(made)
            emission = np.array([[[self.table[g, m] for g in given] for m in made]])
            null = np.array([[self.null[m] for m in made]])
            lengths = np.array([[len(given)], [len(made)]])
            found = (forward_backward if jumping else model_1)(emission, null, self.p0, self.jumps, lengths)
            for word, value in zip(made, found.null[0], strict=True):
                self.null_counts[word] += value
            self.jump_counts += found.jumps
            links.append(found.links[0])  # (made, given)
        return links

    def learn(self, agreed: list[np.ndarray], *, jumping: bool) -> None:
        counts: dict[tuple[str, str], float] = defaultdict(lambda: 1e-9)
        for given, made, values in zip(self.given, self.made, agreed, strict=True):
            for m, word in enumerate(made):
                for g, other in enumerate(given):
                    counts[other, word] += values[m, g]
        totals: dict[str, float] = defaultdict(float)
        for (word, _), value in counts.items():
            totals[word] += value
        self.table = {key: value / totals[key[0]] for key, value in counts.items()}
        kept = {word: self.null_counts[word] + 1e-3 for word in self.null}
        self.null = {word: value / sum(kept.values()) for word, value in kept.items()}
        if jumping:
            share = sum(self.null_counts.values()) / self.words
            self.p0 = min(max(share, NULL_LIMITS[0]), NULL_LIMITS[1])
            self.jumps = self.jump_counts + 0.01 * self.jump_counts.mean()


def _by_loops(method: str, known: KnownLinks) -> list[Links]:
    matrices = []
    for source, target, linked in zip(*known, strict=True):
        matrix = np.zeros((len(target), len(source)))
        for i, j in linked:
            matrix[j, i] = 1
        matrices.append(matrix)
    sources, targets = [*SOURCES, *known.sources], [*TARGETS, *known.targets]
    forward = _Loops(sources, targets, matrices)
    backward = _Loops(targets, sources, [matrix.T for matrix in matrices])
    for number in range(MODEL_1_ROUNDS + HMM_ROUNDS):
        jumping = number >= MODEL_1_ROUNDS
        there, back = forward.believe(jumping=jumping), backward.believe(jumping=jumping)
        agreed = [a * b.T for a, b in zip(there, back, strict=True)]  # (target, source)
        for number_known in range(1, len(matrices) + 1):
            agreed[-number_known] = there[-number_known]
        forward.learn(agreed, jumping=jumping)
        backward.learn([each.T for each in agreed], jumping=jumping)
    links = []
    for a, b in zip(forward.believe(jumping=True), backward.believe(jumping=True), strict=True):
        forth = {(int(i), int(j)) for j, i in zip(*np.nonzero(a > LINK_PROBABILITY), strict=True)}
        hence = {(int(i), int(j)) for i, j in zip(*np.nonzero(b > LINK_PROBABILITY), strict=True)}
        links.append(symmetrise(forth, hence, method))
    return links[: len(SOURCES)]


@pytest.mark.parametrize("method", ["intersection", "union", "grow-diag-final-and"])
@pytest.mark.parametrize("known", [NOTHING_KNOWN, KNOWN], ids=["nothing known", "pairs known"])
def test_equals_plain_loops(method: str, known: KnownLinks) -> None:
    assert estimate_links(SOURCES, TARGETS, method=method, known=known) == _by_loops(method, known)


@pytest.mark.slow
def test_known_pairs_say_how_to_annotate() -> None:
    """Without gold, the aligner links particles that the annotators of this language leave unlinked."""
    pairs = generate(3000, 100, 0, target="sov")
    words = {
        name: ([pair.source.split() for pair in pairs[name]], [pair.target.split() for pair in pairs[name]])
        for name in ("train", "validation")
    }
    golds = {name: [parse_gold(pair.gold, where="gold") for pair in pairs[name]] for name in words}
    known = KnownLinks(*words["validation"], [gold.to_teach(0, 1) for gold in golds["validation"]])
    alone = score(estimate_links(*words["train"]), golds["train"]).aer
    assert score(estimate_links(*words["train"], known=known), golds["train"]).aer < 0.6 * alone


def test_a_few_known_pairs_do_not_count_for_all() -> None:
    """A single known pair with the weight of a corpus would make all other links improbable."""
    known = KnownLinks([["the"]], [["la"]], [frozenset({(0, 0)})])
    sources, targets = SOURCES * 1000, TARGETS * 1000
    assert estimate_links(sources, targets, known=known) == estimate_links(sources, targets)


def test_empty_sides_have_no_links() -> None:
    assert estimate_links([[], ["a"], ["a"]], [["x"], [], ["x"]]) == [frozenset(), frozenset(), {(0, 0)}]
    assert estimate_links([[]], [["x"]]) == [frozenset()]
    assert estimate_links([], []) == []
