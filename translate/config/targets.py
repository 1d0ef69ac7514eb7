"""``_target_`` nodes: the classes that they may name, and their options, checked before anything is built."""

import functools
import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from translate.config.declare import convert, plain
from translate.config.messages import LARGEST, beyond, join_message, show
from translate.config.names import did_you_mean, nearest, shorten
from translate.config.option_groups import flat_parameters
from translate.errors import UserError

PACKAGE = "translate"
TORCH = ("torch.optim", "torch.nn")
# Where the open families of this package are; its other classes read and write files.
FAMILIES = (
    "translate.attention",
    "translate.models",
    "translate.training.optimizer",
    "translate.training.schedules",
)
LABELLED = "model"  # the one node whose `name` is a label and no option

# What constructors raise for values they refuse; torch raises RuntimeError for a negative size.
REFUSALS = (ValueError, TypeError, RuntimeError, ArithmeticError, AssertionError, MemoryError)


class Call(NamedTuple):
    """A checked node: what will be called, and with which options."""

    target: Callable[..., Any]
    options: dict[str, Any]
    partial: bool


def resolve_target(name: Any, plugins: Sequence[str] = (), path: str = "_target_") -> Callable[..., Any]:
    """The class that ``name`` names: of this package, of torch.optim or torch.nn, or of a plugin module.

    A plugin may offer a function as well. Nothing else is imported, and what a module merely imported
    from elsewhere cannot be reached through it.

    Raises:
        UserError: if it may not be named, or does not exist.
    """
    roots = (*plugins, PACKAGE, *TORCH)
    root = next((root for root in roots if str(name).startswith(f"{root}.")), None)
    if not isinstance(name, str) or root is None:
        raise UserError(
            f"{path}: {show(name)} may not be named here; a target is a class of {PACKAGE}, "
            f"{', '.join(TORCH)}, or of a module listed in run.plugins"
        )
    found: Any = import_plugin(root) if root in plugins else importlib.import_module(root)
    reached = root
    for part in name[len(root) + 1 :].split("."):
        found = _child(found, part, reached, path)
        reached = f"{reached}.{part}"
    suits = isinstance(found, type) or (root in plugins and callable(found))
    defined = getattr(found, "__module__", None) or ""
    homes = (*plugins, *FAMILIES, *TORCH)
    if not suits or not any(f"{defined}.".startswith(f"{home}.") for home in homes):
        raise UserError(f"{path}: {shorten(name)} is not a class of {root}")
    return found


def check_target(
    node: Mapping[str, Any], path: str, plugins: Sequence[str] = (), provided: Collection[str] = ()
) -> None:
    """Check a node and those nested in it, and build nothing.

    Args:
        node: with ``_target_``, perhaps ``_partial_``, and options.
        path: the name of the node in messages.
        plugins: ``run.plugins``.
        provided: names of the arguments that the program itself will give. The arguments that a
            ``_partial_`` node still lacks are not checked: the caller gives them.

    Raises:
        UserError: for a target that may not be named, an unknown or missing option, or a wrong type.
    """
    for key, value in _bind(node, path, plugins, provided).options.items():
        nested = {f"{path}.{key}": value}
        if isinstance(value, list):
            nested = {f"{path}.{key}[{index}]": item for index, item in enumerate(value)}
        for where, inner in nested.items():
            if _is_target(inner):
                check_target(inner, where, plugins)


def instantiate(node: Mapping[str, Any], path: str, plugins: Sequence[str], **kwargs: Any) -> Any:
    """Build what ``node`` describes, nested nodes first; ``kwargs`` go beside its options.

    A ``_partial_: true`` node gives a callable that takes the remaining arguments; what the constructor
    refuses then is a ``UserError`` with the path as well.

    Raises:
        UserError: as :func:`check_target`, or when the constructor refuses a value.
    """
    call = _bind(node, path, plugins, kwargs)
    options = {key: _build(value, f"{path}.{key}", plugins) for key, value in call.options.items()}
    construct = functools.partial(_construct, call.target, path, options, **kwargs)
    return construct if call.partial else construct()


def _construct(
    target: Callable[..., Any], path: str, options: dict[str, Any], *args: Any, **kwargs: Any
) -> Any:
    """Call a target; its refusal becomes a ``UserError`` with the path of the node."""
    try:
        return target(*args, **kwargs, **options)
    except UserError:
        raise
    except REFUSALS as error:
        message = str(error).strip().split("\n")[0] or type(error).__name__
        raise UserError(join_message(path, shorten(message, 200), options_of(target))) from error


