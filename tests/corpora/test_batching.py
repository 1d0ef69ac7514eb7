import numpy as np
import pytest
import torch

from translate.corpora.batching import collate, piece_links, plan_batches
from translate.corpora.encoded import EncodedCorpus, Ragged
from translate.text.tokenizer import NO_WORD, Pieces
from translate.text.words import Word


def lengths_like_multi30k(count: int = 29_000, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Pieces of captions and their translations: means 15 and 16, deviations 5 and 6, correlation 0.85."""
    generator = np.random.default_rng(seed)
    common = generator.gamma(8.0, 1.0, count)
    source = np.rint(0.6 + 1.75 * common + generator.normal(0, 1.3, count))
    target = np.rint(1.0 + 1.90 * common + generator.normal(0, 2.0, count))
    return np.clip(source, 2, 60).astype(np.int64), np.clip(target, 2, 60).astype(np.int64)


def padding_and_use(
    source: np.ndarray, target: np.ndarray, plan: list[np.ndarray], batch_tokens: int
) -> tuple[float, float]:
    """Share of the positions that are padding, and share of the budget that is target tokens."""
    positions = sum(len(b) * (int(source[b].max()) + int(target[b].max()) + 2) for b in plan)
    tokens = int(source.sum() + target.sum()) + 2 * len(source)
    return 1 - tokens / positions, (int(target.sum()) + len(target)) / (len(plan) * batch_tokens)


@pytest.mark.parametrize("batch_tokens", [97, 512, 2048])
@pytest.mark.parametrize("epoch", [0, 1])
def test_every_pair_once_and_never_over_the_budget(batch_tokens: int, epoch: int) -> None:
    source, target = lengths_like_multi30k(1501)
    source[[3, 77]], target[[5, 77]] = 300, 400  # longer than some of the budgets
    plan = plan_batches(source, target, batch_tokens, seed=7, epoch=epoch)
    assert sorted(np.concatenate(plan).tolist()) == list(range(1501))
    for batch in plan:
        if len(batch) > 1:
            assert len(batch) * (target[batch].max() + 1) <= batch_tokens
            assert len(batch) * (source[batch].max() + 1) <= 2 * batch_tokens
    if batch_tokens == 97:
        assert [77] in [batch.tolist() for batch in plan]


def test_a_long_pair_among_many_is_a_batch_of_its_own() -> None:
    lengths = np.full(120_000, 9)
    lengths[7] = 20_000  # times the pairs: more than 31 bits
    plan = plan_batches(lengths, lengths, 2048, seed=0, epoch=0)
    assert max(map(len, plan)) == 204
    assert [7] in [batch.tolist() for batch in plan]


@pytest.mark.parametrize("count", [0, 1, 2])
def test_tiny_corpora(count: int) -> None:
    plan = plan_batches(np.full(count, 3), np.full(count, 5), 64, seed=1, epoch=0)
    assert sorted(i for batch in plan for i in batch.tolist()) == list(range(count))
    assert len(plan) == min(count, 1)


def test_the_order_depends_on_seed_and_epoch_alone() -> None:
    source, target = lengths_like_multi30k(997)
    plans = [
        [batch.tolist() for batch in plan_batches(source, target, 300, seed=seed, epoch=epoch)]
        for seed, epoch in ((1, 0), (1, 0), (1, 1), (2, 0), (0, 1))
    ]
    assert plans[0] == plans[1]
    assert all(other != plans[0] for other in plans[2:])


@pytest.mark.parametrize(("batch_tokens", "most_padding"), [(1024, 0.015), (2048, 0.02), (4096, 0.03)])
def test_little_padding_in_full_batches(batch_tokens: int, most_padding: float) -> None:
    source, target = lengths_like_multi30k()
    for epoch in range(3):
        plan = plan_batches(source, target, batch_tokens, seed=1, epoch=epoch)
        padding, use = padding_and_use(source, target, plan, batch_tokens)
        assert padding < most_padding
        assert use > 0.8


def corpus() -> EncodedCorpus:
    return EncodedCorpus(
        Ragged.of([[11, 12, 13], [14], [], [15, 16, 17]]),
        Ragged.of([[21, 22], [23, 24, 25, 26], [27], [28, 29]]),
    )


def test_collated_pairs() -> None:
    batch = collate(corpus(), [1, 0, 2])
    assert batch.source.tolist() == [[14, 3, 0, 0], [11, 12, 13, 3], [3, 0, 0, 0]]
    assert batch.source_mask.tolist() == [[True] * 2 + [False] * 2, [True] * 4, [True] + [False] * 3]
    assert batch.target_in.tolist() == [[2, 23, 24, 25, 26], [2, 21, 22, 0, 0], [2, 27, 0, 0, 0]]
    assert batch.target_out.tolist() == [[23, 24, 25, 26, 3], [21, 22, 3, 0, 0], [27, 3, 0, 0, 0]]
    assert batch.target_mask.tolist() == [[True] * 5, [True] * 3 + [False] * 2, [True] * 2 + [False] * 3]
    assert batch.source.dtype == batch.target_in.dtype == batch.target_out.dtype == torch.int64
    assert batch.source_mask.dtype == batch.target_mask.dtype == torch.bool
    assert (batch.indices, batch.num_tokens) == ([1, 0, 2], 10)


def _pieces(piece_words: list[int], num_words: int) -> Pieces:
    return Pieces(list(range(10, 10 + len(piece_words))), piece_words, [Word("x", 0, 1)] * num_words)


def test_rows_are_uniform_over_the_pieces_of_linked_words() -> None:
    source = _pieces([0, 0, 1, 2, NO_WORD], 3)  # the first word has two pieces
    target = _pieces([0, 1, 1], 2)
    packed = piece_links(source, target, frozenset({(0, 1), (2, 1)}))
    corpus = EncodedCorpus(Ragged.of([source.ids]), Ragged.of([target.ids]), Ragged.of([packed]))
    guide = collate(corpus, [0]).guide
    third = 1 / 3
    expected: list[list[float]] = [
        [0, 0, 0, 0, 0, 0],  # not linked: nothing is known
        [third, third, 0, third, 0, 0],
        [third, third, 0, third, 0, 0],
        [0, 0, 0, 0, 0, 0],  # the end of sentence
    ]
    np.testing.assert_allclose(guide[0].numpy(), expected, rtol=1e-6)
