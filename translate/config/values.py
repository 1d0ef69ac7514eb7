"""Values of a configuration, checked by pydantic against type annotations; every refusal is one sentence."""

import functools
import math
import types
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import is_dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from pydantic import BeforeValidator, TypeAdapter, ValidationError

from translate.config.messages import explain
from translate.config.names import shorten
from translate.errors import UserError

T = TypeVar("T")

_LISTS: dict[Any, Any] = {Sequence: list, Iterable: list, Collection: list}
_CONTAINERS = (list, tuple, set, frozenset, dict)


def plain(node: Any, path: str = "") -> Any:
    """``node`` as plain dicts, lists and scalars, with every interpolation resolved.

    Raises:
        UserError: for an interpolation of a key that does not exist, or a required value that is missing.
    """
    if node is None or isinstance(node, dict | list | str | int | float):
        return node  # as a run's stored configuration is: loading one does not wait for OmegaConf
    from omegaconf import OmegaConf
    from omegaconf.errors import (
        InterpolationToMissingValueError,
        MissingMandatoryValue,
        OmegaConfBaseException,
    )

    if not OmegaConf.is_config(node):
        return node
    try:
        return OmegaConf.to_container(node, resolve=True, throw_on_missing=True)
    except OmegaConfBaseException as error:
        where = shorten(str(error.full_key or path))
        if isinstance(error, MissingMandatoryValue | InterpolationToMissingValueError):
            raise UserError(f"{where}: a value is required (the file has ???)") from error
        reason = shorten(str(error).splitlines()[0])
        raise UserError(f"{where}: {reason[:1].lower()}{reason[1:]}") from error


def to_section(values: Mapping[str, Any], section: type[T], path: str) -> T:
    """Build the dataclass ``section`` from a section of the configuration.

    Args:
        values: a dict or an OmegaConf node.
        section: a dataclass made by :func:`translate.config.declare.declared`.
        path: what the section is called in messages, for example ``training``.

    Raises:
        UserError: for an unknown key, a missing one, or a value that the section refuses.
    """
    checked: T = _checked(plain(values, path), section, path)
    return checked


def convert(value: Any, annotation: Any, path: str) -> Any:
    """``value`` as ``annotation`` wants it (an integer may stand for a float, ``1e3`` for 1000).

    Raises:
        UserError: ``<path>: expected ..., got ...``. An annotation that is not understood accepts everything.
    """
    return _checked(value, understood(annotation), path)


def understood(annotation: Any) -> Any:
    """``annotation`` for pydantic, with our rules for scalars; ``Any`` for what a YAML file cannot hold.

    Of ``float | Tensor`` this is ``float``: a file cannot hold a tensor.
    """
    origin, items = get_origin(annotation), get_args(annotation)
    if annotation in _READERS:
        return Annotated[annotation, BeforeValidator(_READERS[annotation])]
    if origin is Annotated:
        return Annotated[understood(items[0]), *items[1:]]
    if origin is Literal:
        return Annotated[annotation, BeforeValidator(functools.partial(_choice, items))]
    if origin in (Union, types.UnionType):
        members = [understood(member) for member in items]
        known = [member for member in members if member is not Any]
        return Any if Any in items or known in ([], [type(None)]) else Union[tuple(known)]  # noqa: UP007
    kind = _LISTS.get(
        origin or annotation, dict if (origin or annotation) is Mapping else origin or annotation
    )
    if kind in _CONTAINERS:
        return kind[tuple(item if item is ... else understood(item) for item in items)] if items else kind
    is_section = isinstance(annotation, type) and is_dataclass(annotation)
    return annotation if is_section or annotation is type(None) else Any


def has_field(section: type, parts: Sequence[str]) -> bool:
    """Whether the dataclass ``section`` has the nested field that ``parts`` name."""
    if not parts:
        return True
    annotation: Any = get_type_hints(section).get(parts[0])
    if annotation is None or len(parts) == 1:
        return annotation is not None
    if get_origin(annotation) is dict:
        return True
    return isinstance(annotation, type) and is_dataclass(annotation) and has_field(annotation, parts[1:])


def _checked(value: Any, annotation: Any, path: str) -> Any:
    try:
        return _adapter(annotation).validate_python(value)
    except ValidationError as error:
        raise UserError(explain(error, annotation, path, value)) from error


def _adapter(annotation: Any) -> TypeAdapter[Any]:
    try:
        return _cached_adapter(annotation)
    except TypeError:  # an annotation that cannot be hashed
        return TypeAdapter(annotation)


@functools.cache
def _cached_adapter(annotation: Any) -> TypeAdapter[Any]:
    return TypeAdapter(annotation)


def _integer(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value // 1:
        raise ValueError
    return int(value)


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
        raise ValueError
    try:
        return float(value)
    except OverflowError as error:  # an integer of more than 308 digits
        raise ValueError from error


def _text(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise ValueError
    return str(value)  # a name such as 2016, which YAML takes for a number


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError
    return value


def _path(value: Any) -> Path:
    if not isinstance(value, str | Path):
        raise ValueError
    return Path(value)


def _choice(choices: tuple[Any, ...], value: Any) -> Any:
    if not any(value == choice and type(value) is type(choice) for choice in choices):
        raise ValueError
    return value


_READERS: dict[Any, Callable[[Any], Any]] = {
    int: _integer,
    float: _number,
    str: _text,
    bool: _flag,
    Path: _path,
}
