"""Overrides and files of a user, checked before Hydra sees them, and what Hydra refuses, in one sentence."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, NoReturn, get_type_hints

import yaml  # type: ignore[import-untyped]
from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.object_type import ObjectType
from hydra.core.override_parser.types import Override, RangeSweep
from hydra.core.plugins import Plugins
from hydra.errors import HydraException, MissingConfigException
from hydra.plugins.config_source import ConfigResult, ConfigSource
from hydra.plugins.search_path_plugin import SearchPathPlugin
from omegaconf import DictConfig, OmegaConf, open_dict
from omegaconf.errors import OmegaConfBaseException

from translate.config.names import did_you_mean, display_path, key_paths, listed, nearest, shorten, suggest
from translate.config.settings import SECTIONS
from translate.config.targets.resolving import parameters_of
from translate.config.values import has_field
from translate.errors import UserError

# Malformed files make Hydra and OmegaConf raise the last four beside their own errors.
FAILURES = (
    *(HydraException, OmegaConfBaseException, yaml.YAMLError),
    *(OSError, ValueError, TypeError, AssertionError, RecursionError),
)
MAX_OVERRIDES, MAX_LENGTH, MAX_DEPTH = 1000, 10_000, 32  # overrides; characters and brackets of one
MAX_JOBS = 10_000  # of a sweep
MAX_FILE, MAX_VALUES = 1 << 20, 10_000  # bytes and values of a file; an alias counts as what it repeats
_QUOTED = re.compile(r"\\.|'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"", re.DOTALL)
_REFERENCE = re.compile(r"\$\{(\.*)([^.${}:\[\]][^${}:\[\]]*)\}")
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

Choices = Callable[[], Mapping[str, list[str]]]


class UserFolders(SearchPathPlugin):
    """Appends the user's folders to Hydra's search path; ``own_root`` is whether the first is one, too."""

    paths: ClassVar[Sequence[Path]] = ()
    own_root: ClassVar[bool] = False

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        for element in search_path.get_path():
            if element.provider == "main" and self.own_root:
                element.path = f"user://{element.path.removeprefix('file://')}"
        for path in self.paths:
            search_path.append("command-line", f"user://{path}")


class UserFiles(ConfigSource):
    """A folder of the user's configuration files; each is measured before Hydra reads it."""

    def __init__(self, provider: str, path: str) -> None:
        super().__init__(provider, path)
        sources: Any = Plugins.instance().discover(ConfigSource)
        files = next(source for source in sources if source.scheme() == "file")
        self.files: ConfigSource = files(provider, f"file://{self.path}")

    @staticmethod
    def scheme() -> str:
        return "user"

    def load_config(self, config_path: str) -> ConfigResult:
        check_file(Path(self.path, config_path if config_path.endswith(".yaml") else f"{config_path}.yaml"))
        return self.files.load_config(config_path)

    def is_group(self, config_path: str) -> bool:
        return self.files.is_group(config_path)

    def is_config(self, config_path: str) -> bool:
        return self.files.is_config(config_path)

    def available(self) -> bool:
        return self.files.available()

    def list(self, config_path: str, results_filter: ObjectType | None) -> list[str]:
        return self.files.list(config_path, results_filter)


def check_file(path: Path) -> None:
    """Raise ``UserError`` for a file that is too large, nested too deeply, or has too many values."""
    if path.is_file() and path.stat().st_size > MAX_FILE:
        raise UserError(f"{display_path(path)}: larger than {MAX_FILE:,} bytes; expected a smaller file")
    sizes: dict[str, int] = {}  # of what has an anchor
    opened: list[tuple[str | None, int]] = []  # collections around this place, and the values before them
    total = 0
    try:
        for event in yaml.parse(path.read_bytes(), Loader=_LOADER):
            anchor = getattr(event, "anchor", None)
            if isinstance(event, yaml.AliasEvent):
                total += sizes.get(event.anchor, MAX_VALUES)  # one inside itself never ends
            elif isinstance(event, yaml.CollectionStartEvent):
                opened.append((anchor, total))
                total += 1
            elif isinstance(event, yaml.CollectionEndEvent):
                anchor, before = opened.pop()
                sizes[anchor or ""] = total - before
            elif isinstance(event, yaml.ScalarEvent):
                total += 1
                sizes[anchor or ""] = 1
            if len(opened) > MAX_DEPTH or total > MAX_VALUES:
                raise UserError(
                    f"{display_path(path)}, line {event.start_mark.line + 1}: nested too deeply, or too many "
                    f"values; expected at most {MAX_DEPTH} levels and {MAX_VALUES:,} values"
                )
    except (yaml.YAMLError, ValueError) as error:
        if isinstance(error, UserError):
            raise  # all others Hydra meets again, and `explain` says them


