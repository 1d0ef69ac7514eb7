"""The options of a class, read from its source text, so that a wrong one is told before torch is imported.

Only plain constructors are understood. The options of any other class are unknown here, and are checked
when it is imported.
"""

import ast
import functools
import importlib
from collections.abc import Iterator
from importlib.util import find_spec
from inspect import Parameter
from pathlib import Path
from typing import Any, NamedTuple

ROOTS = ("translate", "torch")
DECORATORS = ("flat_options", "from_file")  # that leave a constructor its options
# Modules whose names annotations may use, and which need no torch.
LIGHT = ("translate.config.option_groups", "typing", "collections.abc", "pathlib")
BUILTINS = {each.__name__: each for each in (int, float, str, bool, list, tuple, dict, set)}
GROUP = "option_group"
GIVEN = object()  # stands for any default


class Module(NamedTuple):
    """The classes at the top of a module's text, and the module and the name of what it imports."""

    classes: dict[str, ast.ClassDef]
    imported: dict[str, tuple[str, str]]


class UnknownError(Exception):
    """The text does not tell the options."""


def options_in_source(target: str) -> dict[str, Parameter] | None:
    """The options of a class with their annotations, as :func:`flat_parameters` has them.

    An annotation that needs torch is ``Any``; a default is only known to be there.

    Args:
        target: of this package or torch, such as ``translate.models.Transformer``.

    Returns:
        The options by their names; ``None`` if the text does not tell them.
    """
    module, _, name = target.rpartition(".")
    if target.split(".")[0] not in ROOTS or not module:
        return None
    try:
        where, found = _class(module, name)
        where, constructor = _constructor(where, found)
        return {each.name: each for each in _parameters(where, constructor)}
    except (UnknownError, RecursionError, SyntaxError, OSError, ValueError, TypeError, AttributeError):
        return None


@functools.cache
def _module(name: str) -> Module:
    root, *parts = name.split(".")
    spec = find_spec(root)
    if spec is None or spec.origin is None or not all(part.isidentifier() for part in parts):
        raise UnknownError
    path = Path(spec.origin).parent.joinpath(*parts)
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    if not file.is_file():
        raise UnknownError
    classes: dict[str, ast.ClassDef] = {}
    imported: dict[str, tuple[str, str]] = {}
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef):
            classes[node.name] = node
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            imported.update({each.asname or each.name: (node.module, each.name) for each in node.names})
    return Module(classes, imported)


def _class(module: str, name: str) -> tuple[str, ast.ClassDef]:
    """A class that a module defines, or imports by its name; the module that defines it comes first."""
    known = _module(module)
    if name in known.classes:
        return module, known.classes[name]
    if name in known.imported and known.imported[name][0].split(".")[0] in ROOTS:
        return _class(*known.imported[name])
    raise UnknownError


def _constructor(module: str, found: ast.ClassDef) -> tuple[str, ast.FunctionDef]:
    """The constructor of a class, its own or that of its first base, and the module of its text."""
    for node in found.body:
        if isinstance(node, ast.FunctionDef) and node.name == "__init__":
            return module, node
        if isinstance(node, ast.FunctionDef) and node.name == "__new__":
            raise UnknownError
    if not found.bases or found.keywords or not isinstance(found.bases[0], ast.Name):
        raise UnknownError
    return _constructor(*_class(module, found.bases[0].id))


def _parameters(module: str, constructor: ast.FunctionDef) -> Iterator[Parameter]:
    for decorator in constructor.decorator_list:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        if not isinstance(called, ast.Name) or called.id not in DECORATORS:
            raise UnknownError
    given, kinds = constructor.args, Parameter
    positional = [*given.posonlyargs, *given.args]
    without = len(positional) - len(given.defaults)
    for index, each in enumerate(positional):
        if index:  # self
            kind = kinds.POSITIONAL_OR_KEYWORD if each in given.args else kinds.POSITIONAL_ONLY
            yield from _flat(module, each, kind, has_default=index >= without)
    if given.vararg is not None:
        yield Parameter(given.vararg.arg, kinds.VAR_POSITIONAL)
    for each, default in zip(given.kwonlyargs, given.kw_defaults, strict=True):
        yield from _flat(module, each, kinds.KEYWORD_ONLY, has_default=default is not None)
    if given.kwarg is not None:
        yield Parameter(given.kwarg.arg, kinds.VAR_KEYWORD)


def _flat(module: str, given: ast.arg, kind: Any, *, has_default: bool) -> Iterator[Parameter]:
    """The parameter, or the options of its group."""
    group = _group(module, given.annotation)
    if group is None:
        default = GIVEN if has_default else Parameter.empty
        yield Parameter(given.arg, kind, default=default, annotation=_evaluated(module, given.annotation))
        return
    where, fields = group
    for field in fields.body:
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            annotation = _evaluated(where, field.annotation)
            yield Parameter(field.target.id, Parameter.KEYWORD_ONLY, default=GIVEN, annotation=annotation)


def _group(module: str, annotation: ast.expr | None) -> tuple[str, ast.ClassDef] | None:
    """The option group that an annotation names, if it does."""
    if not isinstance(annotation, ast.Name):
        return None
    try:
        where, found = _class(module, annotation.id)
    except UnknownError:
        return None
    if not any(isinstance(each, ast.Name) and each.id == GROUP for each in found.decorator_list):
        return None
    if found.bases:
        raise UnknownError
    return where, found


def _evaluated(module: str, annotation: ast.expr | None) -> Any:
    """What an annotation says, if it is made of Python's own types and those of ``LIGHT``; else ``Any``."""
    if annotation is None:
        return Any
    plain = (ast.Subscript, ast.BinOp, ast.BitOr, ast.Constant, ast.Tuple, ast.List, ast.Load)
    names: dict[str, Any] = {}
    for node in ast.walk(annotation):
        if isinstance(node, ast.Name):
            source, name = _module(module).imported.get(node.id, ("builtins", node.id))
            if source in LIGHT:
                names[node.id] = getattr(importlib.import_module(source), name)
            elif source == "builtins" and name in BUILTINS:
                names[node.id] = BUILTINS[name]
            else:
                return Any
        elif not isinstance(node, plain):
            return Any
    return eval(compile(ast.Expression(annotation), module, "eval"), {"__builtins__": {}}, names)
