"""Search over the ``start``/``step`` contract; no backend is known by name. The loop is in ``beam.py``."""

from translate.search.beam import Beam, beam_search, search
from translate.search.hypothesis import Finished, Hypothesis, Request
from translate.search.readers import Reader, SentenceGroup, length_batches, read_sources
from translate.search.recording import Record
from translate.search.requests import read_requests
from translate.search.risk import expected_chrf
from translate.search.sampling import Draw, sample
from translate.search.workers import Supply, share_out

__all__ = [
    "Beam",
    "Draw",
    "Finished",
    "Hypothesis",
    "Reader",
    "Record",
    "Request",
    "SentenceGroup",
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
