"""Overrides such as ``model=rnn_luong`` or ``training.max_steps=10``, checked before Hydra sees them."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, NoReturn, get_type_hints

from hydra._internal.config_repository import IConfigRepository
from hydra.core.object_type import ObjectType
from hydra.core.override_parser.types import Override
from omegaconf import DictConfig, OmegaConf

from translate.config.names import did_you_mean, key_paths, nearest, suggest
from translate.config.schema import has_field
from translate.config.targets import parameters_of
from translate.errors import UserError


def choices_of(repository: IConfigRepository, group: str = "") -> dict[str, list[str]]:
    """Every group (nested: ``model/attention``) and its choices; a file with ``_`` in front is none."""
    found = {}
    for name in sorted(repository.get_group_options(group, ObjectType.GROUP)):
        path = f"{group}/{name}" if group else name
        if path == "hydra":
            continue
        options = sorted(repository.get_group_options(path, ObjectType.CONFIG))
        if options:
            found[path] = [option for option in options if not option.startswith("_")]
        found.update(choices_of(repository, path))
    return found


def check_choice(override: Override, groups: Mapping[str, list[str]], repository: IConfigRepository) -> None:
    """Raise ``UserError`` if the group has no such choice."""
    group, value = override.key_or_group, override.value()
    if override.is_delete() or value is None:
        return
    for choice in value if isinstance(value, list) else [value]:
        if not isinstance(choice, str) or not repository.config_exists(f"{group}/{choice}"):
            options = groups.get(group, [])
            near = nearest(str(choice), options)
            raise UserError(
                f"{group}={choice}: no such choice{did_you_mean(near and f'{group}={near}')} "
                f"(there are {', '.join(options) or 'none'})"
            )


def is_unwritten(
    override: Override, config: DictConfig, groups: Mapping[str, list[str]], schemas: Mapping[str, type]
) -> bool:
    """Whether the key is valid although ``config`` does not hold it, so that Hydra needs ``++`` before it.

    Raises:
        UserError: for a key that does not exist.
    """
    key = override.key_or_group
    group = key.replace(".", "/")
    if group in groups and "/" in group and isinstance(override.value(), str):
        raise UserError(f"{key}: this is a section; a choice is written {group}={override.value()}")
    if override.is_add() or override.is_force_add() or _exists(config, key):
        return False
    if not override.is_delete() and _is_option(config, key, schemas):
        return True
    _refuse(key, config, groups, schemas)


def malformed(text: str, reason: str, choices: Mapping[str, list[str]]) -> str:
    """What to say of an override that Hydra cannot read."""
    if "=" not in text and not text.startswith("~"):
        known = " (for example model=transformer)"
        for group, options in choices.items():
            if text == group:
                known = f" (for example {group}={options[0]})"
            elif text in options:
                known = f"; did you mean {group}={text}?"
        return f"{text!r}: an override is written name=value{known}"
    quoting = "a value with special characters is quoted: \"name='a b, c'\""
    return f"{text!r}: not a valid override ({reason}); {quoting}"


def _refuse(
    key: str, config: DictConfig, groups: Mapping[str, list[str]], schemas: Mapping[str, type]
) -> NoReturn:
    written = OmegaConf.to_container(config, resolve=False)
    assert isinstance(written, dict)
    written.pop("hydra", None)
    known = key_paths(written)  # type: ignore[arg-type]
    known += [path for section, schema in schemas.items() for path in _field_paths(schema, f"{section}.")]
    parent = key.rpartition(".")[0]
    known += [f"{parent}.{name}" for name in _options_of(config, parent)]
    near = None if "." in key else nearest(key, groups)
    raise UserError(f"{key}: unknown key" + did_you_mean(near or suggest(key, known)))


def _exists(config: DictConfig, key: str) -> bool:
    node: Any = config
    for part in key.split("."):
        if not isinstance(node, DictConfig) or part not in node.keys():  # noqa: SIM118 (`in` hides ??? values)
            return False
        node = node._get_node(part)
        if isinstance(node, DictConfig) and node._is_none():
            node = None
    return True


def _is_option(config: DictConfig, key: str, schemas: Mapping[str, type]) -> bool:
    """Whether a schema or a target's signature has the key."""
    section, *rest = key.split(".")
    if section in schemas:
        return bool(rest) and has_field(schemas[section], rest)
    parent, _, leaf = key.rpartition(".")
    return leaf in _options_of(config, parent)


def _options_of(config: DictConfig, path: str) -> Sequence[str]:
    node = OmegaConf.select(config, path) if path else None
    if not isinstance(node, DictConfig) or "_target_" not in node:
        return ()
    return parameters_of(node, list(OmegaConf.select(config, "run.plugins") or []))


def _field_paths(schema: type, prefix: str) -> list[str]:
    paths = []
    hints = get_type_hints(schema)
    for field in fields(schema):
        paths.append(f"{prefix}{field.name}")
        if is_dataclass(hints[field.name]):
            paths += _field_paths(hints[field.name], f"{prefix}{field.name}.")
    return paths
