"""Attention mechanisms under one contract: :class:`Attention`, found by name."""

from translate.attention.biases import ALiBi, RelativeBias, SlidingWindow
from translate.attention.coverage import Coverage
from translate.attention.encoders import SelfDot, SelfQKV
from translate.attention.hierarchical import Hierarchical
from translate.attention.linear import Delta, Linear
from translate.attention.mechanisms import Additive, Attention, Concat, Dot, DotProduct, General
from translate.attention.memory import Memory, select_rows
from translate.attention.multi_head import GroupedQuery, MultiHead, ScaledDot
from translate.attention.path_cache import LayerCache, PathCache
from translate.attention.positional import FactorizedPositional, FullyConnected, Location, Positional
from translate.attention.windows import LocalM, LocalP

_MECHANISMS: dict[str, type[Attention]] = {
    "additive": Additive,
    "alibi": ALiBi,
    "concat": Concat,
    "coverage": Coverage,
    "delta": Delta,
    "dot": Dot,
    "factorized_positional": FactorizedPositional,
    "fully_connected": FullyConnected,
    "general": General,
    "grouped_query": GroupedQuery,
    "hierarchical": Hierarchical,
    "linear": Linear,
    "local_m": LocalM,
    "local_p": LocalP,
    "location": Location,
    "multi_head": MultiHead,
    "positional": Positional,
    "relative_bias": RelativeBias,
    "scaled_dot": ScaledDot,
    "self_dot": SelfDot,
    "self_qkv": SelfQKV,
    "sliding_window": SlidingWindow,
}


def names() -> list[str]:
    """The names that :func:`create` knows."""
    return sorted(_MECHANISMS)


def create(name: str, *, query_size: int, key_size: int, **options: object) -> Attention:
    """Build a mechanism without Hydra.

    Raises:
        ValueError: for a name or an option that does not exist, or sizes that do not fit.
    """
    if name not in _MECHANISMS:
        raise ValueError(f"no attention mechanism {name!r}; there are {', '.join(names())}")
    try:
        return _MECHANISMS[name](query_size, key_size, **options)
    except TypeError as error:
        raise ValueError(f"attention {name}: {error}") from error


__all__ = [
    "ALiBi",
    "Additive",
    "Attention",
    "Concat",
    "Coverage",
    "Delta",
    "Dot",
    "DotProduct",
    "FactorizedPositional",
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
    "create",
    "names",
    "select_rows",
]
