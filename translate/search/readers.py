"""From sources of any length and order to encoded groups of sentences of similar length."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from torch import Tensor

from translate.corpora.batching import pad
from translate.models import Encoded, Seq2Seq
from translate.search.hypothesis import Request
from translate.text.tokenizer import EOS

MAX_RECORDED = 1 << 26  # weights that a batch may record, 256 MiB; with more, it holds fewer sentences
MAX_CACHED = 1 << 28  # numbers that the decoder of a batch may keep, 1 GiB; with more, it holds fewer, too
MAX_BATCH_PIECES = 8192  # of padded sources: bounds the memory of batches of long sentences


class Reader(NamedTuple):
    """A model with the sentences encoded in its own vocabulary."""

    model: Seq2Seq  # in evaluation mode, on the device of ``source``
    source: Tensor  # (B, S) ids, ending in end of sentence
    source_mask: Tensor | None  # (B, S) bool, True = visible

    @property
    def lengths(self) -> list[int]:
        """Source pieces of each sentence, with the end of sentence."""
        if self.source_mask is None:
            return [self.source.shape[1]] * len(self.source)
        return [int(length) for length in self.source_mask.sum(1).tolist()]

    def encode(self) -> Encoded:
        """The encoded source."""
        return self.model.encode(self.source, self.source_mask)


class SentenceGroup(NamedTuple):
    """Sentences that are encoded together and then searched one by one."""

    keys: Sequence[Any]  # the caller's name of each sentence
    readers: Sequence[Reader]  # one, or an ensemble with the same target vocabulary
    requests: Sequence[Request]


def read_sources(models: Sequence[Seq2Seq], sources: Sequence[Sequence[Sequence[int]]]) -> list[Reader]:
    """Sentences padded to one batch, on the models' device.

    Args:
        models: one or an ensemble, in evaluation mode, on one device.
        sources: for each model, ids of each sentence without the end of sentence.
    """
    readers = []
    for model, sentences in zip(models, sources, strict=True):
        source, mask = pad([[*ids, EOS] for ids in sentences])
        device = model.output_weight.device
        readers.append(Reader(model, source.to(device), None if mask is None else mask.to(device)))
    return readers


def most_sentences(batch_size: int, pieces: int, recorded: int = 0, cached: int = 0) -> int:
    """How many sentences may run together.

    Args:
        batch_size: the most whatever their length.
        pieces: of the longest source.
        recorded: weights that a sentence may record.
        cached: numbers that the decoder may keep of a sentence, if its translations become as long as they
            may and share no beginning.
    """
    most = min(batch_size, MAX_BATCH_PIECES // pieces)
    for numbers, limit in ((recorded, MAX_RECORDED), (cached, MAX_CACHED)):
        most = min(most, limit // numbers) if numbers else most
    return max(1, most)


def length_batches(
    lengths: Sequence[int],
    batch_size: int,
    held: Callable[[int], tuple[int, int]] = lambda length: (0, 0),
) -> Iterator[list[int]]:
    """Indexes of sources of similar lengths, shortest first; empty sources are left out.

    Args:
        lengths: pieces of each source.
        batch_size: most sources of a batch.
        held: weights that a sentence of so many pieces may record, and numbers that its decoder may keep.
    """
    batch: list[int] = []
    for index in sorted((i for i, length in enumerate(lengths) if length), key=lambda i: lengths[i]):
        length = lengths[index]
        if len(batch) >= most_sentences(batch_size, length, *held(length)):
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch
