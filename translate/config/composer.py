"""Composing ``conf/`` with Hydra; every error is one sentence with the path and the nearest valid name."""

import copy
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import hydra
from hydra.core.config_loader import ConfigLoader
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.object_type import ObjectType
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.core.plugins import Plugins
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf, open_dict

from translate.config.messages import EXPERIMENT, for_another_choice, malformed
from translate.config.names import config_directory, did_you_mean, display_path, nearest, shorten
from translate.config.overrides import (
    FAILURES,
    MAX_JOBS,
    MAX_OVERRIDES,
    UserFiles,
    UserFolders,
    apply,
    check_interpolations,
    check_length,
    explain,
    is_unwritten,
    sweep_values,
)
from translate.config.settings import check_section_names
from translate.config.values import plain
from translate.errors import UserError

VERSION_BASE = "1.3"
MAX_CHECKED_JOBS = 100  # of a sweep, before it starts

Check = Callable[[DictConfig], Any]


def compose(
    overrides: Sequence[str] = (), config_dirs: Sequence[Path] = (), check: Check | None = None
) -> DictConfig:
    """Compose ``conf/config.yaml`` with overrides such as ``model=rnn_luong`` or ``training.max_steps=10``.

    Args:
        overrides: in Hydra's grammar. An option that no file mentions may be given too if its section, or
            the signature of its target, has it.
        config_dirs: the user's folders, with groups as in ``conf/``.
        check: called with the configuration.

    Raises:
        UserError: for anything that does not exist or is malformed.
    """
    return Composer(config_dirs).compose(overrides, check)


