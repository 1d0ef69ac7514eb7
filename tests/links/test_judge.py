"""The judge of pairs: what it learns from good pairs alone, it finds in wrong ones that it has not seen."""

import random
from pathlib import Path

import numpy as np
import pytest

from translate.grammar.generator import generate
from translate.links.frozen import FrozenAligner, learn_frozen
from translate.links.judge import LEAST_PAIRS, TranslationJudge, learn_judge
from translate.links.partners import BENEFIT, DOUBT

Pairs = list[tuple[list[str], list[str]]]


@pytest.fixture(scope="module")
def pairs() -> Pairs:
    examples = generate(2600, 0, 0, 1, target="fr")["train"]
    return [(each.source.lower().split(), each.target.lower().split()) for each in examples]


def sides(pairs: Pairs) -> tuple[list[list[str]], list[list[str]]]:
    return [source for source, _ in pairs], [target for _, target in pairs]


@pytest.fixture(scope="module")
def aligner(pairs: Pairs) -> FrozenAligner:
    return learn_frozen(*sides(pairs[:1000]))


@pytest.fixture(scope="module")
def judge(aligner: FrozenAligner, pairs: Pairs) -> TranslationJudge:
    found = learn_judge(aligner, *sides(pairs[1000:2000]))
    assert found is not None
    return found


def probabilities(aligner: FrozenAligner, judge: TranslationJudge, pairs: Pairs) -> np.ndarray:
    lengths = [np.array([len(pair[side]) for pair in pairs]) for side in (0, 1)]
    return judge.probabilities(aligner.evidence(*sides(pairs)), (lengths[0], lengths[1]))


def test_wrong_pairs_are_less_likely_translations(
    aligner: FrozenAligner, judge: TranslationJudge, pairs: Pairs
) -> None:
    good, draw = pairs[2000:], random.Random(4)
    right = probabilities(aligner, judge, good)
    others = good[300:] + good[:300]
    shuffled = [(source, other) for (source, _), (_, other) in zip(good, others)]
    cut = [(source[: len(source) // 2], target) for source, target in good if len(source) > 7]
    jumbled = [(source, draw.choices("uvwxyz", k=len(target))) for source, target in good]
    for wrong, area in ((shuffled, 0.9), (cut, 0.85), (jumbled, 0.9)):
        found = probabilities(aligner, judge, wrong)
        assert (right[:, None] > found).mean() > area
    coverage = aligner.coverage(*sides(good)).min(1), aligner.coverage(*sides(cut)).min(1)
    assert (right[:, None] > probabilities(aligner, judge, cut)).mean() > (
        coverage[0][:, None] > coverage[1]
    ).mean()


def test_a_pair_is_judged_by_itself(aligner: FrozenAligner, judge: TranslationJudge, pairs: Pairs) -> None:
    chosen = [*pairs[2000:2050], ([], ["a"]), (["a"], []), ([], [])]
    together = probabilities(aligner, judge, chosen)
    assert np.isfinite(together).all()
    for number, pair in enumerate(chosen):
        assert np.array_equal(aligner.evidence(*sides([pair]))[0], aligner.evidence(*sides(chosen))[number])
        assert probabilities(aligner, judge, [pair])[0] == together[number]


def test_evidence_by_hand() -> None:
    english = ["dog", "cat", "bird", "fish", "cow", "hen", "fox", "bear"]
    french = ["chien", "chat", "oiseau", "poisson", "vache", "poule", "renard", "ours"]
    aligner = learn_frozen([[word] for word in english] * 20, [[word] for word in french] * 20)
    found = aligner.evidence([["dog", "cat", "bird", "cow"]], [["chien", "poisson", "vache"]])[0]
    trust = 20 / (20 + DOUBT)
    worth = -np.log(1 / 8) * trust
    # Found: dog, cow and chien, vache. The longest run without: cat bird, and poisson.
    assert found[:2] == pytest.approx([(8 + 2 * worth) / (8 + 4 * worth), (8 + 2 * worth) / (8 + 3 * worth)])
    assert found[4:] == pytest.approx([2 * worth / (BENEFIT + 4 * worth), worth / (BENEFIT + 3 * worth)])
    hit, miss = (np.log(0.9 * share * 8 + 0.1) * trust for share in (1 / 3, 0))
    assert found[2] == pytest.approx((2 * hit + 2 * miss) / (4 + DOUBT), rel=1e-3)


def test_what_is_saved_judges_alike(
    aligner: FrozenAligner, judge: TranslationJudge, pairs: Pairs, tmp_path: Path
) -> None:
    judge.save(tmp_path / "judge.npz")
    loaded = TranslationJudge.load(tmp_path / "judge.npz")
    chosen = pairs[2000:2020]
    assert np.array_equal(probabilities(aligner, loaded, chosen), probabilities(aligner, judge, chosen))


def test_a_few_pairs_tell_nothing(aligner: FrozenAligner, pairs: Pairs) -> None:
    few = [*pairs[: LEAST_PAIRS - 1], ([], ["a"])]
    assert learn_judge(aligner, *sides(few)) is None
