from dataclasses import replace

import numpy as np
import pytest

from translate.alignment.alignment import Alignment, AlignmentChoice
from translate.errors import UserError

WEIGHTS = [[0.94, 0.04, 0.02], [0.12, 0.0, 0.88], [0.0, 0.0, 0.0], [0.5, 0.5, 0.0]]


@pytest.fixture
def alignment():
    return Alignment(["I", "love", "you"], ["je", "t'", "uh", "aime"], np.array(WEIGHTS))


def test_links_by_argmax_and_by_threshold(alignment):
    assert alignment.links() == {(0, 0), (2, 1), (0, 3)}  # the zero row has none, the tie goes to the first
    assert alignment.links(0.5) == {(0, 0), (2, 1), (0, 3), (1, 3)}
    assert alignment.links(0.1) == {(0, 0), (0, 1), (2, 1), (0, 3), (1, 3)}
    assert alignment.links(1.0) == frozenset()
    assert alignment.links(0) == alignment.links()
    assert alignment.pharaoh() == "0-0 0-3 2-1"


def test_json_tells_the_method_where_it_is_known(alignment):
    named = replace(alignment, method="attention, layer 2, head 1")
    assert named.to_dict()["method"] == "attention, layer 2, head 1"
    assert Alignment.from_dict(named.to_dict()).method == named.method
    assert "method" not in alignment.to_dict()


def test_a_notebook_shows_the_heatmap(alignment):
    assert alignment._repr_png_().startswith(b"\x89PNG")
    assert Alignment([], [], np.zeros((0, 0)))._repr_png_() is None


def test_weights_are_a_read_only_float32_copy(alignment):
    given = np.eye(2)
    one = Alignment(["a", "b"], ["c", "d"], given)
    given[0, 0] = 0.5
    assert one.weights[0, 0] == 1
    assert one.weights.dtype == np.float32
    with pytest.raises(ValueError, match="read-only"):
        one.weights[0, 0] = 0


@pytest.mark.parametrize("weights", [np.zeros((3, 2)), np.zeros(2), [[0, np.nan, 0]] * 2, [[0, -0.1, 0]] * 2])
def test_wrong_weights(weights):
    with pytest.raises(ValueError, match="weights"):
        Alignment(["a", "b", "c"], ["d", "e"], np.array(weights))


def test_its_own_threshold_makes_its_links(alignment):
    own = replace(alignment, threshold=0.1)
    assert own.links() == alignment.links(0.1)
    assert own.links(0) == alignment.links()
    written = own.to_dict()
    assert (written["threshold"], written["links"]) == (0.1, alignment.pharaoh(0.1))
    assert Alignment.from_dict(written).links() == own.links()
    assert "threshold" not in alignment.to_dict()


@pytest.mark.parametrize("threshold", [-1, 1.5, float("nan"), True, "0.5"])
def test_wrong_threshold(alignment, threshold):
    with pytest.raises(UserError, match="threshold"):
        alignment.links(threshold)
    with pytest.raises(UserError, match="threshold"):
        replace(alignment, threshold=threshold)


def test_empty_sides():
    assert Alignment([], ["a"], np.zeros((1, 0))).pharaoh() == ""
    assert Alignment(["a"], [], np.zeros((0, 1))).links() == frozenset()


def test_a_caption_tells_the_guided_head_alone():
    choice = AlignmentChoice(1, (0,), 1, guided=1)
    assert choice.caption == "layer 1, head 0, shift 1 (guided)"
    for other in (replace(choice, layer=0), replace(choice, heads=(1,)), replace(choice, guided=None)):
        assert "guided" not in other.caption
    assert AlignmentChoice.from_dict(choice.to_dict()).guided is None  # which the settings of a run tell
