"""Composing ``conf/`` with Hydra; every error is one sentence with the path and the nearest valid name."""

import copy
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import hydra.version
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra._internal.config_repository import IConfigRepository
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra._internal.utils import create_config_search_path
from hydra.core.config_search_path import SearchPathQuery
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.core.utils import JobRuntime, setup_globals
from hydra.errors import HydraException
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf, open_dict

from translate.config.explain import explained
from translate.config.names import config_directory, did_you_mean, nearest
from translate.config.overrides import check_choice, choices_of, is_unwritten, malformed
from translate.config.schema import plain
from translate.config.sources import display_path
from translate.errors import UserError

VERSION_BASE = "1.3"
MAX_CHECKED_JOBS = 100  # of a sweep, before it starts; each takes some hundredths of a second
EXPERIMENT = "experiment"  # the group whose files set keys of all sections

Check = Callable[[DictConfig], Any]


def compose(
    overrides: Sequence[str] = (),
    config_dirs: Sequence[Path] = (),
    check: Check | None = None,
    *,
    schemas: Mapping[str, type] | None = None,
) -> DictConfig:
    """Compose ``conf/config.yaml`` with overrides such as ``model=rnn_luong`` or ``training.max_steps=10``.

    Args:
        overrides: in Hydra's grammar. An option that no file mentions may be given as well if its schema, or
            the signature of its target, has it.
        config_dirs: folders of the user, with groups as in ``conf/``.
        check: called with the configuration; its :class:`UserError` gets the file and line of the key.
        schemas: the dataclass of each closed section.

    Raises:
        UserError: for anything that does not exist or is malformed.
    """
    return Composer(config_dirs, schemas=schemas).compose(overrides, check)


def check_sections(values: Mapping[str, Any], known: Collection[str]) -> None:
    """Raise ``UserError`` for a top-level key that is not a known section, or a section that is none."""
    for key, value in values.items():
        if key not in known:
            raise UserError(f"{key}: unknown section" + did_you_mean(nearest(str(key), known)))
        if not isinstance(value, Mapping):
            raise UserError(f"{key}: expected a section of keys and values, got {value!r}")


