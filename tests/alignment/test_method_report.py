"""The measures of the report, compared with plain loops."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.alignment.test_methods import PAIRS
from tests.tiny_models import tiny_model
from translate.alignment.alignment import Alignment, AlignmentChoice
from translate.alignment.method_report import agree, compare_methods, disputed_words, rank_correlation
from translate.alignment.methods import align
from translate.alignment.pairs import EncodedPair
from translate.links.links import Gold, score

VALUES = st.lists(st.integers(0, 3), min_size=2, max_size=7)


def _rho(first, second):
    """Spearman's rho as Pearson's r of ranks found one by one."""
    ranks = [[sum(w < v for w in x) + (sum(w == v for w in x) - 1) / 2 for v in x] for x in (first, second)]
    means = [sum(each) / len(each) for each in ranks]
    centred = [[r - mean for r in each] for each, mean in zip(ranks, means)]
    product = sum(a * b for a, b in zip(*centred))
    lengths = [math.sqrt(sum(a * a for a in each)) for each in centred]
    return product / (lengths[0] * lengths[1]) if all(lengths) else None


@given(st.data(), VALUES)
def test_rank_correlation_equals_counting(data, first):
    second = data.draw(st.permutations(first) | st.just(first[::-1]) | st.just([0] * len(first)))
    found = rank_correlation(np.array(first, dtype=float), np.array(second, dtype=float))
    expected = _rho(first, second)
    assert (found is None and expected is None) or found == pytest.approx(expected)


def test_agreement_and_dispute_by_hand():
    words = ["a", "b", "c"], ["w", "x", "y", "z"]
    one = Alignment(*words, np.array([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8], [0, 0, 0], [0.2, 0.3, 0.5]]))
    other = Alignment(*words, np.array([[0.6, 0.3, 0.1], [0.5, 0.3, 0.2], [1, 0, 0], [0, 0, 0]]))
    found = agree([one], [other])
    assert found.same_link == 1 / 2  # rows w and x alone have weights by both
    assert found.rank_correlation == pytest.approx((1 + _rho([0.1, 0.1, 0.8], [0.5, 0.3, 0.2])) / 2)
    assert disputed_words([one, one], [one, other]) == [(2, 1, 2, 0)]

    assert agree([], []) == (None, None)


def test_whole_report():
    model, choice = tiny_model("luong"), AlignmentChoice(0, (0,), 0)
    golds = [Gold(frozenset({(0, 0)}), frozenset({(0, 0), (1, 1)})), Gold(frozenset({(4, 1)}), frozenset())]
    found = compare_methods(model, PAIRS, choice, golds)
    row = json.loads(json.dumps(found.to_dict()))
    assert row["agreement"][0]["methods"] == ["attention", "gradient"]
    assert len(row["agreement"]) == 6
    for method, scores in row["scores"].items():
        links = [each.links() for each in align(model, PAIRS, choice, method=method)]
        assert scores["aer"] == score(links, golds).aer
    for each in row["disputed"]:
        pair = PAIRS[each["pair"] - 1]
        assert each["target_word"] == pair.target_words[each["target"]]
        assert each["attention_word"] != each["erasure_word"]
    text = found.lines()
    assert text[0].startswith("2 pairs, 4 target words; attention and norm: layer 0, head 0, shift 0")
    assert sum(line.startswith(("attention  ", "erasure  ", "gradient  ", "norm  ")) for line in text) == 4
    assert any(f"disagree on {len(found.disputed)} target words" in line for line in text)
    without = compare_methods(model, PAIRS, choice)
    assert without.scores == {}
    assert not any("AER" in line for line in without.lines())


def test_words_cannot_break_the_text():
    model = tiny_model("bahdanau")
    ids = PAIRS[0].source_ids, PAIRS[0].target_ids
    pair = EncodedPair(*ids, [0, 0, 1, -1], [0, 1], ["a\nb", "<script>"], ["x\x1b[2J", "y"])
    lines = compare_methods(model, [pair], AlignmentChoice(0, (0,), 0)).lines()
    assert all(line.isprintable() for line in lines)
    assert compare_methods(model, [], AlignmentChoice(0, (0,), 0)).to_dict()["target_words"] == 0
