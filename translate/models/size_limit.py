"""No model larger than the weights that are to fill it: a stranger may have written its configuration."""

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from translate.errors import UserError

# Functions that make a tensor of a size that a configuration sets, before anything is written into it.
_FACTORIES = {torch.empty, torch.zeros, torch.ones, torch.full, torch.rand, torch.randn}
_SLACK = 1 << 20  # numbers of tables that are computed and not stored
_TIMES = 3  # some parameters are made and then replaced by shared ones


class SizeLimit(TorchFunctionMode):
    """Inside this context (of this thread), tensors may be made for a model of ``shapes``, but no more.

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
    return math.prod(max(0, each) for each in size if isinstance(each, int))
