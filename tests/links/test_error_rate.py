from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translate.links.links import Gold, score

LINKS = st.frozensets(st.tuples(st.integers(0, 4), st.integers(0, 2)), max_size=8)


def test_by_hand():
    # A: 3 links, 2 possible, 1 of them sure; S: 2. Then one pair more, wholly wrong: A 1, S 1.
    gold = Gold(frozenset({(0, 0), (2, 1)}), frozenset({(0, 0), (2, 1), (1, 2)}))
    first = score([{(0, 0), (1, 2), (3, 3)}], [gold])
    assert first.aer == pytest.approx(1 - 3 / 5)
    assert (first.precision, first.recall) == pytest.approx((2 / 3, 1 / 2))
    assert first.f1 == pytest.approx(4 / 7)
    wrong = Gold(frozenset({(1, 1)}), frozenset({(1, 1)}))
    both = score([{(0, 0), (1, 2), (3, 3)}, {(0, 1)}], [gold, wrong])
    assert both == pytest.approx((1 - 3 / 7, 2 / 4, 1 / 3, 2 / 5))


@given(st.lists(st.tuples(LINKS, LINKS, LINKS), min_size=1, max_size=5))
def test_against_link_by_link_counting(sentences):
    golds = [Gold(sure, sure | possible) for _, sure, possible in sentences]
    result = score([links for links, _, _ in sentences], golds)
    in_sure = in_possible = num_links = num_sure = 0
    for (links, sure, _), gold in zip(sentences, golds):
        for link in [(i, j) for i in range(5) for j in range(3)]:
            num_links += link in links
            num_sure += link in sure
            in_sure += link in links and link in sure
            in_possible += link in links and link in gold.possible
    if num_links and num_sure:
        assert result.aer == pytest.approx(float(1 - Fraction(in_sure + in_possible, num_links + num_sure)))
        assert result.precision == pytest.approx(in_possible / num_links)
        assert result.recall == pytest.approx(in_sure / num_sure)
    assert 0 <= result.aer <= 1
