"""Composing ``conf/`` with Hydra; every error is one sentence with the path and the nearest valid name."""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import hydra
import yaml  # type: ignore[import-untyped]
from hydra.core.config_loader import ConfigLoader
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException
from omegaconf import DictConfig, open_dict
from omegaconf.errors import OmegaConfBaseException

from translate.config.data import SPLITS
from translate.config.declare import plain
from translate.config.files import leaves
from translate.config.messages import explain_composing, malformed, named_elsewhere, spaced
from translate.config.names import config_directory, did_you_mean, display_path, listed, nearest, shorten
from translate.config.settings import check_section_names
from translate.errors import UserError

VERSION_BASE = "1.3"
PATTERNS = ("*/*.yaml", "*/*/*.yaml")  # of files in groups
MAX_CHECKED_JOBS = 30  # of a sweep, before it starts
EXPRESSIONS = tuple("'\"[{(")  # the first characters of values that are more than text
FILES = tuple(f"data.{split}.{side}" for split in SPLITS for side in ("source", "target"))
EXPERIMENT = "experiment"  # the group whose files set keys of all sections
# Malformed files make Hydra and OmegaConf raise the last four beside their own errors.
FAILURES = (
    *(HydraException, OmegaConfBaseException, yaml.YAMLError),
    *(OSError, ValueError, TypeError, AssertionError, RecursionError),
)

Check = Callable[[DictConfig], Any]


def compose(overrides: Sequence[str] = (), check: Check | None = None) -> DictConfig:
    """Compose ``conf/config.yaml`` with overrides such as ``model=rnn_luong`` or ``training.max_steps=10``.

    Args:
        overrides: in Hydra's grammar. An option that no file mentions may be given too if its section, or
            the signature of its target, has it.
        check: called with the configuration.

    Raises:
        UserError: for anything that does not exist or is malformed.
    """
    return Composer().compose(overrides, check)


