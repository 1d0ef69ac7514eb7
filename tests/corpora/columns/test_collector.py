import gc

import pytest

from translate.corpora.columns.collector import OBJECTS, seldom_collected


@pytest.fixture(autouse=True)
def _as_before():
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


def test_the_collector_looks_seldom_inside_and_as_before_outside() -> None:
    gc.set_threshold(700, 11, 12)
    with seldom_collected():
        assert gc.get_threshold() == (OBJECTS, 11, 12)
    assert gc.get_threshold() == (700, 11, 12)


def test_also_after_an_error() -> None:
    gc.set_threshold(700, 11, 12)
    with pytest.raises(KeyError), seldom_collected():
        raise KeyError
    assert gc.get_threshold() == (700, 11, 12)


@pytest.mark.parametrize("first", [0, 5 * OBJECTS])
def test_a_caller_s_wish_for_fewer_looks_stays(first: int) -> None:
    gc.set_threshold(first)
    with seldom_collected():
        assert gc.get_threshold()[0] == first
