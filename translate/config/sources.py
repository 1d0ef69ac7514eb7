"""Which YAML file a key of the composed configuration was written in."""

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import yaml  # type: ignore[import-untyped]

YAMLError = yaml.YAMLError


class Source(NamedTuple):
    """A YAML file that was composed, and the section that its keys went to (empty: the top)."""

    file: Path
    package: str


class Place(NamedTuple):
    file: Path
    line: int

    def __str__(self) -> str:
        return f"{display_path(self.file)}, line {self.line}"


def display_path(file: Path) -> str:
    """``file`` as seen from the working directory if it lies below it."""
    try:
        return os.fspath(file.resolve().relative_to(Path.cwd()))
    except ValueError:
        return os.fspath(file)


def find_key(path: str, sources: Iterable[Source]) -> Place | None:
    """Where the key ``path`` was written last; ``sources`` in the order of composition."""
    for source in reversed(list(sources)):
        keys = path.split(".")
        package = source.package.split(".") if source.package else []
        if keys[: len(package)] != package or len(keys) == len(package):
            continue
        node = _read(source.file)
        line = None if node is None else _line(node, keys[len(package) :])
        if line is not None:
            return Place(source.file, line)
    return None


def find_default(name: str, sources: Iterable[Source]) -> Place | None:
    """Where a defaults list has the group or choice ``name``, such as ``model`` or ``transformer``."""
    for source in reversed(list(sources)):
        for scalar in _defaults(_read(source.file)):
            words = scalar.value.removesuffix(".yaml").removeprefix("optional ").removeprefix("override ")
            if words.removeprefix("/") == name:
                return Place(source.file, scalar.start_mark.line + 1)
    return None


def explain_yaml(error: Exception) -> str:
    """What is wrong with a YAML file, and where."""
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or str(error).splitlines()[0]
    if mark is None:
        return f"configuration: not valid YAML ({problem})"
    return f"{display_path(Path(mark.name))}, line {mark.line + 1}: not valid YAML ({problem})"


def _read(file: Path) -> yaml.Node | None:
    try:
        return yaml.compose(file.read_text(encoding="utf-8"), Loader=yaml.SafeLoader)
    except (OSError, UnicodeDecodeError, yaml.YAMLError):
        return None


def _line(node: yaml.Node, keys: Sequence[str]) -> int | None:
    """Line of the nested key; a key may be written dotted as well."""
    if not isinstance(node, yaml.MappingNode):
        return None
    for key, value in node.value:
        if key.value == keys[0]:
            return key.start_mark.line + 1 if len(keys) == 1 else _line(value, keys[1:])
    return None


def _defaults(node: yaml.Node | None) -> Iterator[yaml.ScalarNode]:
    """Groups and choices of a defaults list."""
    if not isinstance(node, yaml.MappingNode):
        return
    for key, value in node.value:
        if key.value != "defaults" or not isinstance(value, yaml.SequenceNode):
            continue
        for entry in value.value:
            pairs = entry.value if isinstance(entry, yaml.MappingNode) else [(entry,)]
            yield from (each for pair in pairs for each in pair if isinstance(each, yaml.ScalarNode))
