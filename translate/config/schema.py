"""Values of a configuration, checked against the type annotations that want them."""

import math
import types
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from omegaconf import OmegaConf
from omegaconf.errors import InterpolationToMissingValueError, MissingMandatoryValue, OmegaConfBaseException

from translate.config.names import did_you_mean, nearest
from translate.errors import UserError

T = TypeVar("T")

_SEQUENCES = (list, tuple, set, frozenset, Sequence, Iterable, Collection)
_NAMES: dict[Any, str] = {
    bool: "true or false",
    int: "an integer",
    float: "a number",
    str: "text",
    Path: "a path",
    type(None): "null",
}


def plain(node: Any, path: str = "") -> Any:
    """``node`` as plain dicts, lists and scalars, with every interpolation resolved.

    Raises:
        UserError: for an interpolation of a key that does not exist, or a value that is still to be given.
    """
    if not OmegaConf.is_config(node):
        return node
    try:
        return OmegaConf.to_container(node, resolve=True, throw_on_missing=True)
    except OmegaConfBaseException as error:
        where = error.full_key or path
        if isinstance(error, MissingMandatoryValue | InterpolationToMissingValueError):
            raise UserError(f"{where}: a value is required (it is ??? so far)") from error
        reason = str(error).splitlines()[0]
        raise UserError(f"{where}: {reason[:1].lower()}{reason[1:]}") from error


def to_schema(values: Mapping[str, Any], schema: type[T], path: str) -> T:
    """Build the dataclass ``schema`` from a section of the configuration.

    A field's ``metadata`` may limit it: ``minimum`` and ``maximum`` are allowed values, ``above`` is not.
    A ``ValueError`` of ``__post_init__`` becomes a :class:`UserError` with the path.

    Args:
        values: the section; a dict or an OmegaConf node.
        schema: a dataclass; nested dataclasses, unions, ``Literal``, lists, dicts and scalars are checked.
        path: what the section is called in messages, for example ``training``.

    Raises:
        UserError: for an unknown key, a missing one, or a value of a wrong type.
    """
    values = plain(values, path)
    if not isinstance(values, Mapping):
        raise UserError(f"{path}: expected a section of keys and values, got {show(values)}")
    hints = get_type_hints(schema)
    known = {field.name: field for field in fields(schema) if field.init}  # type: ignore[arg-type]
    for key in values:
        if key not in known:
            near = nearest(key, known)
            raise UserError(f"{path}.{key}: unknown key" + did_you_mean(near and f"{path}.{near}"))
    arguments = {key: convert(value, hints[key], f"{path}.{key}") for key, value in values.items()}
    for name, field in known.items():
        if name in arguments:
            _check_range(arguments[name], field, f"{path}.{name}")
        elif field.default is MISSING and field.default_factory is MISSING:
            raise UserError(f"{path}.{name}: a value is required")
    try:
        return schema(**arguments)
    except UserError:
        raise
    except (ValueError, TypeError) as error:
        raise UserError(join_message(path, str(error), known)) from error


def has_field(schema: type, parts: Sequence[str]) -> bool:
    """Whether the dataclass ``schema`` has the nested field that ``parts`` name."""
    if not parts:
        return True
    annotation = get_type_hints(schema).get(parts[0])
    if annotation is None:
        return False
    members = _members(annotation)
    if any(get_origin(member) is dict or member is dict for member in members):
        return True
    nested = [member for member in members if isinstance(member, type) and is_dataclass(member)]
    return len(parts) == 1 or any(has_field(member, parts[1:]) for member in nested)


def convert(value: Any, annotation: Any, path: str) -> Any:
    """``value`` as ``annotation`` wants it (an integer may stand for a float, ``1e3`` for 1000).

    Raises:
        UserError: ``<path>: expected ..., got ...``. An annotation that is not understood accepts everything.
    """
    origin = get_origin(annotation)
    if origin is Union or origin is types.UnionType:
        return _convert_union(value, annotation, path)
    if origin is Literal:
        return _convert_choice(value, get_args(annotation), path)
    if is_dataclass(annotation) and isinstance(annotation, type):
        return value if isinstance(value, annotation) else to_schema(value, annotation, path)
    if (origin or annotation) in _SEQUENCES:
        return _convert_list(value, annotation, path)
    if (origin or annotation) in (dict, Mapping):
        if not isinstance(value, Mapping):
            raise UserError(f"{path}: expected a section of keys and values, got {show(value)}")
        _, item = get_args(annotation) or (Any, Any)
        return {key: convert(each, item, f"{path}.{key}") for key, each in value.items()}
    return _convert_scalar(value, annotation, path) if annotation in _NAMES else value


