"""The aligner that has learnt: it links pairs it has not seen."""

from pathlib import Path

import pytest

from translate.grammar.generator import generate
from translate.links.fixed_aligner import FixedAligner, learn_aligner
from translate.links.links import parse_gold, score


@pytest.fixture(scope="module")
def pairs() -> list[tuple[list[str], list[str], str]]:
    examples = generate(1300, 0, 0, 1, target="fr")["train"]
    return [
        (example.source.lower().split(), example.target.lower().split(), example.gold or "")
        for example in examples
    ]


@pytest.fixture(scope="module")
def aligner(pairs: list[tuple[list[str], list[str], str]]) -> FixedAligner:
    return learn_aligner([s for s, _, _ in pairs[:1000]], [t for _, t, _ in pairs[:1000]])


def test_it_links_pairs_that_it_has_not_seen(aligner, pairs):
    unseen = pairs[1000:]
    found = aligner.links([s for s, _, _ in unseen], [t for _, t, _ in unseen])
    golds = [parse_gold(gold, where="gold") for _, _, gold in unseen]
    assert score(found, golds).aer < 0.15


def test_a_pair_is_linked_by_itself(aligner, pairs):
    sources, targets = [s for s, _, _ in pairs[1000:1100]], [t for _, t, _ in pairs[1000:1100]]
    together = aligner.links(sources, targets)
    for source, target, links in zip(sources, targets, together):
        assert aligner.links([source], [target]) == [links]


def test_saved_parameters_give_the_same(aligner, pairs, tmp_path: Path):
    aligner.save(tmp_path / "links.npz")
    loaded = FixedAligner.load(tmp_path / "links.npz")
    sources, targets = [s for s, _, _ in pairs[1000:1050]], [t for _, t, _ in pairs[1000:1050]]
    assert loaded.links(sources, targets) == aligner.links(sources, targets)


def test_without_words_there_is_nothing_to_learn():
    with pytest.raises(ValueError, match="no pair has words"):
        learn_aligner([[]], [["a"]])
