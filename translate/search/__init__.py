"""Search over the ``start``/``step`` contract; no backend is known by name."""

from translate.search.beam import beam_search
from translate.search.decoding import decode, length_batches, read_sources
from translate.search.hypothesis import Hypothesis, Request
from translate.search.progress import Reader
from translate.search.requests import read_requests
from translate.search.risk import expected_chrf
from translate.search.sampling import sample
from translate.search.turns import Found, beam_searches
from translate.search.workers import Supply, share_out

__all__ = [
    "Found",
    "Hypothesis",
    "Reader",
    "Request",
    "Supply",
    "beam_search",
    "beam_searches",
    "decode",
    "expected_chrf",
    "length_batches",
    "read_requests",
    "read_sources",
    "sample",
    "share_out",
]
