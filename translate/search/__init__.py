"""Finds translations: one search loop over the ``start``/``step`` contract of every model."""

from translate.search.beam import Beam, Finished, Hypothesis
from translate.search.decoders import Record
from translate.search.running import RunningBatch
from translate.search.sampling import Draw, expected_chrf
from translate.search.search_loop import MAX_WORKERS, Supply, search, share_out
from translate.search.sources import (
    Previous,
    Request,
    SentenceGroup,
    SentenceReader,
    length_batches,
    most_sentences,
    read_requests,
    read_sources,
)

__all__ = [
    "MAX_WORKERS",
    "Beam",
    "Draw",
    "Finished",
    "Hypothesis",
    "Previous",
    "Record",
    "Request",
    "RunningBatch",
    "SentenceGroup",
    "SentenceReader",
    "Supply",
    "expected_chrf",
    "length_batches",
    "most_sentences",
    "read_requests",
    "read_sources",
    "search",
    "share_out",
]
