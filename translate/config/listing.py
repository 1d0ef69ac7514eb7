"""Every setting with type, default and meaning: types from Python, values and comments from ``conf/``."""

import functools
import inspect
import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, is_dataclass
from typing import Any, get_type_hints

import yaml  # type: ignore[import-untyped]

from translate.config.declare import DECLARED_IN, understood
from translate.config.files import choice_of, extended, section_of
from translate.config.messages import described
from translate.config.names import config_directory
from translate.config.option_groups import groups_of
from translate.config.settings import SECTIONS, TARGETS
from translate.config.targets import PACKAGE, options_of, resolve_target

_ELSEWHERE = ("as :class:", "see :class:")  # such a text leaves what a base class says
SPECIAL = ("_target_", "_partial_", "name", "defaults")


@dataclass(frozen=True)
class Setting:
    """One setting of the configuration.

    ``type`` is in words, with limits. ``default`` is ``???`` if a value is required, and an interpolation if
    it follows from other settings.
    """

    path: str
    type: str
    default: Any
    meaning: str


@functools.cache
def comments_in(file: str) -> dict[str, str]:
    """The comment behind each key of a YAML file below ``conf/``, by dotted path; "" for the first lines."""
    text = (config_directory() / file).read_text(encoding="utf-8")
    lines = text.splitlines()
    head = [
        line.removeprefix("#").strip()
        for line in itertools.takewhile(lambda line: line.startswith("#"), lines)
    ]
    return {"": " ".join(head), **dict(_comments(yaml.compose(text, Loader=yaml.SafeLoader), "", lines))}


def closed_settings(section: str, values: Mapping[str, Any] | None = None) -> list[Setting]:
    """The settings of a closed section such as ``training``.

    Args:
        section: a key of ``SECTIONS``.
        values: defaults that differ from those of the section's own file, as of ``conf/runtime/ddp.yaml``.
    """
    file, inner = DECLARED_IN[SECTIONS[section]]
    defaults = {**section_of(file, inner), **(values or {})}
    return list(_fields(SECTIONS[section], section, defaults, file, inner))


def chosen_settings(group: str, choice: str, path: str = "") -> list[Setting]:
    """The settings of one file of an open section, such as ``model/attention`` and ``additive``.

    Options that the file leaves out are listed too, if the class is ours.
    """
    path = path or group.replace("/", ".")
    inner = [entry.name for entry in (config_directory() / group).iterdir() if entry.is_dir()]
    comments: dict[str, str] = {}
    for base in (*extended(group, choice), (group, choice)):
        comments |= comments_in(f"{'/'.join(base)}.yaml")
    return list(_options(choice_of(group, choice), path, comments, "", (*TARGETS.get(path, ()), *inner)))


def _fields(section: type, path: str, values: Mapping[str, Any], file: str, inner: str) -> Iterator[Setting]:
    for name, annotation in get_type_hints(section, include_extras=True).items():
        key = f"{inner}.{name}".removeprefix(".")
        if is_dataclass(annotation) and isinstance(annotation, type):
            yield from _fields(annotation, f"{path}.{name}", values[name], file, key)
        else:
            yield _setting(f"{path}.{name}", annotation, values[name], comments_in(file).get(key, ""))


def _options(
    node: Mapping[str, Any], path: str, comments: Mapping[str, str], inner: str, provided: tuple[str, ...]
) -> Iterator[Setting]:
    target = resolve_target(node["_target_"])
    known, documented = options_of(target), _documented(target)
    ours = target.__module__.startswith(f"{PACKAGE}.")
    for name in [*known, *(key for key in node if key not in known)]:
        if name in SPECIAL or (name not in node and not ours):
            continue
        key = f"{inner}.{name}".removeprefix(".")
        option = known.get(name, inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=Any))
        if isinstance(node.get(name), Mapping) and "_target_" in node[name]:
            yield from _options(node[name], f"{path}.{name}", comments, key, ())
        elif name in node or (option.default is not option.empty and name not in provided):
            meaning = comments.get(key) or documented.get(name, "")
            yield _setting(f"{path}.{name}", option.annotation, node.get(name, option.default), meaning)


def _setting(path: str, annotation: Any, default: Any, meaning: str) -> Setting:
    read = understood(annotation)
    if read is Any and default is not None:  # an annotation that is not understood
        read = type(default)
    return Setting(path, described(read), default, meaning)


def _documented(target: Any) -> dict[str, str]:
    """The text on each argument in the docstrings of a class, its bases and its option groups."""
    found: dict[str, str] = {}
    bases = reversed(inspect.getmro(target) if inspect.isclass(target) else (target,))
    for documented in (*bases, *groups_of(target).values()):
        found |= _arguments(inspect.cleandoc(vars(documented).get("__doc__") or ""))
    return found


def _arguments(docstring: str) -> dict[str, str]:
    """The text on each name in the ``Args:`` or ``Attributes:`` block of a docstring."""
    block = re.search(r"^(?:Args|Attributes):\n((?:[ \t]+.*\n?|\n)*)", docstring, re.MULTILINE)
    if block is None:
        return {}
    entries = re.findall(r"^ {4}([\w, ]+): (.*(?:\n {5,}.*)*)", block[1], re.MULTILINE)
    texts = ((names, _plain(text)) for names, text in entries if not text.startswith(_ELSEWHERE))
    return {name: text for names, text in texts for name in names.split(", ")}


def _plain(text: str) -> str:
    """A text of a docstring as a reader of the configuration knows its words."""
    text = text.replace("``None``", "null").replace("``", "`")
    return " ".join(text.split()).removesuffix(".")


def _comments(node: Any, prefix: str, lines: list[str]) -> Iterator[tuple[str, str]]:
    for key, value in node.value if isinstance(node, yaml.MappingNode) else ():
        path = f"{prefix}{key.value}"
        is_block = isinstance(value, yaml.MappingNode) and not value.flow_style
        end = key.end_mark if is_block else value.end_mark
        rest = lines[end.line][end.column :].removeprefix(":").strip() if end.line < len(lines) else ""
        if rest.startswith("#"):
            column = lines[end.line].index("#", end.column)
            found = [rest]
            for line in lines[end.line + 1 :]:
                if line[:column].strip() or line[column : column + 1] != "#":
                    break
                found.append(line[column:])
            yield path, " ".join(line.removeprefix("#").strip() for line in found)
        yield from _comments(value, f"{path}.", lines)
