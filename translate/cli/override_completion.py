"""What may stand next in an override of a setting: groups, settings and their values."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import yaml  # type: ignore[import-untyped]

from translate.config.names import config_directory

PREFIXES = ("++", "+", "~")  # of overrides, in Hydra's grammar


def overrides(words: Sequence[str], current: str) -> Iterator[str]:
    """Overrides such as ``model=rnn_luong`` and ``training.max_steps=``.

    Args:
        words: those that have been typed before.
        current: the beginning of this one.
    """
    prefix = next((each for each in PREFIXES if current.startswith(each)), "")
    name, sign, value = current.removeprefix(prefix).partition("=")
    if not sign:
        yield from (f"{prefix}{each}" for each in _names(name, words))
        return
    before, comma, _ = value.rpartition(",")  # of a sweep, the last value
    yield from (f"{prefix}{name}={before}{comma}{each}" for each in _values(name, words))


@cache
def groups() -> dict[str, list[str]]:
    """Every group of ``conf/`` and its choices; ``model`` stands before ``model/attention``."""
    root, found = config_directory(), dict[str, list[str]]()
    for file in sorted(root.rglob("*.yaml")):
        group = file.relative_to(root).parent.as_posix()
        if group != "." and not file.name.startswith("_"):
            found.setdefault(group, []).append(file.stem)
    return dict(sorted(found.items(), key=lambda each: (each[0].count("/"), each[0])))


def _names(begun: str, words: Sequence[str]) -> Iterator[str]:
    """Groups and sections; behind the dot of a section its settings."""
    if "." in begun:
        yield from (f"{each}=" for each in settings(begun.partition(".")[0], words))
        return
    yield from (f"{group}=" for group in groups())
    yield from (f"{section}." for section in sections())


def _values(name: str, words: Sequence[str]) -> Iterable[str]:
    """The choices of a group, or those of a setting."""
    if name in groups():
        return groups()[name]
    return settings(name.partition(".")[0], words).get(name, ())


def sections() -> list[str]:
    """The names of all sections that settings stand in."""
    from translate.config.settings import SECTIONS

    open_ones = (group for group in groups() if "/" not in group and group != "experiment")
    return [*dict.fromkeys((*SECTIONS, *open_ones))]


def settings(section: str, words: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The settings of a section, and the values of those that have few.

    Args:
        section: such as ``training``, or ``model``, whose settings depend on the choice.
        words: overrides that have been typed, which may make the choice.
    """
    from translate.config.listing import closed_settings
    from translate.config.settings import SECTIONS

    if section in SECTIONS:
        found = closed_settings(section)
        return {each.path: _shown(each.choices or _switch(each.default)) for each in found}
    return dict(_chosen(section, words))


def _chosen(section: str, words: Sequence[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The settings of an open section: those in the files of its choices."""
    from translate.config.listing import merged

    choices = _choices("config.yaml")
    for group in (group for group in groups() if group.split("/")[0] == section):
        given = [word.partition("=")[2] for word in words if word.startswith(f"{group}=")]
        choice = given[-1] if given else choices.get(group, "")
        if choice in groups()[group]:
            file = f"{group}/{choice}.yaml"
            inner = _choices(file)  # such as the attention of a model
            choices |= {f"{group}/{name}": value for name, value in inner.items()}
            yield from _keys(merged(file), group.replace("/", "."))


def _keys(values: Mapping[str, Any], path: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    for name, value in values.items():
        if name in ("_target_", "_partial_", "defaults"):
            continue
        if isinstance(value, Mapping):
            yield from _keys(value, f"{path}.{name}")
        else:
            yield f"{path}.{name}", _shown(_switch(value))


def _choices(file: str) -> dict[str, str]:
    """The choice of each group that a file of ``conf/`` makes."""
    text = (config_directory() / file).read_text(encoding="utf-8")
    entries = (yaml.safe_load(text) or {}).get("defaults", [])
    made = [item for entry in entries if isinstance(entry, Mapping) for item in entry.items()]
    return {name: choice for name, choice in made if isinstance(choice, str)}


def _switch(value: Any) -> tuple[bool, ...]:
    return (True, False) if isinstance(value, bool) else ()


def _shown(values: Iterable[Any]) -> tuple[str, ...]:
    """Values as they are written in YAML."""
    words = {True: "true", False: "false", None: "null"}
    return tuple(words[each] if each is None or isinstance(each, bool) else str(each) for each in values)
