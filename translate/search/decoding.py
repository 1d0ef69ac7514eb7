"""From sources of any length and order to hypotheses: batches of like lengths, and the search wanted."""

from collections.abc import Iterator, Sequence

from translate.config.search import SearchConfig
from translate.corpora.batching import pad
from translate.models import Seq2Seq
from translate.search.beam import beam_search
from translate.search.hypothesis import Hypothesis, Request
from translate.search.progress import Reader
from translate.search.sampling import sample
from translate.text.tokenizer import EOS

MAX_BATCH_PIECES = 8192  # of padded sources: bounds the memory of batches of long ones


def length_batches(
    lengths: Sequence[int], batch_size: int, max_pieces: int = MAX_BATCH_PIECES
) -> Iterator[list[int]]:
    """Places of sources of like lengths: at most ``batch_size``, at most ``max_pieces`` with their padding.

    Empty ones are left out.
    """
    batch: list[int] = []
    for place in sorted((i for i, length in enumerate(lengths) if length), key=lambda i: lengths[i]):
        if batch and (len(batch) == batch_size or (len(batch) + 1) * lengths[place] > max_pieces):
            yield batch
            batch = []
        batch.append(place)
    if batch:
        yield batch


def read_sources(models: Sequence[Seq2Seq], sources: Sequence[Sequence[Sequence[int]]]) -> list[Reader]:
    """A batch of sentences, padded and encoded.

    Args:
        models: one or an ensemble, in evaluation mode, on one device.
        sources: for each model, ids of each sentence without the end of sentence.
    """
    readers = []
    for model, sentences in zip(models, sources, strict=True):
        source, mask = pad([[*ids, EOS] for ids in sentences])
        device = model.output_weight.device
        source, mask = source.to(device), None if mask is None else mask.to(device)
        readers.append(Reader(model, source, mask, model.encode(source, mask)))
    return readers


def decode(
    readers: Sequence[Reader],
    config: SearchConfig,
    requests: Sequence[Request],
    num_samples: int,
    *,
    layer: int | None = None,
) -> list[list[Hypothesis]]:
    """Hypotheses of a batch of sentences: sampled ones in the order of their draw, others best first.

    Args:
        readers: of one model or an ensemble.
        config: see :class:`SearchConfig`.
        requests: one a sentence.
        num_samples: where the configuration says to sample.
        layer: as :func:`beam_search`; samples have no attention with them.
    """
    (model, source, mask, encoded), *others = readers
    if config.sample:
        return sample(
            model, source, mask, config, num_samples, requests=requests, others=others, encoded=encoded
        )
    return beam_search(
        model, source, mask, config, requests=requests, others=others, encoded=encoded, layer=layer
    )
