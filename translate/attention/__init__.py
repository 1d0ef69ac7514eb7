"""Attention mechanisms under one contract: :class:`Attention`, found by name.

A new mechanism is a class with ``@register("NAME")`` in a file of this package, and
``conf/model/attention/NAME.yaml``, whose ``_target_`` is ``translate.attention.FILE.CLASS``.
"""

from translate.attention.additive import Additive, Concat, Coverage, Hierarchical, TwoSources
from translate.attention.contract import Attention, create, mechanisms, names, register
from translate.attention.distance import ALiBi, LocalM, LocalP, RelativeBias, SlidingWindow
from translate.attention.dot_product import Dot, General, GroupedQuery, MultiHead, ScaledDot, SelfDot, SelfQKV
from translate.attention.linear import Delta, Linear
from translate.attention.memory import Memory
from translate.attention.path_cache import LayerCache, PathCache
from translate.attention.positional import (
    FactorizedPositional,
    FixedVector,
    FullyConnected,
    Location,
    Positional,
)

__all__ = [
    "ALiBi",
    "Additive",
    "Attention",
    "Concat",
    "Coverage",
    "Delta",
    "Dot",
    "FactorizedPositional",
    "FixedVector",
    "FullyConnected",
    "General",
    "GroupedQuery",
    "Hierarchical",
    "LayerCache",
    "Linear",
    "LocalM",
    "LocalP",
    "Location",
    "Memory",
    "MultiHead",
    "PathCache",
    "Positional",
    "RelativeBias",
    "ScaledDot",
    "SelfDot",
    "SelfQKV",
    "SlidingWindow",
    "TwoSources",
    "create",
    "mechanisms",
    "names",
    "register",
]
