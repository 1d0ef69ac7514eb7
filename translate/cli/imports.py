"""Importing torch for a command, and leaving for later what only its compilers and exporters need."""

import gc
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

# What operators written in C++ return for tensors without numbers: a quarter of `import torch`. Nothing that
# computes asks for it. Compilers and exporters do, and begin by importing one of the others.
LATER = "torch._meta_registrations"
NEEDED_BY = ("torch._dynamo", "torch._inductor", "torch.onnx")


class _Waiting(ModuleType):
    """A module that is executed when one of its names is asked for."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # the import system and `inspect` ask every module for these
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        _execute(self)
        return getattr(self, name)


class _Postponed(Loader):
    """Loads a module without executing it.

    Args:
        loader: that will.
    """

    def __init__(self, loader: Loader) -> None:
        self.loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Waiting(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        pass


def _execute(module: ModuleType) -> None:
    if isinstance(module, _Waiting):
        module.__class__ = ModuleType  # type: ignore[assignment]
        loader = module.__loader__
        assert isinstance(loader, _Postponed)
        loader.loader.exec_module(module)


class _Finder(MetaPathFinder):
    """Postpones :data:`LATER`, until one of :data:`NEEDED_BY` is imported."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname == LATER:
            spec = PathFinder.find_spec(fullname, path)
            if spec is not None and spec.loader is not None:
                spec.loader = _Postponed(spec.loader)
            return spec
        if fullname in NEEDED_BY and LATER in sys.modules:
            sys.meta_path.remove(self)
            _execute(sys.modules[LATER])
        return None


@contextmanager
def importing(module: str, *, whole: bool = False) -> Iterator[None]:
    """No garbage collection while a command first imports ``module``, and torch with it.

    Their objects stay to the end, but collections would visit them again and again. Frozen, they are not
    visited later either, nor when the process ends: together a quarter of the import's time.

    Args:
        module: that is imported inside the context.
        whole: import all of torch at once, for a stranger's code.
    """
    if module in sys.modules or not gc.isenabled():
        yield
        return
    if "torch" not in sys.modules and not whole:
        sys.meta_path.insert(0, _Finder())
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
