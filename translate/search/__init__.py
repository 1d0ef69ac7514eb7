"""One search loop over the ``start``/``step`` contract; no backend is known by name. It is in ``beam.py``."""

from translate.search.beam import Beam, beam_search, search
from translate.search.hypothesis import Finished, Hypothesis
from translate.search.recording import Record
from translate.search.risk import expected_chrf
from translate.search.sampling import Draw, sample
from translate.search.sources import (
    Previous,
    Reader,
    Request,
    SentenceGroup,
    SentenceReader,
    length_batches,
    read_requests,
    read_sources,
)
from translate.search.workers import MAX_WORKERS, Supply, share_out

__all__ = [
    "MAX_WORKERS",
    "Beam",
    "Draw",
    "Finished",
    "Hypothesis",
    "Previous",
    "Reader",
    "Record",
    "Request",
    "SentenceGroup",
    "SentenceReader",
    "Supply",
    "beam_search",
    "expected_chrf",
    "length_batches",
    "read_requests",
    "read_sources",
    "sample",
    "search",
    "share_out",
]
