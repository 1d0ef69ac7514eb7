"""Sections of the configuration: types and limits in Python, defaults and meanings in YAML files.

Pydantic checks values against the types; every refusal is one sentence.
"""

import functools
import math
import types
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import field, is_dataclass
from pathlib import Path
from typing import (
    Annotated,
    Any,
    Literal,
    TypeVar,
    Union,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
)

from annotated_types import Ge, Gt, Le, Lt
from pydantic import BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass as checked_dataclass

from translate.config.files import YAML, is_open, section_of
from translate.config.messages import LARGEST, explain
from translate.config.names import shorten
from translate.errors import UserError

T = TypeVar("T")

# The file of each declared class, and the dotted path of its keys there.
DECLARED_IN: dict[type, tuple[str, str]] = {}

# No honest number is larger; a run may come from a stranger. Sections set narrower limits where work or
# memory grows with the number.
Count = Annotated[int, Ge(0), Le(LARGEST)]
Positive = Annotated[int, Ge(1), Le(LARGEST)]
Amount = Annotated[float, Ge(0), Le(LARGEST)]
AboveZero = Annotated[float, Gt(0), Le(LARGEST)]
Fraction = Annotated[float, Ge(0), Le(1)]
BelowOne = Annotated[float, Ge(0), Lt(1)]
OpenFraction = Annotated[float, Gt(0), Lt(1)]
Shift = Literal[0, 1]


@dataclass_transform(kw_only_default=True)
def declared(file: str, section: str = "") -> Callable[[type[T]], type[T]]:
    """Make a class a dataclass whose values pydantic checks and whose defaults stand in a YAML file.

    A field whose value in the file is ``???`` or an interpolation must be given. A refused value raises
    ``UserError``; so does a ``ValueError`` of ``__post_init__``, whose message begins with ``field: ``.

    Args:
        file: below ``conf/``, for example ``search/beam.yaml``.
        section: the dotted path of the class's keys in the file; the whole file if empty.

    Raises:
        TypeError: when class and file differ in their keys, or a field has a default in Python.
    """

    def decorate(cls: type[T]) -> type[T]:
        values = section_of(file, section)
        annotations = get_type_hints(cls, include_extras=True)
        if annotations.keys() != values.keys():
            odd = ", ".join(sorted(map(str, annotations.keys() ^ values.keys())))
            raise TypeError(f"{cls.__name__} and {file} differ in {odd}")
        for name, annotation in annotations.items():
            if getattr(cls, name, YAML) is not YAML:
                raise TypeError(f"{cls.__name__}.{name}: its default stands in {file}; write = YAML here")
            if name in vars(cls):
                delattr(cls, name)
            if not is_open(values[name]):
                setattr(cls, name, field(default_factory=_default(annotation, values[name])))
        cls.__annotations__ = {name: understood(annotation) for name, annotation in annotations.items()}
        config = ConfigDict(extra="forbid", validate_default=True)
        made: Any = checked_dataclass(config=config, kw_only=True)(cls)
        _refuse_in_one_sentence(made)
        DECLARED_IN[made] = file, section
        return made

    return decorate


def _default(annotation: Any, value: Any) -> Callable[[], Any]:
    if isinstance(value, Mapping) and isinstance(annotation, type):
        return lambda: annotation(**value)
    return lambda: list(value) if isinstance(value, list) else value


def _refuse_in_one_sentence(cls: Any) -> None:
    """Have the constructor raise ``UserError``, not pydantic's error of several lines."""
    construct = cls.__init__

    @functools.wraps(construct)
    def __init__(self: Any, **values: Any) -> None:  # noqa: N807 (it becomes the constructor)
        try:
            construct(self, **values)
        except ValidationError as error:
            raise UserError(explain(error, cls, "", values)) from None

    cls.__init__ = __init__


def to_section(values: Mapping[str, Any], section: type[T], path: str) -> T:
    """Build the dataclass ``section`` from a section of the configuration.

    Args:
        values: a dict or an OmegaConf node.
        section: a dataclass made by :func:`declared`.
        path: the name of the section in messages, for example ``training``.

    Raises:
        UserError: for an unknown key, a missing one, or a value that the section refuses.
    """
    return _checked(plain(values, path), section, path)


def convert(value: Any, annotation: Any, path: str) -> Any:
    """``value`` as ``annotation`` wants it (an integer may stand for a float, ``1e3`` for 1000).

    Raises:
        UserError: ``<path>: expected ..., got ...``. An annotation that is not understood accepts everything.
    """
    return _checked(value, understood(annotation), path)


def _checked(value: Any, annotation: Any, path: str) -> Any:
    try:
        return TypeAdapter(annotation).validate_python(value)
    except ValidationError as error:
        raise UserError(explain(error, annotation, path, value)) from error


def plain(node: Any, path: str = "") -> Any:
    """``node`` as plain dicts, lists and scalars, with every interpolation resolved.

    Raises:
        UserError: for an interpolation of a key that does not exist, or a required value that is missing.
    """
    if node is None or isinstance(node, dict | list | str | int | float):
        return node  # a run's stored configuration is plain: loading it does not wait for OmegaConf
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


_LISTS: dict[Any, Any] = {Sequence: list, Iterable: list, Collection: list, Mapping: dict}
_CONTAINERS = (list, tuple, set, frozenset, dict)


def understood(annotation: Any) -> Any:
    """``annotation`` for pydantic, with our rules for scalars; ``Any`` for a type that no YAML file holds.

    Of ``float | Tensor`` this is ``float``: a file cannot hold a tensor.
    """
    origin, items = get_origin(annotation), get_args(annotation)
    if annotation in _SCALARS:
        return Annotated[annotation, _SCALARS[annotation]]
    if origin is Annotated:
        return Annotated[understood(items[0]), *items[1:]]
    if origin in (Union, types.UnionType):
        members = [understood(member) for member in items]
        known = [member for member in members if member is not Any]
        return Any if Any in items or known in ([], [type(None)]) else Union[tuple(known)]  # noqa: UP007
    kind = _LISTS.get(origin or annotation, origin or annotation)
    if kind in _CONTAINERS:
        return kind[tuple(item if item is ... else understood(item) for item in items)] if items else kind
    is_section = isinstance(annotation, type) and is_dataclass(annotation)
    return annotation if is_section or origin is Literal or annotation in (Path, type(None)) else Any


def _integer(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value // 1:
        raise ValueError
    return int(value)


def _text(value: Any) -> str:
    """Text, also a name that YAML takes for a number: 2016, nan, inf."""
    is_named = isinstance(value, float) and not math.isfinite(value)
    if isinstance(value, bool) or not (isinstance(value, str | int) or is_named):
        raise ValueError
    return str(value)


_SCALARS: dict[Any, Any] = {
    int: BeforeValidator(_integer),
    float: Field(strict=True, allow_inf_nan=False),
    str: BeforeValidator(_text),
    bool: Field(strict=True),
}
