"""Search over the ``start``/``step`` contract; no backend is known by name."""

from translate.search.beam import beam_search
from translate.search.hypothesis import Hypothesis, SearchConfig

__all__ = ["Hypothesis", "SearchConfig", "beam_search"]
