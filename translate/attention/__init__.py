"""Attention mechanisms under one contract: :class:`Attention`, found by name."""

from translate.attention.mechanisms import (
    Additive,
    Attention,
    Concat,
    Dot,
    General,
    Memory,
    MultiHead,
    ScaledDot,
)

_MECHANISMS: dict[str, type[Attention]] = {
    "additive": Additive,
    "dot": Dot,
    "general": General,
    "concat": Concat,
    "scaled_dot": ScaledDot,
    "multi_head": MultiHead,
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
    "Additive",
    "Attention",
    "Concat",
    "Dot",
    "General",
    "Memory",
    "MultiHead",
    "ScaledDot",
    "create",
    "names",
]
