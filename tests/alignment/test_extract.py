import numpy as np
import pytest
import torch

from translate.alignment.alignment import AlignmentChoice
from translate.alignment.methods import align
from translate.alignment.pairs import EncodedPair, pair_batches, renormalise
from translate.errors import UserError
from translate.links.links import Gold, score
from translate.text.tokenizer import EOS

# Pieces I | lo ve | you | </s> to je | t' | ai me; rows predict je, t', ai, me, </s>.
HEAD_0 = [
    [0.5, 0.1, 0.1, 0.1, 0.2],  # words, without </s>, renormalised: .625 .25 .125
    [0.8, 0.0, 0.0, 0.0, 0.2],  # 1 0 0
    [0.0, 0.1, 0.1, 0.2, 0.6],  # 0 .5 .5
    [0.0, 0.25, 0.25, 0.0, 0.5],  # 0 1 0
    [0.0, 0.0, 0.0, 0.0, 1.0],  # nothing but </s>: zero
]
HEAD_1 = [
    # .25 .75 0; with head 0 .4375 .5 .0625 (averaged first, I would win over love)
    [0.1, 0.2, 0.1, 0.0, 0.6],
    [0.6, 0.1, 0.1, 0.0, 0.2],  # .75 .25 0; .875 .125 0
    [0.0, 0.0, 0.0, 0.5, 0.5],  # 0 0 1; 0 .25 .75
    [0.125, 0.125, 0.125, 0.125, 0.5],  # .25 .5 .25; .125 .75 .125
    [0.0, 0.2, 0.2, 0.1, 0.5],  # 0 .8 .2; 0 .8 .2
]
PAIR = EncodedPair(
    source_ids=[11, 12, 13, 14, EOS],
    target_ids=[21, 22, 23, 24],
    source_piece_words=[0, 1, 1, 2, -1],
    target_piece_words=[0, 1, 2, 2],
    source_words=["I", "love", "you"],
    target_words=["je", "t'", "aime"],
)


@pytest.fixture
def by_hand(fake_model):
    def attend(source_ids, target_ids):
        if source_ids == [11, 12, 13, 14, EOS]:
            assert target_ids == [2, 21, 22, 23, 24]
            return np.array([np.full((2, 5, 5), 0.2), [HEAD_0, HEAD_1]])
        return np.full((2, 2, len(target_ids), len(source_ids)), 1 / len(source_ids))

    return fake_model(attend, 2, 2)


@pytest.mark.parametrize(
    ("heads", "shift", "expected", "pharaoh", "aer"),
    [
        ((0, 1), 0, [[0.4375, 0.5, 0.0625], [0.875, 0.125, 0], [0.0625, 0.5, 0.4375]], "0-1 1-0 1-2", 0.8),
        ((0, 1), 1, [[0.875, 0.125, 0], [0, 0.25, 0.75], [0.0625, 0.775, 0.1625]], "0-0 1-2 2-1", 0.0),
        ((0,), 1, [[1, 0, 0], [0, 0.5, 0.5], [0, 1, 0]], "0-0 1-1 1-2", 0.4),
        ((1,), 0, [[0.25, 0.75, 0], [0.75, 0.25, 0], [0.125, 0.25, 0.625]], "0-1 1-0 2-2", 0.8),
    ],
)
def test_by_hand(by_hand, heads, shift, expected, pharaoh, aer):
    longer = EncodedPair(range(30, 37), range(40, 46), [0] * 7, [0] * 6, ["long"], ["long"])
    choice = AlignmentChoice(1, heads, shift)
    alignment, other = align(by_hand, [PAIR, longer], choice)
    assert by_hand.batch_sizes == [2]  # so the first pair was padded on both sides
    np.testing.assert_allclose(alignment.weights, expected, atol=1e-6)
    assert alignment.pharaoh() == pharaoh
    np.testing.assert_allclose(other.weights, [[1.0]])
    gold = Gold(frozenset({(0, 0), (2, 1)}), frozenset({(0, 0), (2, 1), (1, 2), (2, 2)}))
    assert score([alignment.links()], [gold]).aer == pytest.approx(aer)


