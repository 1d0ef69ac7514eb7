"""Option groups: small frozen dataclasses that a constructor takes instead of a long list of parameters.

A constructor declares ``sizes: Sizes`` and ``layer: LayerOptions``. Configuration files and callers know no
groups: they write every option at one level, ``model.width=64`` or ``Transformer(..., width=64)``.
"""

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from annotated_types import Ge, Le

T = TypeVar("T")
Parameter = inspect.Parameter

# Limits that a configuration checks. They are far above every honest model; a run may come from a stranger.
Width = Annotated[int, Ge(1), Le(65_536)]
NumLayers = Annotated[int, Ge(1), Le(1_000)]
NumFurtherLayers = Annotated[int, Ge(0), Le(1_000)]
NumHeads = Annotated[int, Ge(1), Le(1_024)]
NumPositions = Annotated[int, Ge(1), Le(1_000_000)]


def option_group(cls: type[T]) -> type[T]:
    """Mark a frozen dataclass, whose fields all have defaults, as an option group."""
    if not is_dataclass(cls) or not cls.__dataclass_params__.frozen:  # type: ignore[attr-defined]
        raise TypeError(f"{cls.__name__}: an option group is a frozen dataclass")
    cls.__is_option_group__ = True  # type: ignore[attr-defined]
    return cls


def flat_options(constructor: Callable[..., None]) -> Callable[..., None]:
    """Let callers give the options of a constructor's groups at one level, or a whole group by its name.

    Raises:
        TypeError: (when called) for an option that is given twice.
        ValueError: (when called) for a value that is none of its ``Literal``.
    """

    @functools.wraps(constructor)
    def construct(*args: Any, **options: Any) -> None:
        for name, values in _choices(constructor).items():
            if options.get(name, values[0]) not in values:
                raise ValueError(f"{name}: expected one of {', '.join(values)}, got {options[name]!r}")
        for name, group in groups_of(constructor).items():
            given = {field.name: options.pop(field.name) for field in fields(group) if field.name in options}
            if given and name in options:
                raise TypeError(f"{name}: give the whole group or its option {next(iter(given))}, not both")
            if given:
                default = inspect.signature(constructor).parameters[name].default
                options[name] = replace(default, **given)
        constructor(*args, **options)

    return construct


@functools.cache
def groups_of(target: Callable[..., Any]) -> Mapping[str, type[Any]]:
    """The option group of each parameter that takes one."""
    hints = type_hints(target)
    return {name: hint for name, hint in hints.items() if getattr(hint, "__is_option_group__", False)}


def flat_parameters(target: Callable[..., Any]) -> dict[str, Parameter]:
    """The parameters of a callable with their annotations; the options of a group replace the group.

    Raises:
        ValueError: for a callable without a signature, such as one written in C.
    """
    hints, groups, found = type_hints(target), groups_of(target), {}
    for name, parameter in inspect.signature(target).parameters.items():
        if name not in groups:
            found[name] = parameter.replace(annotation=hints.get(name, Any))
            continue
        group_hints = get_type_hints(groups[name], include_extras=True)
        for field in fields(groups[name]):
            default = getattr(parameter.default, field.name)
            found[field.name] = Parameter(
                field.name, Parameter.KEYWORD_ONLY, default=default, annotation=group_hints[field.name]
            )
    return found


def type_hints(target: Callable[..., Any]) -> dict[str, Any]:
    """The annotations of a function or a constructor; none if only a type checker resolves them."""
    try:
        return get_type_hints(
            inspect.getattr_static(target, "__init__") if inspect.isclass(target) else target,
            include_extras=True,
        )
    except (NameError, TypeError, AttributeError):
        return {}


@functools.cache
def _choices(constructor: Callable[..., Any]) -> Mapping[str, tuple[str, ...]]:
    """The values of every option that has a few."""
    kinds = {name: parameter.annotation for name, parameter in flat_parameters(constructor).items()}
    return {name: get_args(kind) for name, kind in kinds.items() if get_origin(kind) is Literal}