def check_length(text: str) -> None:
    """Raise ``UserError`` for an override that would take Hydra's parser long."""
    if len(text) > MAX_LENGTH:
        raise UserError(f"{shorten(text)!r}: {len(text):,} characters; expected at most {MAX_LENGTH:,}")
    depth = deepest = 0
    for character in _QUOTED.sub("", text):
        depth += (character in "[{(") - (character in "]})")
        deepest = max(deepest, depth)
    name = text.partition("=")[0]
    if max(deepest, name.count("."), name.count("/")) > MAX_DEPTH:
        raise UserError(f"{shorten(text)!r}: nested too deeply; expected at most {MAX_DEPTH} levels")


def check_interpolations(config: DictConfig) -> None:
    """Raise ``UserError`` if interpolations of interpolations would make more than ``MAX_VALUES`` values."""
    texts = {path: text for path, text in _texts(OmegaConf.to_container(config), ()) if "${" in text}
    sizes: dict[tuple[str, ...], int] = {}

    def size(path: tuple[str, ...]) -> int:
        if path not in sizes:
            sizes[path] = 1  # meanwhile: in a circle, which OmegaConf refuses
            for dots, name in _REFERENCE.findall(texts[path]):
                wanted = (*(path[: -len(dots)] if dots else ()), *name.split("."))
                inside = [other for other in texts if other[: len(wanted)] == wanted]
                sizes[path] += min(MAX_VALUES, sum(map(size, inside)) + 1)
        return sizes[path]

    for path in texts:
        if size(path) > MAX_VALUES:
            raise UserError(f"{shorten('.'.join(path))}: interpolations make more than {MAX_VALUES:,} values")


