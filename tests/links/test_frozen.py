"""The aligner that has learnt: it links pairs it has not seen, and knows which words find no partner."""

from pathlib import Path

import numpy as np
import pytest

from translate.errors import UserError
from translate.grammar.generator import generate
from translate.links.error_rate import score
from translate.links.frozen import FrozenAligner, learn_frozen
from translate.links.links import parse_gold


@pytest.fixture(scope="module")
def pairs() -> list[tuple[list[str], list[str], str]]:
    examples = generate(1300, 0, 0, 1, target="fr")["train"]
    return [(each.source.lower().split(), each.target.lower().split(), each.gold or "") for each in examples]


@pytest.fixture(scope="module")
def aligner(pairs: list[tuple[list[str], list[str], str]]) -> FrozenAligner:
    return learn_frozen([s for s, _, _ in pairs[:1000]], [t for _, t, _ in pairs[:1000]])


def test_it_links_pairs_that_it_has_not_seen(aligner, pairs):
    unseen = pairs[1000:]
    found = aligner.links([s for s, _, _ in unseen], [t for _, t, _ in unseen])
    golds = [parse_gold(gold, where="gold") for _, _, gold in unseen]
    assert score(found, golds).aer < 0.15


def test_a_pair_is_judged_by_itself(aligner, pairs):
    sources, targets = [s for s, _, _ in pairs[1000:1100]], [t for _, t, _ in pairs[1000:1100]]
    together = aligner.coverage(sources, targets), aligner.links(sources, targets)
    for number, (source, target) in enumerate(zip(sources, targets)):
        assert np.array_equal(aligner.coverage([source], [target])[0], together[0][number])
        assert aligner.links([source], [target]) == [together[1][number]]


def test_words_of_another_sentence_find_no_partner(aligner, pairs):
    sources, targets = [s for s, _, _ in pairs[1000:]], [t for _, t, _ in pairs[1000:]]
    right = aligner.coverage(sources, targets).min(1)
    wrong = aligner.coverage(sources, targets[150:] + targets[:150]).min(1)
    assert np.median(right) > 0.85
    assert np.median(wrong) < 0.65
    assert (right[:, None] > wrong).mean() > 0.95


def test_coverage_of_a_pair_by_hand():
    english = [*("dog", "cat", "bird", "fish", "cow", "hen", "fox", "bear")]
    french = [*("chien", "chat", "oiseau", "poisson", "vache", "poule", "renard", "ours")]
    aligner = learn_frozen([[word] for word in english] * 20, [[word] for word in french] * 20)
    found = aligner.coverage(
        [["dog"], ["dog"], ["dog", "Zork"], ["Zork"], []], [["chien"], ["chat"], ["chat", "Zork"], ["x"], []]
    )
    worth = -np.log(1 / 8) * 20 / 23
    same = -np.log(1 / 8)  # an unknown word that stands on both sides weighs as the rarest known one
    expected = [1, 8 / (8 + worth), (8 + same) / (8 + same + worth), 1, 1]
    assert found[:, 0] == pytest.approx(expected)
    assert found[:, 1] == pytest.approx(expected)


def test_an_unknown_name_links_to_itself(aligner):
    (links,) = aligner.links([["zork", "is", "tired", "."]], [["zork", "est", "fatigué", "."]])
    assert (0, 0) in links


def test_saved_parameters_give_the_same(aligner, pairs, tmp_path: Path):
    aligner.save(tmp_path / "links.npz")
    loaded = FrozenAligner.load(tmp_path / "links.npz")
    sources, targets = [s for s, _, _ in pairs[1000:1050]], [t for _, t, _ in pairs[1000:1050]]
    assert loaded.links(sources, targets) == aligner.links(sources, targets)
    assert np.array_equal(loaded.coverage(sources, targets), aligner.coverage(sources, targets))


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 broken", b"\x80\x04N."])
def test_a_damaged_file_is_named(content: bytes, tmp_path: Path):
    (tmp_path / "links.npz").write_bytes(content)
    with pytest.raises(UserError, match=r"links\.npz: no readable file of word links"):
        FrozenAligner.load(tmp_path / "links.npz")


def test_without_words_there_is_nothing_to_learn():
    with pytest.raises(ValueError, match="no pair has words"):
        learn_frozen([[]], [["a"]])
