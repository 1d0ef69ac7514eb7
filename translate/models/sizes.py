"""Checks of sizes: a mechanism fits the widths of its model, and a model the weights that are to fill it."""

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, TypeVar

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from translate.attention import Attention
from translate.errors import UserError

Part = TypeVar("Part", bound=nn.Module)
FAILURES = (RuntimeError, ValueError, IndexError, TypeError)  # of torch, for shapes that do not fit


class Widths(NamedTuple):
    """The settings that make queries and source states as wide as they are.

    Attributes:
        of_queries: as a user writes them, such as ``model.width``.
        of_states: likewise.
        changeable: the setting that can make queries as wide as the source states, or ``None``.
    """

    of_queries: str
    of_states: str
    changeable: str | None = None


def mismatch(name: str, query_size: int, key_size: int, widths: Widths, failure: str = "") -> UserError:
    """The error for a mechanism called ``name`` whose two widths do not fit."""
    change = f"set {widths.changeable}={key_size}, or " if widths.changeable else ""
    return UserError(
        f"model.attention: {name} compares queries of {query_size} ({widths.of_queries}) with source states "
        f"of {key_size} ({widths.of_states}){failure and f' and fails ({failure})'}; "
        f"{change}use model/attention=general"
    )


def check_kind(part: Part, kind: type[nn.Module], setting: str) -> Part:
    """``part``, which a ``_target_`` built; raises UserError unless it is a ``kind``."""
    if not isinstance(part, kind):
        raise UserError(
            f"{setting}: expected a target that builds {kind.__module__}.{kind.__name__}, "
            f"got {type(part).__name__}"
        )
    return part


@torch.no_grad()
def check_mechanism(mechanism: Attention, widths: Widths) -> None:
    """Attend once from one query to two source states; a mechanism of a plugin may not fit them.

    Raises:
        UserError: if the mechanism fails, or its context is not ``context_size`` wide.
    """
    name, query_size, key_size = type(mechanism).__name__, mechanism.query_size, mechanism.key_size
    chosen, mechanism.kernel = mechanism.kernel, "explicit"  # others may need a GPU, or be compiled first
    try:
        memory = mechanism.prepare(torch.zeros(1, 2, key_size))
        context, _ = mechanism(torch.zeros(1, 1, query_size), memory, need_weights=True)
    except FAILURES as error:
        reason = str(error).split("\n")[0]
        raise mismatch(name, query_size, key_size, widths, reason) from error
    finally:
        mechanism.kernel = chosen
    if context.shape[-1] != mechanism.context_size:
        raise UserError(
            f"model.attention: {name} gives contexts of {context.shape[-1]}, but its context_size is "
            f"{mechanism.context_size}; set self.context_size in its constructor"
        )


# Functions that make a tensor of a size that a configuration sets, before anything is written into it.
_FACTORIES = {torch.empty, torch.zeros, torch.ones, torch.full, torch.rand, torch.randn}
_INITIALISERS = {
    *(torch.Tensor.uniform_, torch.Tensor.normal_),
    *(nn.init.uniform_, nn.init.normal_, nn.init.kaiming_uniform_),
}
_SLACK = 1 << 20  # numbers of tables that are computed and not stored
_TIMES = 3  # some parameters are made and then replaced by shared ones


class SizeLimit(TorchFunctionMode):
    """Inside this context (of this thread), tensors may be made for a model of ``shapes``, but no more.

    A stranger may have written the configuration of a model. The random numbers of its parameters are not
    drawn, since the weights replace them.

    Args:
        shapes: of the weights that will be loaded.
        where: the file that holds them, for the message.
    Raises:
        UserError: when more is asked for, before the memory is taken.
    """

    def __init__(self, shapes: Iterable[tuple[int, ...]], where: str) -> None:
        super().__init__()
        sizes = [math.prod(shape) for shape in shapes]
        self.held = sum(sizes)
        self.numbers = _TIMES * self.held + _SLACK
        self.tensors = _TIMES * len(sizes) + 1000
        self.where = where

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        if func in _FACTORIES:
            self._take(_size_of(args, kwargs or {}))
        if func in _INITIALISERS:
            tensor: Tensor = args[0] if args else (kwargs or {})["tensor"]
            if tensor.requires_grad:  # a parameter, or a part of one
                return tensor
        return func(*args, **(kwargs or {}))

    def _take(self, numbers: int) -> None:
        self.numbers -= numbers
        self.tensors -= 1
        if self.numbers < 0 or self.tensors < 0:
            raise UserError(
                f"model: asks for more than the {self.held:,} numbers that {self.where} holds; expected the "
                "configuration with which these weights were trained"
            )


def _size_of(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> int:
    size = kwargs.get("size", args)
    while len(size) == 1 and isinstance(size[0], tuple | list):
        size = size[0]
    if size and isinstance(size[0], tuple | list):  # torch.full(size, value)
        size = size[0]
    return math.prod(max(0, length) for length in size if isinstance(length, int))