def _texts(value: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _texts(inner, (*path, str(key)))


def sweep_values(override: Override) -> list[str]:
    """The values of a discrete sweep, cut one after ``MAX_JOBS``."""
    value = override.value()
    if isinstance(value, RangeSweep):  # which Hydra makes as a whole to shuffle it
        numbers = list(islice(value.range(), MAX_JOBS + 1))
        if len(numbers) > MAX_JOBS:
            return [str(number) for number in numbers]
    return [str(each) for each in islice(override.sweep_string_iterator(), MAX_JOBS + 1)]


def is_unwritten(override: Override, written: Mapping[str, Any], choices: Choices) -> bool:
    """Whether the key is valid although no file has written it, so that Hydra needs ``++`` before it.

    Raises:
        UserError: for a key that does not exist.
    """
    key = override.key_or_group
    group = key.replace(".", "/")
    if "/" in group and isinstance(override.value(), str) and group in choices():
        value = shorten(str(override.value()))
        raise UserError(f"{key}: this is a section; a choice is written {group}={value}")
    if override.is_add() and _exists(written, key):
        raise UserError(f"+{key}: the key exists already; write {key}=... to change it")
    if override.is_add() or override.is_force_add() or _exists(written, key):
        return False
    if not override.is_delete() and _is_option(written, key):
        return True
    _refuse(key, written, choices())


def apply(override: Override, config: DictConfig) -> None:
    """Set or delete the key of an override that :func:`is_unwritten` has checked."""
    key = override.key_or_group
    if not override.is_delete():
        OmegaConf.update(config, key, override.value(), merge=True, force_add=True)
        return
    parent, _, leaf = key.rpartition(".")
    node = OmegaConf.select(config, parent) if parent else config
    with open_dict(config):
        del node[leaf]


def explain(error: BaseException, choices: Choices) -> str:
    """One sentence for an error of Hydra, OmegaConf or YAML."""
    if isinstance(error, yaml.YAMLError):
        return _explain_yaml(error)
    if isinstance(error, MissingConfigException):
        return _missing_choice(error.missing_cfg_file or "", choices())
    if isinstance(error, RecursionError):
        return f"configuration: nested too deeply; expected at most {MAX_DEPTH} levels"
    causes = [cause for cause in (error, error.__cause__) if cause]
    lines = [line.strip() for cause in causes for line in str(cause).splitlines()]
    message = "; ".join(line for line in lines if line) or type(error).__name__
    group = re.search(r"Could not override '(.+?)'\. No match", message)
    if group is None:
        return f"configuration: {shorten(message)}"
    return f"{shorten(group[1])}: no such group{did_you_mean(nearest(group[1], choices()))}"


def _missing_choice(name: str, choices: Mapping[str, list[str]]) -> str:
    """A defaults list chooses ``group/option``, which does not exist."""
    group, _, option = name.rpartition("/")
    if group in choices:
        near = nearest(option, choices[group])
        return f"{group}={shorten(option)}: no such choice{did_you_mean(near and f'{group}={near}')}"
    return f"{shorten(group or option)}: no such group{did_you_mean(nearest(group or option, choices))}"


def _explain_yaml(error: Exception) -> str:
    """What is wrong with a YAML file, and where."""
    mark = getattr(error, "problem_mark", None)
    problem = shorten(getattr(error, "problem", None) or str(error).splitlines()[0])
    if mark is None:
        return f"configuration: not valid YAML ({problem})"
    return f"{display_path(Path(mark.name))}, line {mark.line + 1}: not valid YAML ({problem})"


def _refuse(key: str, written: Mapping[str, Any], choices: Mapping[str, list[str]]) -> NoReturn:
    known = key_paths({name: section for name, section in written.items() if name != "hydra"})
    known += [path for name, section in SECTIONS.items() for path in _field_paths(section, f"{name}.")]
    parent = key.rpartition(".")[0]
    known += [f"{parent}.{name}" for name in _options_of(written, parent)]
    near = (None if "." in key else nearest(key, choices)) or suggest(key, known)
    beside = [path.rpartition(".")[2] for path in known if path.rpartition(".")[0] == parent]
    beside = [name for name in beside if not name.startswith("_")]
    instead = f"; {parent} has {listed(dict.fromkeys(beside))}" if parent and beside and not near else ""
    raise UserError(f"{shorten(key)}: unknown key{did_you_mean(near)}{instead}")


def _node(written: Any, path: str) -> Any:
    """The value at a dotted path; raises ``KeyError`` if there is none."""
    for part in path.split("."):
        if not isinstance(written, Mapping):
            raise KeyError(path)
        written = written[part]
    return written


def _exists(written: Mapping[str, Any], key: str) -> bool:
    try:
        _node(written, key)
    except KeyError:
        return False
    return True


def _is_option(written: Mapping[str, Any], key: str) -> bool:
    """Whether a section or a target's signature has the key."""
    section, *rest = key.split(".")
    if section in SECTIONS:
        return bool(rest) and has_field(SECTIONS[section], rest)
    parent, _, leaf = key.rpartition(".")
    return leaf in _options_of(written, parent)


def _options_of(written: Mapping[str, Any], path: str) -> Sequence[str]:
    node = _node(written, path) if path and _exists(written, path) else None
    if not isinstance(node, Mapping) or "_target_" not in node:
        return ()
    plugins = _node(written, "run.plugins") if _exists(written, "run.plugins") else []
    return parameters_of(node, plugins if isinstance(plugins, list) else [])


def _field_paths(section: type, prefix: str) -> list[str]:
    paths = []
    hints = get_type_hints(section)
    for field in fields(section):
        paths.append(f"{prefix}{field.name}")
        if is_dataclass(hints[field.name]):
            paths += _field_paths(hints[field.name], f"{prefix}{field.name}.")
    return paths