def options_of(target: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """The options of a target by name; a default of ``inspect.Parameter.empty`` is none."""
    try:
        return flat_parameters(target)
    except (ValueError, TypeError):  # written in C, without a signature
        return {"kwargs": inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD)}


def _is_target(value: Any) -> bool:
    return isinstance(value, Mapping) and "_target_" in value


def import_plugin(name: str) -> ModuleType:
    """Import a module that the user named, also from the working directory. Raises ``UserError``."""
    # The console script, unlike ``python -m``, does not search the working directory.
    if str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))
    try:
        if importlib.util.find_spec(name) is not None:
            return importlib.import_module(name)
    except (ModuleNotFoundError, ValueError) as error:  # ValueError: of a malformed name
        if isinstance(error, ModuleNotFoundError) and not f"{name}.".startswith(f"{error.name}."):
            raise UserError(f"plugin {shorten(name)}: its module {error.name} is not installed") from error
    raise UserError(
        f"plugin {shorten(name)}: there is no such module; expected its name, without .py, in the working "
        "directory or on PYTHONPATH"
    )


def _child(found: Any, part: str, reached: str, path: str) -> Any:
    if isinstance(found, ModuleType) and not hasattr(found, part):
        try:
            return importlib.import_module(f"{reached}.{part}")
        except ModuleNotFoundError as error:
            if error.name is None or not f"{reached}.{part}".startswith(error.name):
                raise
    if not hasattr(found, part):
        names = [name for name in dir(found) if not name.startswith("_")]
        hint = did_you_mean(nearest(part, names), reached)
        raise UserError(f"{path}: there is no {shorten(part)} in {shorten(reached)}{hint}")
    return getattr(found, part)


def _bind(node: Mapping[str, Any], path: str, plugins: Sequence[str], provided: Collection[str]) -> Call:
    """The target of a node and its options as their annotations want them."""
    values = plain(node, path)
    if not _is_target(values):
        raise UserError(f"{path}: expected a section with _target_, got {show(values)}")
    target = resolve_target(values["_target_"], plugins, f"{path}._target_")
    parameters = options_of(target)
    options = {key: value for key, value in values.items() if key not in ("_target_", "_partial_")}
    if path == LABELLED and "name" not in parameters:
        options.pop("name", None)
    partial = convert(values.get("_partial_", False), bool, f"{path}._partial_")
    _check_names(options, parameters, path, values["_target_"], provided, partial=partial)
    is_ours = target.__module__.split(".")[0] in (PACKAGE, "torch")  # of a plugin, the user knows the limits
    for key, value in options.items():
        if isinstance(value, Mapping) and is_ours and not _is_target(value):
            hint = did_you_mean(nearest(f"{key}_{next(iter(value), '')}", parameters), path)
            raise UserError(f"{path}.{key}: expected a section with _target_, got {show(value)}{hint}")
        if not _is_target(value):
            annotation = parameters[key].annotation if key in parameters else Any
            options[key] = convert(value, annotation, f"{path}.{key}")
            if is_ours:
                _check_numbers(options[key], f"{path}.{key}")
    return Call(target, options, partial)


def _check_numbers(value: Any, path: str) -> None:
    """Raise ``UserError`` for a number that no honest configuration has."""
    for number in value if isinstance(value, list | tuple) else (value,):
        if isinstance(number, int | float) and not abs(number) <= LARGEST:
            raise UserError(f"{path}: {beyond(number)}")


def _check_names(
    options: Mapping[str, Any],
    parameters: Mapping[str, inspect.Parameter],
    path: str,
    name: str,
    provided: Collection[str],
    *,
    partial: bool,
) -> None:
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    named = {key: parameter for key, parameter in parameters.items() if parameter.kind not in variadic}
    is_open = any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters.values())
    for key, value in options.items():
        if key in provided and not _is_target(value):
            raise UserError(f"{path}.{key}: this is given by the program and cannot be set")
        if key not in named and not is_open:
            hint = did_you_mean(nearest(key, set(named) - set(provided)), path)
            raise UserError(f"{path}.{shorten(str(key))}: unknown option of {name}{hint}")
    for key in provided:
        if key not in named and not is_open:
            raise UserError(f"{path}._target_: {name} takes no {key}, so it cannot stand here")
    for key, parameter in named.items():
        given = key in options or key in provided or partial
        if parameter.default is inspect.Parameter.empty and not given:
            raise UserError(f"{path}.{key}: a value is required by {name}")


def _build(value: Any, path: str, plugins: Sequence[str]) -> Any:
    if _is_target(value):
        return instantiate(value, path, plugins)
    if isinstance(value, list):
        return [_build(item, f"{path}[{i}]", plugins) for i, item in enumerate(value)]
    return value
