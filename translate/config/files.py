"""Values of the files below ``conf/``, where each default of the configuration stands."""

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

import yaml  # type: ignore[import-untyped]

from translate.config.names import config_directory

T = TypeVar("T", bound=Callable[..., Any])

YAML: Any = ...  # stands for a default whose value is in a YAML file


def section_of(file: str, section: str = "") -> dict[str, Any]:
    """The content of a file of ``conf/``, or the section of it at a dotted path, without ``defaults``."""
    values: Any = _read(file)
    for part in section.split(".") if section else ():
        values = values[part]
    return {key: value for key, value in values.items() if key != "defaults"}


def choice_of(group: str, name: str) -> dict[str, Any]:
    """The values of a choice of ``conf/``, with those of the choices that it extends.

    Raises:
        FileNotFoundError: if there is no such choice.
    """
    found: dict[str, Any] = {}
    for base in extended(group, name):
        found = overlaid(found, choice_of(*base))
    return overlaid(found, section_of(f"{group}/{name}.yaml"))


def extended(group: str, name: str) -> Iterator[tuple[str, str]]:
    """The choices that a choice extends: of its own group, or of another (``/group@_here_: choice``)."""
    for entry in _read(f"{group}/{name}.yaml").get("defaults", []):
        if isinstance(entry, str) and entry != "_self_":
            yield group, entry
        for other, choice in entry.items() if isinstance(entry, Mapping) else ():
            if other.endswith("@_here_"):
                yield other.removesuffix("@_here_").removeprefix("/"), choice


def overlaid(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """The values of two sections; those of the second count."""
    both = [key for key in below if isinstance(below[key], Mapping) and isinstance(above.get(key), Mapping)]
    return {**below, **above, **{key: overlaid(below[key], above[key]) for key in both}}


def leaves(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """The path and the value of everything in nested mappings and lists that holds nothing further."""
    if value and isinstance(value, Mapping | list):
        for key, inner in value.items() if isinstance(value, Mapping) else enumerate(value):
            yield from leaves(inner, (*path, str(key)))
    else:
        yield path, value


def is_open(value: Any) -> bool:
    """Whether a value of a file is still to be given: ``???``, or an interpolation."""
    return isinstance(value, str) and (value == "???" or "${" in value)


def from_file(file: str) -> Callable[[T], T]:
    """Give a function, or a class that becomes a dataclass, the defaults of a file where it has ``YAML``.

    The names of these defaults, and of inherited ones, are kept in the attribute ``from_file``, for the test
    that finds others.

    Args:
        file: below ``conf/``, for example ``schedule/plateau.yaml``.
    Raises:
        KeyError: if the file has no such option.
    """

    def decorate(target: T) -> T:
        values = section_of(file)

        def default(name: str) -> Any:
            return tuple(values[name]) if isinstance(values[name], list) else values[name]

        if inspect.isclass(target):
            names = [name for name in inspect.get_annotations(target) if vars(target).get(name) is YAML]
            for name in names:
                setattr(target, name, default(name))
        else:
            function: Any = target
            parameters = inspect.signature(function).parameters.values()
            names = [parameter.name for parameter in parameters if parameter.default is YAML]
            given = [p for p in parameters if p.default is not p.empty and p.kind is not p.KEYWORD_ONLY]
            function.__defaults__ = tuple(default(p.name) if p.name in names else p.default for p in given)
            keywords = function.__kwdefaults__ or {}
            function.__kwdefaults__ = keywords | {name: default(name) for name in names if name in keywords}
        target.from_file = getattr(target, "from_file", frozenset()) | {*names}  # type: ignore[attr-defined]
        return target

    return decorate


@functools.cache
def _read(file: str) -> Any:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return yaml.load((config_directory() / file).read_text(encoding="utf-8"), Loader=loader)
