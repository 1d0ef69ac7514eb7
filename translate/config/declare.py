"""Sections of the configuration: types and limits in Python, defaults and meanings in YAML files."""

import functools
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Annotated, Any, Literal, TypeVar, dataclass_transform, get_type_hints

from annotated_types import Ge, Gt, Le, Lt
from pydantic import AllowInfNan, ConfigDict, ValidationError
from pydantic.dataclasses import dataclass as checked_dataclass

from translate.config.files import YAML, is_open, section_of
from translate.config.messages import LARGEST, explain
from translate.config.values import understood
from translate.errors import UserError

T = TypeVar("T")

# The file of each declared class, and the dotted path of its keys there.
DECLARED_IN: dict[type, tuple[str, str]] = {}

# No honest number is larger; a run may come from a stranger. Sections set narrower limits where work or
# memory grows with the number.
Count = Annotated[int, Ge(0), Le(LARGEST)]
Positive = Annotated[int, Ge(1), Le(LARGEST)]
Amount = Annotated[float, Ge(0), Le(LARGEST), AllowInfNan(False)]
AboveZero = Annotated[float, Gt(0), Le(LARGEST), AllowInfNan(False)]
Fraction = Annotated[float, Ge(0), Le(1)]
BelowOne = Annotated[float, Ge(0), Lt(1)]
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