class Composer:
    """Composes ``conf/`` and the user's folders.

    Args:
        config_dirs: the user's folders.
        config_name: the primary file.
        root: replaces ``conf/``.
    """

    def __init__(
        self, config_dirs: Sequence[Path] = (), *, config_name: str = "config", root: Path | None = None
    ) -> None:
        self.config_name = config_name.removesuffix(".yaml")
        self.root = Path(root or config_directory()).resolve()
        for folder in config_dirs:
            if not Path(folder).is_dir():
                raise UserError(f"{folder}: no such folder of configuration files")
        self.folders = [Path(folder).resolve() for folder in config_dirs]
        with self._hydra() as loader:
            self.loader = loader
        self.parser = OverridesParser.create(config_loader=self.loader)
        self._parsed: dict[str, list[Override]] = {}
        self._composed: dict[tuple[str, ...], DictConfig] = {}
        self._listed: dict[tuple[Any, ...], list[str]] = {}
        if not self._has_file(self.config_name):
            raise UserError(f"{self.config_name}: no such file in {display_path(self.root)}")

    def choices(self) -> dict[str, list[str]]:
        """Every group (``model``, ``model/attention`` ...) and its choices; ``_*.yaml`` is no choice."""
        found = {}
        for group in self._groups():
            options = [name for name in self._list(group) if not name.startswith("_")]
            if options:
                found[group] = options
        return found

    def compose(self, overrides: Sequence[str] = (), check: Check | None = None) -> DictConfig:
        """As the function :func:`compose`."""
        choices, keys = self._split(self.complete(overrides))
        config = copy.deepcopy(self._chosen(choices))
        with self._in_one_sentence():
            for override in keys:
                apply(override, config)
            with open_dict(config):
                del config["hydra"]
            if EXPERIMENT in config:
                raise UserError(f"{EXPERIMENT}: the first line of its file must be '# @package _global_'")
            check_interpolations(config)
            check_section_names(plain(config))
            if check is not None:
                try:
                    check(config)
                except UserError as error:
                    raise for_another_choice(error, choices, keys, self._chosen) from error
        return config

    def jobs(self, overrides: Sequence[str]) -> list[list[str]]:
        """The overrides of each job of a sweep (``model=a,b`` are two), at most ``MAX_CHECKED_JOBS``.

        Ranges that only another sweeper than Hydra's own understands are left out.

        Raises:
            UserError: if Hydra's own sweeper would make more than ``MAX_JOBS``.
        """
        values: dict[str, list[str]] = {}
        for override in self._parse(overrides):
            key = override.get_key_element()
            if override.is_hydra_override():
                continue
            if not override.is_sweep_override():
                values[key] = [f"{key}={override.get_value_element_as_str()}"]
            elif override.is_discrete_sweep():
                with self._in_one_sentence():
                    values[key] = [f"{key}={value}" for value in sweep_values(override)]
                if not values[key]:
                    raise UserError(f"{shorten(str(override.input_line))}: a sweep without values")
        if math.prod(map(len, values.values())) > MAX_JOBS and self._sweeps_all(overrides):
            raise UserError(f"--multirun: a sweep of more than {MAX_JOBS:,} runs; give fewer values")
        combinations = itertools.product(*values.values())
        return [list(job) for job in itertools.islice(combinations, MAX_CHECKED_JOBS)]

    def _sweeps_all(self, overrides: Sequence[str]) -> bool:
        """Whether the sweeper makes every combination, as Hydra's own does."""
        own = [text for text, parsed in zip(overrides, self._parse(overrides)) if parsed.is_hydra_override()]
        return self.chosen(own).get("hydra/sweeper", "basic") == "basic"

    def fixed(self, overrides: Sequence[str]) -> list[str]:
        """The keys that a sweep with ``overrides`` does not vary."""
        parsed = self._parse(overrides)
        return [override.key_or_group for override in parsed if not override.is_sweep_override()]

    def chosen(self, overrides: Sequence[str] = ()) -> dict[str, str]:
        """The choice of each group, for example ``model/attention: additive``."""
        choices, _ = self._split(overrides)
        found = self._chosen(choices).hydra.runtime.choices
        return {str(group): str(choice) for group, choice in found.items() if choice is not None}

    def complete(self, overrides: Sequence[str], *, multirun: bool = False) -> list[str]:
        """The overrides with ``++`` before each valid key that no file mentions, as Hydra wants it.

        Raises:
            UserError: for a group, choice or key that does not exist.
        """
        parsed = self._parse(overrides)
        for override in parsed:
            if override.is_sweep_override() and not multirun:
                raise UserError(
                    f"{shorten(str(override.input_line))}: several values are a sweep and need --multirun; "
                    f"a list is written {override.key_or_group}=[a,b]"
                )
        added: set[str] = set()
        for job in self.jobs(overrides) if multirun else [list(overrides)]:
            added |= self._unwritten(job)
        if multirun:  # Hydra first composes a sweep without the choices that vary, and would miss their keys
            added |= {override.key_or_group for override in self._split(overrides)[1]}
        return [
            f"++{text}" if override.key_or_group in added and not text.startswith(("+", "~")) else text
            for text, override in zip(overrides, parsed)
        ]

    def _unwritten(self, overrides: Sequence[str]) -> set[str]:
        """Keys that exist but stand in no file; checks all groups, choices and keys of ``overrides``."""
        choices, keys = self._split(overrides)
        for override in choices:
            if not override.is_hydra_override() and override.package is None:
                self._check_choice(override, choices)
        if not keys:
            return set()
        written: Any = OmegaConf.to_container(self._chosen(choices), resolve=False)
        return {override.key_or_group for override in keys if is_unwritten(override, written, self.choices)}

    def _check_choice(self, override: Override, others: Sequence[Override]) -> None:
        """Raise ``UserError`` if the group has no such choice."""
        group, value = override.key_or_group, override.value()
        if override.is_delete() or value is None:
            return
        for choice in value if isinstance(value, list) else [value]:
            if not isinstance(choice, str) or not self._has_file(f"{group}/{choice}", others):
                options = self.choices().get(group, [])
                near = nearest(str(choice), options)
                raise UserError(
                    f"{group}={shorten(str(choice))}: no such choice"
                    f"{did_you_mean(near and f'{group}={near}')} (there are {', '.join(options) or 'none'})"
                )

    def _split(self, overrides: Sequence[str]) -> tuple[list[Override], list[Override]]:
        """Overrides that choose files (and Hydra's own), and those that set keys."""
        parsed = self._parse(overrides)
        choices: list[Override] = []
        keys: list[Override] = []
        for override in parsed:
            parent, _, name = override.key_or_group.rpartition("/")
            chooses = override.package is not None or override.is_hydra_override()
            chooses = chooses or name in self._list(parent, ObjectType.GROUP, parsed)
            (choices if chooses else keys).append(override)
        return choices, keys

    def _chosen(self, choices: Sequence[Override]) -> DictConfig:
        """What the files say, before any key is set; kept, for a sweep asks again and again."""
        texts = tuple(str(override.input_line) for override in choices)
        if texts not in self._composed:
            with self._in_one_sentence(), self._hydra():
                config = hydra.compose(self.config_name, list(texts), return_hydra_config=True)
                HydraConfig.instance().set_config(config)  # for ${hydra:...} in files of the user
                self._composed[texts] = config
        return self._composed[texts]

    def _parse(self, overrides: Sequence[str]) -> list[Override]:
        if len(overrides) > MAX_OVERRIDES:
            raise UserError(f"{len(overrides):,} overrides; expected at most {MAX_OVERRIDES:,}")
        for text in overrides:
            if text in self._parsed:
                continue
            check_length(text)
            try:
                self._parsed[text] = self.parser.parse_overrides([text])
            except (HydraException, ValueError, RecursionError) as error:
                reason = (str(error).splitlines() or [""])[0]
                raise UserError(malformed(text, reason, self.choices())) from error
        return [override for text in overrides for override in self._parsed[text]]

    def _groups(self, parent: str = "") -> list[str]:
        """Every group below ``parent``, each before those inside it."""
        found = []
        for name in self._list(parent, ObjectType.GROUP):
            group = f"{parent}/{name}".removeprefix("/")
            found += [group, *self._groups(group)]
        return found

    def _has_file(self, name: str, others: Sequence[Override] = ()) -> bool:
        group, _, file = name.rpartition("/")
        return file in self._list(group, ObjectType.CONFIG, others)

    def _list(
        self, group: str, kind: ObjectType = ObjectType.CONFIG, others: Sequence[Override] = ()
    ) -> list[str]:
        """Files or groups in a group, also where a ``hydra.searchpath`` among ``others`` leads."""
        paths = [str(other.input_line) for other in others if other.key_or_group == "hydra.searchpath"]
        asked = (group, kind, *paths)
        if asked not in self._listed:
            if paths:
                found = self.loader.get_group_options(group, kind, self.config_name, paths)
            else:  # as the loader does it, without its copies of all sources for each of some thirty groups
                sources = [source for source in self.loader.get_sources() if source.is_group(group)]
                found = [name for source in sources for name in source.list(group, kind)]
            self._listed[asked] = sorted({name for name in found if f"{group}/{name}" != "/hydra"})
        return self._listed[asked]

    @contextmanager
    def _hydra(self) -> Iterator[ConfigLoader]:
        """Hydra with this composer's folders; afterwards the caller's Hydra, if any, is as it was."""
        current = GlobalHydra.instance()
        outer = current.hydra
        current.clear()
        Plugins.instance().register(UserFolders)
        Plugins.instance().register(UserFiles)
        UserFolders.paths, UserFolders.own_root = self.folders, self.root != config_directory().resolve()
        try:
            with hydra.initialize_config_dir(str(self.root), job_name="train", version_base=VERSION_BASE):
                yield GlobalHydra.instance().config_loader()
        finally:
            UserFolders.paths, UserFolders.own_root = (), False
            GlobalHydra.instance().hydra = outer

    @contextmanager
    def _in_one_sentence(self) -> Iterator[None]:
        """Turns the errors of Hydra, OmegaConf and YAML into ``UserError``."""
        try:
            yield
        except UserError:
            raise
        except FAILURES as error:
            raise UserError(explain(error, self.choices)) from error
