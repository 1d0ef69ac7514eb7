import threading
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
import torch

from translate.config.training import TrainingConfig
from translate.corpora import orders
from translate.corpora.batching import collate
from translate.corpora.encoded import EncodedCorpus, Ragged
from translate.text.tokenizer import BOS, EOS, PAD, UNK
from translate.training import stream as stream_module
from translate.training.stream import BatchGroup, BatchStream, Position, drop_words

PAIRS = 101


@pytest.fixture
def stream() -> BatchStream:
    generator = np.random.default_rng(7)
    sides = [
        [generator.integers(4, 90, n).tolist() for n in generator.integers(1, 13, PAIRS)] for _ in range(2)
    ]
    encoded = EncodedCorpus(Ragged.of(sides[0]), Ragged.of(sides[1]))
    return BatchStream(encoded, TrainingConfig(batch_tokens=61, accumulate=3, seed=5))


def take(stream: BatchStream, start: Position, count: int) -> list[BatchGroup]:
    groups = stream.from_position(start)
    try:
        return list(islice(groups, count))
    finally:
        groups.close()


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("batches")]


def test_an_epoch_holds_every_pair_once(stream: BatchStream) -> None:
    sides = stream._lengths(stream.corpus, np.arange(PAIRS))
    lengths = [len(stream._plan(sides, Position(epoch))) for epoch in (0, 1)]
    count = sum(-(-length // 3) for length in lengths)
    batches = [batch for group in take(stream, Position(), count) for batch in group.batches]
    first = batches[: lengths[0]]
    assert sorted(i for batch in first for i in batch.indices) == list(range(PAIRS))
    second = batches[lengths[0] :][: lengths[1]]
    assert sorted(i for batch in second for i in batch.indices) == list(range(PAIRS))
    assert [batch.indices for batch in first] != [batch.indices for batch in second]


def test_groups_have_so_many_batches_and_end_with_the_epoch(stream: BatchStream) -> None:
    length = stream.epoch_length
    groups = take(stream, Position(), -(-length // 3) + 1)
    assert [len(group.batches) for group in groups[:-2]] == [3] * (length // 3 - (length % 3 == 0))
    assert sum(len(group.batches) for group in groups[:-1]) == length
    assert groups[-2].after == Position(1, 0)
    assert groups[-1].after == Position(1, 3)


def test_noise_and_sampled_pieces_go_on_from_anywhere_identically(stream: BatchStream) -> None:
    def sample(key: Sequence[int], rows: np.ndarray) -> EncodedCorpus:
        seed, epoch = key
        assert rows.tolist() == list(range(PAIRS))
        target = stream.corpus.target
        assert isinstance(target, Ragged)
        ((values, offsets),) = target.parts
        other = Ragged([(values + 100 * epoch + seed, offsets)])  # other pieces, told by their numbers
        return replace(stream.corpus, target=other)

    noisy = replace(stream, config=replace(stream.config, word_dropout=0.3), sample=sample)
    whole = take(noisy, Position(), 25)
    assert whole[-1].after.epoch >= 1
    for place in range(0, 20, 3):
        for mine, other in zip(take(noisy, whole[place].after, 3), whole[place + 1 :]):
            for one, two in zip(mine.batches, other.batches, strict=True):
                assert one.source.equal(two.source)
                assert one.target_in.equal(two.target_in)
                assert one.target_out.equal(two.target_out)
    unknown = [(batch.source == UNK).any() for group in whole for batch in group.batches]
    assert sum(map(bool, unknown)) > len(unknown) / 2
    assert whole[0].batches[0].target_out.max() < 200
    assert max(int(batch.target_out.max()) for batch in whole[-1].batches) > 105


def test_the_thread_ends_with_the_reader(stream: BatchStream) -> None:
    groups = stream.from_position(Position())
    next(groups)
    assert threads() == ["batches_0"]
    groups.close()
    assert threads() == []


def test_what_fails_in_the_thread_reaches_the_reader(
    stream: BatchStream, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: object) -> None:
        raise MemoryError("no room for a batch")

    monkeypatch.setattr(stream_module, "collate", fail)
    with pytest.raises(MemoryError, match="no room"):
        next(stream.from_position(Position()))
    assert threads() == []


def test_a_failure_that_nobody_reads_does_not_keep_the_thread(
    stream: BatchStream, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, failed, count = stream_module.collate, threading.Event(), 0

    def fail_late(*arguments: object) -> object:
        nonlocal count
        count += 1
        if count > 3 * stream_module.PREPARED:  # a group has been read, and another one takes its place
            failed.set()
            raise MemoryError("no room for a batch")
        return real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(stream_module, "collate", fail_late)
    groups = stream.from_position(Position())
    next(groups)
    assert failed.wait(5)
    groups.close()
    assert threads() == []


def test_so_many_pieces_are_unknown_and_none_of_the_special_ones() -> None:
    generator = np.random.default_rng(3)
    sides = [[generator.integers(4, 90, n).tolist() for n in generator.integers(20, 60, 97)] for _ in "st"]
    batch = collate(EncodedCorpus(*map(Ragged.of, sides)), range(97))
    noisy = drop_words(batch, 0.2, np.random.default_rng(5))
    for name in ("source", "target_in"):
        before, after = getattr(batch, name), getattr(noisy, name)
        changed = before != after
        assert (after[changed] == UNK).all()
        special = (before == PAD) | (before == BOS) | (before == EOS)
        assert not changed[special].any()
        share = changed.sum() / (~special).sum()
        assert abs(share - 0.2) < 0.02  # of about 4,000
    assert torch.equal(noisy.target_out, batch.target_out)  # what is to be said stays
    again = drop_words(batch, 0.2, np.random.default_rng(5))
    assert torch.equal(again.source, noisy.source)


def test_a_corpus_of_many_blocks_goes_on_from_anywhere_identically(
    stream: BatchStream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(orders, "BLOCK", 23)
    length = stream.epoch_length
    whole = take(stream, Position(), 3 * length)
    ends = [number for number, group in enumerate(whole) if group.after.epoch]
    behind = [stream.epochs(group.after) for group in whole[: ends[0] + 1]]
    pairs = np.cumsum([sum(len(batch.indices) for batch in group.batches) for group in whole[: ends[0] + 1]])
    assert behind == sorted(behind)
    assert np.allclose(behind, pairs / PAIRS, atol=0.1)
    epoch = [i for group in whole[: ends[0] + 1] for batch in group.batches for i in batch.indices]
    assert sorted(epoch) == list(range(PAIRS))
    assert {group.after.block for group in whole} == set(range(5))
    for place in range(0, len(whole) - 3):
        for mine, other in zip(take(stream, whole[place].after, 2), whole[place + 1 :]):
            assert mine.after == other.after
            for one, two in zip(mine.batches, other.batches, strict=True):
                assert one.indices == two.indices
                assert one.source.equal(two.source)
