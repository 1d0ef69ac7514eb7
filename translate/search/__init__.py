"""Search over the ``start``/``step`` contract; no backend is known by name."""

from translate.search.beam import beam_search
from translate.search.hypothesis import Hypothesis, Request, SearchConfig
from translate.search.progress import Reader

__all__ = ["Hypothesis", "Reader", "Request", "SearchConfig", "beam_search"]