class Composer:
    """Composes ``conf/`` and the user's folders.

    Args:
        config_dirs: the user's folders, with groups as in ``conf/``.
        config_name: the primary file.
    """

    def __init__(self, config_dirs: Sequence[Path] = (), *, config_name: str = "config") -> None:
        self.config_name = config_name.removesuffix(".yaml")
        for folder in config_dirs:
            if not Path(folder).is_dir():
                raise UserError(f"{folder}: no such folder of configuration files")
        self.folders = [config_directory(), *(Path(folder).resolve() for folder in config_dirs)]
        having = [folder for folder in self.folders if (folder / f"{self.config_name}.yaml").is_file()]
        if not having:
            raise UserError(f"{self.config_name}: no such file in {display_path(self.folders[-1])}")
        self.root = having[0]
        self._chosen: dict[tuple[str, ...], dict[str, str]] = {}  # of compositions so far
        with self._hydra() as loader:
            self.parser = OverridesParser.create(config_loader=loader)

    def choices(self) -> dict[str, list[str]]:
        """Every group (``model``, ``model/attention`` ...) and its choices; ``_*.yaml`` is no choice."""
        found: dict[str, set[str]] = {}
        for folder in self.folders:
            for file in (file for pattern in PATTERNS for file in folder.glob(pattern)):
                if not file.name.startswith("_"):
                    found.setdefault(file.relative_to(folder).parent.as_posix(), set()).add(file.stem)
        return {group: sorted(found[group]) for group in sorted(found)}

    def compose(self, overrides: Sequence[str] = (), check: Check | None = None) -> DictConfig:
        """Compose as the function :func:`compose` does."""
        config = self._composed(self.complete(overrides))
        with self._in_one_sentence():
            with open_dict(config):
                del config["hydra"]
            if EXPERIMENT in config:
                raise UserError(f"{EXPERIMENT}: the first line of its file must be '# @package _global_'")
            values = plain(config)
            try:
                check_section_names(values)
                if check is not None:
                    check(config)
            except UserError as error:
                raise UserError(self._with_hint(str(error), overrides, values)) from error
        return config

    def chosen(self, overrides: Sequence[str] = ()) -> dict[str, str]:
        """The choice of each group, for example ``model/attention: additive``."""
        completed = self.complete(overrides)
        if tuple(completed) not in self._chosen:
            self._composed(completed)
        return self._chosen[tuple(completed)]

    def jobs(self, overrides: Sequence[str]) -> list[list[str]]:
        """The overrides of each job of a sweep (``model=a,b`` are two), at most ``MAX_CHECKED_JOBS``.

        Ranges that only another sweeper than Hydra's own understands are left out.

        Raises:
            UserError: if the sweep has no values.
        """
        values: dict[str, list[str]] = {}
        for override in map(self._parse, overrides):
            key = override.get_key_element()
            if override.is_hydra_override():
                continue
            if not override.is_sweep_override():
                values[key] = [f"{key}={override.get_value_element_as_str()}"]
            elif override.is_discrete_sweep():
                with self._in_one_sentence():
                    values[key] = [f"{key}={value}" for value in override.sweep_string_iterator()]
                if not values[key]:
                    raise UserError(f"{shorten(str(override.input_line))}: a sweep without values")
        combinations = itertools.product(*values.values())
        return [list(job) for job in itertools.islice(combinations, MAX_CHECKED_JOBS)]

    def fixed(self, overrides: Sequence[str]) -> list[str]:
        """The keys that a sweep with ``overrides`` does not vary."""
        parsed = map(self._parse, overrides)
        return [override.key_or_group for override in parsed if not override.is_sweep_override()]

    def complete(self, overrides: Sequence[str], *, multirun: bool = False) -> list[str]:
        """The overrides with ``++`` before each key, so that the sections' own checks judge it, not Hydra.

        Raises:
            UserError: for an override that cannot be read, and for a sweep without ``multirun``.
        """
        groups, completed = self.choices(), list[str]()
        for number, text in enumerate(overrides):
            try:
                override = self._parse(text)
            except UserError as error:
                raise UserError(spaced(overrides, number, multirun=multirun) or str(error)) from error
            key = override.key_or_group
            if not key:
                raise UserError(f"{shorten(text)!r}: an override is written name=value, without spaces")
            if override.is_sweep_override() and not multirun:
                other = f"; a list is written {key}=[a,b]" if key not in groups else ""
                other = (
                    "; of several files write 'part*.en', or choose data=mixture" if key in FILES else other
                )
                other += "; a decimal mark is a point" * ("=0," in text)
                raise UserError(f"{shorten(text)}: several values are a sweep and need --multirun{other}")
            whole = next((group for group in groups if group.endswith(f"/{key}")), None)
            if (whole or "/" in key) and key not in groups and not override.is_hydra_override():
                raise UserError(f"{shorten(key)}: no such group{did_you_mean(whole or nearest(key, groups))}")
            group, choice = key.replace(".", "/"), override.value()
            if key in groups and isinstance(choice, list):
                several = f"{key}={','.join(map(str, choice))}"
                raise UserError(f"{shorten(text)}: expected one choice; a sweep is {several} with --multirun")
            if "." in key and group in groups and isinstance(choice, str):
                raise UserError(f"{key}: this is a section; a choice is written {group}={shorten(choice)}")
            is_choice = key in groups or "/" in key or override.package or override.is_hydra_override()
            text = str(override.input_line)
            completed.append(text if is_choice or text.startswith(("+", "~")) else f"++{text}")
        return completed

    def _composed(self, overrides: Sequence[str]) -> DictConfig:
        """The configuration with Hydra's own section, from overrides that are complete."""
        given = list(overrides)
        others = [str(folder) for folder in self.folders if folder != self.root]
        if others:
            quoted = ["'file://" + path.replace("\\", "\\\\").replace("'", "\\'") + "'" for path in others]
            given.append(f"hydra.searchpath=[{','.join(quoted)}]")
        with self._in_one_sentence(), self._hydra():
            config = hydra.compose(self.config_name, given, return_hydra_config=True)
            HydraConfig.instance().set_config(config)  # for ${hydra:...} in files of the user
            choices = {
                str(group): str(choice) for group, choice in config.hydra.runtime.choices.items() if choice
            }
            self._chosen[tuple(overrides)] = choices
            return config

    def _parse(self, text: str) -> Override:
        """An override; a value that is no expression of Hydra's, such as ``Français``, is text."""
        try:
            (parsed,) = self.parser.parse_overrides([text])
        except (HydraException, ValueError, RecursionError) as error:
            name, equals, value = text.partition("=")
            is_text = value.isprintable() and "${" not in value and not value.startswith(EXPRESSIONS)
            if equals and is_text:
                escaped = value.replace("'", "\\'")
                with suppress(HydraException, ValueError, RecursionError):
                    (parsed,) = self.parser.parse_overrides([f"{name}='{escaped}'"])
                    return parsed
            reason = (str(error).splitlines() or [""])[0]
            raise UserError(malformed(text, reason, self.choices())) from error
        return parsed

    def _with_hint(self, message: str, overrides: Sequence[str], values: Mapping[str, Any]) -> str:
        """The message about an unknown key, with the experiment that sets it, or the key that was meant."""
        path, unknown, reason = message.partition(": unknown ")
        if not unknown:
            return message
        given = [override.key_or_group for override in map(self._parse, overrides)]
        parent, _, leaf = path.rpartition(".")
        known = [name for keys, _ in leaves(values) if (name := ".".join(keys)) != path and name not in given]
        group = parent.replace(".", "/")
        typed = any(f"{key}.".startswith(f"{path}.") for key in given)
        if typed and leaf in ("name", "type") and group in self.choices():
            return message.partition(";")[0] + did_you_mean(f"{group}=NAME")
        if typed and (elsewhere := named_elsewhere(leaf, known)):
            return message.partition(";")[0] + did_you_mean(elsewhere)
        if typed and (having := [f"{group}={name}" for name in self.having(group, leaf)]):
            return f"{message.partition(';')[0]}; {listed(having)} {'have' if having[1:] else 'has'} it"
        if "did you mean" in reason:
            return message
        if leaf in self.choices():
            return message.partition(";")[0] + did_you_mean(f"{leaf}=NAME")
        if EXPERIMENT in given and path not in given:
            return f"{message}; {EXPERIMENT} sets it for another choice: leave out one of the two"
        paths = {name.rpartition(".")[2]: name for name in known}
        near = nearest(leaf, paths, cutoff=0.8)
        section: Any = values if parent else None
        for part in parent.split("."):
            section = section.get(part) if isinstance(section, Mapping) else None
        if near is None and isinstance(section, Mapping):
            names = [str(name) for name in section if name != leaf and not str(name).startswith("_")]
            return f"{message}; {parent} has {listed(names)}"
        return message + did_you_mean(near and paths[near])

    def having(self, group: str, key: str) -> list[str]:
        """The choices of a group whose files set ``key``."""
        names = self.choices().get(group, [])
        files = [folder / group / f"{name}.yaml" for name in names for folder in self.folders]
        return [file.stem for file in files if file.is_file() and f"\n{key}: ".encode() in file.read_bytes()]

    @contextmanager
    def _hydra(self) -> Iterator[ConfigLoader]:
        """Hydra with the folder of the primary file; afterwards the caller's Hydra, if any, is as it was."""
        current = GlobalHydra.instance()
        outer = current.hydra
        current.clear()
        try:
            with hydra.initialize_config_dir(str(self.root), job_name="train", version_base=VERSION_BASE):
                yield GlobalHydra.instance().config_loader()
        finally:
            GlobalHydra.instance().hydra = outer

    @contextmanager
    def _in_one_sentence(self) -> Iterator[None]:
        """Turn errors of Hydra, OmegaConf and YAML into ``UserError``."""
        try:
            yield
        except UserError:
            raise
        except FAILURES as error:
            raise UserError(explain_composing(error, self.choices())) from error