class Composer:
    """``conf/`` and the folders of the user, ready to be composed.

    Args:
        config_dirs: folders of the user.
        schemas: the dataclass of each closed section.
        config_name: the primary file.
        root: replaces ``conf/``.
    """

    def __init__(
        self,
        config_dirs: Sequence[Path] = (),
        *,
        schemas: Mapping[str, type] | None = None,
        config_name: str = "config",
        root: Path | None = None,
    ) -> None:
        self.schemas = dict(schemas or {})
        self.config_name = config_name.removesuffix(".yaml")
        self.root = Path(root or config_directory()).resolve()
        hydra.version.setbase(VERSION_BASE)
        JobRuntime.instance().set("name", "train")
        search = create_config_search_path(f"file://{self.root}")
        for folder in config_dirs:
            if not Path(folder).is_dir():
                raise UserError(f"{folder}: no such folder of configuration files")
            anchor = SearchPathQuery(provider="schema")
            search.prepend(provider="command-line", path=f"file://{Path(folder).resolve()}", anchor=anchor)
        self.loader = ConfigLoaderImpl(config_search_path=search)
        self.parser = OverridesParser.create(config_loader=self.loader)
        self._composed: dict[tuple[str, ...], DictConfig] = {}
        self._repositories: dict[tuple[str, ...], IConfigRepository] = {}
        if not self.loader.repository.config_exists(self.config_name):
            raise UserError(f"{self.config_name}: no such file in {display_path(self.root)}")

    def choices(self) -> dict[str, list[str]]:
        """Every group (``model``, ``model/attention`` ...) and what may be chosen in it."""
        return choices_of(self._repository(()))

    def compose(self, overrides: Sequence[str] = (), check: Check | None = None) -> DictConfig:
        """As the function :func:`compose`."""
        choices, keys = self._split(self.complete(overrides))
        with self._explained(choices, keys):
            config = copy.deepcopy(self._chosen(choices))
            self.loader._apply_overrides_to_config(keys, config)
            with open_dict(config):
                del config["hydra"]
            if EXPERIMENT in config:
                raise UserError(f"{EXPERIMENT}: the first line of its file must be '# @package _global_'")
            check_sections(plain(config), self._sections())
            if check is not None:
                check(config)
        return config

    def jobs(self, overrides: Sequence[str]) -> list[list[str]]:
        """The overrides of each job of a sweep (``model=a,b`` are two), as Hydra's own sweeper has them.

        Ranges that only another sweeper understands are left out; so is what exceeds ``MAX_CHECKED_JOBS``.
        """
        parsed = [each for each in self._parse(overrides) if not each.is_hydra_override()]
        discrete = [each for each in parsed if not each.is_sweep_override() or each.is_discrete_sweep()]
        return BasicSweeper.split_arguments(discrete, None)[0][:MAX_CHECKED_JOBS]

    def fixed(self, overrides: Sequence[str]) -> list[str]:
        """The keys that a sweep with ``overrides`` does not vary."""
        return [each.key_or_group for each in self._parse(overrides) if not each.is_sweep_override()]

    def complete(self, overrides: Sequence[str], *, multirun: bool = False) -> list[str]:
        """The overrides with ``++`` before each valid key that no file mentions, as Hydra wants it.

        Raises:
            UserError: for a group, choice or key that does not exist.
        """
        parsed = self._parse(overrides)
        for override in parsed:
            if override.is_sweep_override() and not multirun:
                raise UserError(
                    f"{override.input_line}: several values are a sweep and need --multirun; "
                    f"a list is written {override.key_or_group}=[a,b]"
                )
        added: set[str] = set()
        for job in self.jobs(overrides) if multirun else [list(overrides)]:
            added |= self._unwritten(job)
        if multirun:  # Hydra first composes a sweep without the choices that vary, and would miss their keys
            added |= {each.key_or_group for each in self._split(overrides)[1]}
        return [
            f"++{text}" if each.key_or_group in added and not text.startswith(("+", "~")) else text
            for text, each in zip(overrides, parsed)
        ]

    def _unwritten(self, overrides: Sequence[str]) -> set[str]:
        """Keys that exist but stand in no file; checks all groups, choices and keys of ``overrides``."""
        repository = self._repository(overrides)
        groups = self.choices()
        choices, keys = self._split(overrides)
        for override in choices:
            if not override.is_hydra_override() and override.package is None:
                check_choice(override, groups, repository)
        if not keys:
            return set()
        with self._explained(choices, []):
            config = self._chosen(choices)
        return {each.key_or_group for each in keys if is_unwritten(each, config, groups, self.schemas)}

    def _split(self, overrides: Sequence[str]) -> tuple[list[Override], list[Override]]:
        """Those that choose files (and Hydra's own), and those that set keys."""
        repository = self._repository(overrides)
        choices: list[Override] = []
        keys: list[Override] = []
        for each in self._parse(overrides):
            chooses = each.package is not None or repository.group_exists(each.key_or_group)
            (choices if chooses or each.is_hydra_override() else keys).append(each)
        return choices, keys

    def _sections(self) -> set[str]:
        """The top-level keys: the groups of ``conf/``, and the sections of its primary file."""
        groups = {entry.name for entry in config_directory().iterdir() if entry.is_dir()} - {EXPERIMENT}
        primary = OmegaConf.load(config_directory() / "config.yaml")
        return groups | ({str(key) for key in primary} - {"defaults", "hydra"})

    def _chosen(self, choices: Sequence[Override]) -> DictConfig:
        """What the files say, before any key is set; kept, for a sweep asks again and again."""
        texts = tuple(str(each.input_line) for each in choices)
        if texts not in self._composed:
            config = self.loader.load_configuration(self.config_name, list(texts), run_mode=RunMode.RUN)
            setup_globals()
            HydraConfig.instance().set_config(config)  # for ${hydra:...} in files of the user
            self._composed[texts] = config
        return self._composed[texts]

    def _parse(self, overrides: Sequence[str]) -> list[Override]:
        parsed = []
        for text in overrides:
            try:
                parsed += self.parser.parse_overrides([text])
            except HydraException as error:
                reason = str(error).splitlines()[0]
                raise UserError(malformed(text, reason, self.choices())) from error
        return parsed

    def _repository(self, overrides: Sequence[str]) -> IConfigRepository:
        """Where files are sought, ``hydra.searchpath`` included."""
        paths = tuple(each for each in overrides if "hydra.searchpath" in each)
        if paths not in self._repositories:
            found = self.loader._parse_overrides_and_create_caching_repo(self.config_name, list(paths))
            self._repositories[paths] = found[1]
        return self._repositories[paths]

    def _explained(
        self, choices: Sequence[Override], keys: Sequence[Override]
    ) -> AbstractContextManager[None]:
        texts = [str(each.input_line) for each in choices]
        return explained(self.loader, self.config_name, texts, [each.key_or_group for each in keys])