def understood(annotation: Any) -> Any:
    """The part of an annotation that a YAML scalar or list can satisfy; ``Any`` if there is none.

    Of ``float | Tensor`` this is ``float``: a file cannot hold a tensor.
    """
    kinds = (Literal, *_SEQUENCES, dict)
    members = [each for each in _members(annotation) if each in _NAMES or (get_origin(each) or each) in kinds]
    if not members or Any in _members(annotation) or members == [type(None)]:
        return Any
    return Union[tuple(members)]  # noqa: UP007 (the members are known at run time only)


def show(value: Any) -> str:
    """A value as YAML would write it, roughly."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return repr(value)


def join_message(path: str, message: str, names: Iterable[str]) -> str:
    """``path.name: ...`` if the message begins with one of ``names``, else ``path: message``."""
    name, colon, rest = message.partition(":")
    return f"{path}.{name}:{rest}" if colon and name in names else f"{path}: {message}"


def _members(annotation: Any) -> list[Any]:
    union = get_origin(annotation) in (Union, types.UnionType)
    return list(get_args(annotation)) if union else [annotation]


def _convert_union(value: Any, annotation: Any, path: str) -> Any:
    members = sorted(_members(annotation), key=lambda each: type(value) is not each)  # 3 stays an integer
    refusals = []
    for member in members:
        try:
            return convert(value, member, path)
        except UserError as error:
            refusals.append(error)
    others = [(member, refusal) for member, refusal in zip(members, refusals) if member is not type(None)]
    if len(others) == 1:
        member, refusal = others[0]
        if member in _NAMES:
            wanted = "true, false" if member is bool else _NAMES[member]
            raise UserError(f"{path}: expected {wanted} or null, got {show(value)}")
        raise refusal
    names = " or ".join(_NAMES.get(member, getattr(member, "__name__", str(member))) for member in members)
    raise UserError(f"{path}: expected {names}, got {show(value)}")


def _convert_choice(value: Any, choices: tuple[Any, ...], path: str) -> Any:
    for choice in choices:
        if value == choice and type(value) is type(choice):
            return value
    near = nearest(value, choices) if isinstance(value, str) else None
    listed = ", ".join(str(choice) for choice in choices)
    raise UserError(f"{path}: expected one of {listed}, got {show(value)}" + did_you_mean(near))


def _convert_list(value: Any, annotation: Any, path: str) -> Any:
    if not isinstance(value, list | tuple):
        hint = f"; write [{value}]" if isinstance(value, str | int | float) else ""
        raise UserError(f"{path}: expected a list, got {show(value)}{hint}")
    origin, items = get_origin(annotation) or annotation, get_args(annotation)
    if origin is tuple and items and items[-1] is not Ellipsis:
        if len(value) != len(items):
            raise UserError(f"{path}: expected {len(items)} values, got {len(value)}: {list(value)}")
    else:
        items = (items[0] if items else Any,) * len(value)
    converted = [convert(each, item, f"{path}[{i}]") for i, (each, item) in enumerate(zip(value, items))]
    return origin(converted) if origin in (tuple, set, frozenset) else converted


def _convert_scalar(value: Any, annotation: Any, path: str) -> Any:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if annotation is int and number and float(value).is_integer():
        return int(value)
    if annotation is float and number and not math.isnan(value):
        return float(value)
    if annotation is str and isinstance(value, int) and number:
        return str(value)  # a name such as 2016, which YAML takes for a number
    if annotation is Path and isinstance(value, str | Path):
        return Path(value)
    if annotation in (bool, str, type(None)) and isinstance(value, annotation):
        return value
    raise UserError(f"{path}: expected {_NAMES[annotation]}, got {show(value)}")


def _check_range(value: Any, field: "Field[Any]", path: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return
    limits = field.metadata
    if "minimum" in limits and value < limits["minimum"]:
        raise UserError(f"{path}: expected at least {limits['minimum']}, got {value}")
    if "maximum" in limits and value > limits["maximum"]:
        raise UserError(f"{path}: expected at most {limits['maximum']}, got {value}")
    if "above" in limits and value <= limits["above"]:
        raise UserError(f"{path}: expected more than {limits['above']}, got {value}")