def _random_pair(rng):
    S, T = rng.integers(1, 9, 2)
    source, target = rng.integers(4, 99, S).tolist(), rng.integers(4, 99, T).tolist()
    words = [str(i) for i in source], [str(i) for i in target]
    return EncodedPair([*source, EOS], target, [*range(S), -1], range(T), *words)


@pytest.mark.parametrize("batch_size", [1, 3, 64])
def test_batching_changes_nothing_and_keeps_the_order(fake_model, batch_size):
    def attend(source_ids, target_ids):  # piece t looks at each source piece in proportion to its id
        ids = np.array(source_ids, dtype=np.float64)
        return np.broadcast_to(ids / ids.sum(), (1, 1, len(target_ids), len(source_ids)))

    rng = np.random.default_rng(5)
    pairs = [_random_pair(rng) for _ in range(17)]
    model = fake_model(attend, 1, 1)
    alignments = align(model, pairs, AlignmentChoice(0, (0,), 0), batch_size=batch_size)
    assert sum(model.batch_sizes) == 17
    assert max(model.batch_sizes) <= batch_size
    for pair, alignment in zip(pairs, alignments):
        assert alignment.target_words == pair.target_words
        ids = np.array(pair.source_ids[:-1], dtype=np.float64)
        np.testing.assert_allclose(
            alignment.weights, np.tile(ids / ids.sum(), (len(pair.target_ids), 1)), atol=1e-6
        )


def test_long_pairs_make_small_batches():
    rng = np.random.default_rng(3)
    pairs = [_random_pair(rng) for _ in range(31)]
    batches = list(pair_batches(pairs, 7, "cpu", max_cells=100))
    assert sorted(index for batch in batches for index in batch.indices) == list(range(31))
    cells = [len(b.indices) * b.source.shape[1] * b.target_in.shape[1] for b in batches if len(b.indices) > 1]
    assert max(cells) <= 100
    assert len(batches) < 31
    with pytest.raises(UserError, match="batch size"):
        next(pair_batches(pairs, 0, "cpu"))


def test_sides_without_words(by_hand):
    empty_target = EncodedPair([11, EOS], [], [0, -1], [], ["I"], [])
    empty_source = EncodedPair([EOS], [21, 24], [-1], [0, -1], [], ["je"])
    alignments = align(by_hand, [empty_target, PAIR, empty_source], AlignmentChoice(1, (0,), 1))
    assert [alignment.weights.shape for alignment in alignments] == [(0, 1), (3, 3), (1, 0)]
    assert align(by_hand, [empty_source], AlignmentChoice(0, (1,), 0))[0].pharaoh() == ""
    assert align(by_hand, [], AlignmentChoice(0, (1,), 0)) == []


@pytest.mark.parametrize(("layer", "heads"), [(2, (0,)), (0, (1, 2))])
def test_choice_must_exist_in_the_model(by_hand, layer, heads):
    with pytest.raises(UserError, match="does not exist: the model has 2"):
        align(by_hand, [PAIR], AlignmentChoice(layer, heads, 0))


@pytest.mark.parametrize(
    "change",
    [
        *({"layer": layer} for layer in (-1, "1", None)),
        *({"heads": heads} for heads in ([], [0, -1], 3, [True], "01")),
        *({"shift": shift} for shift in (2, None, "1")),
        *({"threshold": threshold} for threshold in (-0.1, 2, None, "0.3")),
        {"head": 1},
    ],
)
def test_wrong_choice(change):
    with pytest.raises(UserError, match="alignment"):
        AlignmentChoice.from_dict({"layer": 0, "heads": [0], "shift": 0, "threshold": 0.0} | change)


def test_rows_sum_to_one_or_stay_zero():
    rows = renormalise(torch.tensor([[2.0, 6.0], [0.0, 0.0], [1e-42, 1e-42], [1e-30, 3e-30]]))
    torch.testing.assert_close(rows, torch.tensor([[0.25, 0.75], [0, 0], [0, 0], [0.25, 0.75]]))
