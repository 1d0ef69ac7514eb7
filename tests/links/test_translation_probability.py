"""What the regression learns from good pairs alone, it finds in wrong ones that it has not seen."""

import random
from pathlib import Path

import numpy as np
import pytest

from translate.grammar.generator import generate
from translate.links.fixed_aligner import learn_aligner
from translate.links.translation_probability import (
    BENEFIT,
    DOUBT,
    LEAST_PAIRS,
    Evidence,
    TranslationRegression,
    learn_regression,
)

Pairs = list[tuple[list[str], list[str]]]


@pytest.fixture(scope="module")
def pairs() -> Pairs:
    examples = generate(2600, 0, 0, 1, target="fr")["train"]
    return [(example.source.lower().split(), example.target.lower().split()) for example in examples]


def sides(pairs: Pairs) -> tuple[list[list[str]], list[list[str]]]:
    return [source for source, _ in pairs], [target for _, target in pairs]


@pytest.fixture(scope="module")
def evidence(pairs: Pairs) -> Evidence:
    return Evidence(learn_aligner(*sides(pairs[:1000])))


@pytest.fixture(scope="module")
def regression(evidence: Evidence, pairs: Pairs) -> TranslationRegression:
    found = learn_regression(evidence, *sides(pairs[1000:2000]))
    assert found is not None
    return found


def probabilities(evidence: Evidence, regression: TranslationRegression, pairs: Pairs) -> np.ndarray:
    lengths = [np.array([len(pair[side]) for pair in pairs]) for side in (0, 1)]
    return regression.probabilities(evidence.of_words(*sides(pairs)), (lengths[0], lengths[1]))


def test_wrong_pairs_are_less_likely_translations(
    evidence: Evidence, regression: TranslationRegression, pairs: Pairs
) -> None:
    good, draw = pairs[2000:], random.Random(4)
    right = probabilities(evidence, regression, good)
    others = good[300:] + good[:300]
    shuffled = [(source, other) for (source, _), (_, other) in zip(good, others)]
    cut = [(source[: len(source) // 2], target) for source, target in good if len(source) > 7]
    jumbled = [(source, draw.choices("uvwxyz", k=len(target))) for source, target in good]
    for wrong, area in ((shuffled, 0.9), (cut, 0.85), (jumbled, 0.9)):
        found = probabilities(evidence, regression, wrong)
        assert (right[:, None] > found).mean() > area


def test_a_pair_is_judged_by_itself(
    evidence: Evidence, regression: TranslationRegression, pairs: Pairs
) -> None:
    chosen = [*pairs[2000:2050], ([], ["a"]), (["a"], []), ([], [])]
    together = probabilities(evidence, regression, chosen)
    assert np.isfinite(together).all()
    for number, pair in enumerate(chosen):
        assert np.array_equal(evidence.of_words(*sides([pair]))[0], evidence.of_words(*sides(chosen))[number])
        assert probabilities(evidence, regression, [pair])[0] == together[number]


def test_coverage_by_hand() -> None:
    english = [*("dog", "cat", "bird", "fish", "cow", "hen", "fox", "bear")]
    french = [*("chien", "chat", "oiseau", "poisson", "vache", "poule", "renard", "ours")]
    evidence = Evidence(learn_aligner([[word] for word in english] * 20, [[word] for word in french] * 20))
    found = evidence.of_words(
        [["dog"], ["dog"], ["dog", "Zork"], ["Zork"], []], [["chien"], ["chat"], ["chat", "Zork"], ["x"], []]
    )
    worth = -np.log(1 / 8) * 20 / 23
    same = -np.log(1 / 8)  # an unknown word that stands on both sides weighs as the rarest known one
    expected = [1, 8 / (8 + worth), (8 + same) / (8 + same + worth), 1, 1]
    assert found[:, 0] == pytest.approx(expected)
    assert found[:, 1] == pytest.approx(expected)


def test_evidence_by_hand() -> None:
    english = ["dog", "cat", "bird", "fish", "cow", "hen", "fox", "bear"]
    french = ["chien", "chat", "oiseau", "poisson", "vache", "poule", "renard", "ours"]
    evidence = Evidence(learn_aligner([[word] for word in english] * 20, [[word] for word in french] * 20))
    found = evidence.of_words([["dog", "cat", "bird", "cow"]], [["chien", "poisson", "vache"]])[0]
    trust = 20 / (20 + DOUBT)
    worth = -np.log(1 / 8) * trust
    # Found: dog, cow and chien, vache. The longest run without: cat bird, and poisson.
    assert found[:2] == pytest.approx([(8 + 2 * worth) / (8 + 4 * worth), (8 + 2 * worth) / (8 + 3 * worth)])
    assert found[4:] == pytest.approx([2 * worth / (BENEFIT + 4 * worth), worth / (BENEFIT + 3 * worth)])
    hit, miss = (np.log(0.9 * share * 8 + 0.1) * trust for share in (1 / 3, 0))
    assert found[2] == pytest.approx((2 * hit + 2 * miss) / (4 + DOUBT), rel=1e-3)


def test_what_is_saved_judges_alike(
    evidence: Evidence, regression: TranslationRegression, pairs: Pairs, tmp_path: Path
) -> None:
    regression.save(tmp_path / "regression.npz")
    loaded, chosen = TranslationRegression.load(tmp_path / "regression.npz"), pairs[2000:2020]
    there, here = (probabilities(evidence, found, chosen) for found in (loaded, regression))
    assert np.array_equal(there, here)


def test_a_few_pairs_tell_nothing(evidence: Evidence, pairs: Pairs) -> None:
    few = [*pairs[: LEAST_PAIRS - 1], ([], ["a"])]
    assert learn_regression(evidence, *sides(few)) is None
