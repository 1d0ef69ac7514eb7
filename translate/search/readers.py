"""From sources of any length and order to encoded groups of sentences of similar length."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from torch import Tensor

from translate.corpora.batching import pad
from translate.models import Encoded, Seq2Seq
from translate.search.hypothesis import Request
from translate.text.tokenizer import EOS

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


class Group(NamedTuple):
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


def length_batches(
    lengths: Sequence[int], batch_size: int, max_pieces: int = MAX_BATCH_PIECES
) -> Iterator[list[int]]:
    """Indexes of sources of similar lengths, shortest first; empty sources are left out.

    Args:
        lengths: pieces of each source.
        batch_size: most sources of a batch.
        max_pieces: most pieces of a batch of several sources, with their padding.
    """
    batch: list[int] = []
    for index in sorted((i for i, length in enumerate(lengths) if length), key=lambda i: lengths[i]):
        if batch and (len(batch) == batch_size or (len(batch) + 1) * lengths[index] > max_pieces):
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch
