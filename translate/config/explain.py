"""Hydra's errors in one sentence, with the file and line that a wrong key or choice was written in."""

import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra.core.object_type import ObjectType
from hydra.errors import HydraException, MissingConfigException
from hydra.types import RunMode
from omegaconf.errors import OmegaConfBaseException

from translate.config.names import did_you_mean, nearest
from translate.config.overrides import choices_of
from translate.config.sources import Source, YAMLError, explain_yaml, find_default, find_key
from translate.errors import UserError

# What Hydra and OmegaConf let through beside their own errors, for malformed files
_FAILURES = (HydraException, OmegaConfBaseException, OSError, ValueError, TypeError, AssertionError)


@contextmanager
def explained(
    loader: ConfigLoaderImpl, config_name: str, overrides: Sequence[str], given: Collection[str]
) -> Iterator[None]:
    """Turns what is raised inside into a ``UserError``; keys ``given`` on the command line get no file."""
    try:
        yield
    except UserError as error:
        message = str(error)
        path = re.match(r"[\w.]*\w", message)
        if path is None or any(f"{path[0]}.".startswith(f"{key}.") for key in given):
            raise
        place = find_key(path[0], _composed_files(loader, config_name, overrides))
        raise UserError(f"{message} ({place})" if place else message) from error
    except YAMLError as error:
        raise UserError(explain_yaml(error)) from error
    except MissingConfigException as error:
        raise UserError(_missing_choice(loader, error.missing_cfg_file or "")) from error
    except _FAILURES as error:
        raise UserError(_from_hydra(loader, error)) from error


def _composed_files(loader: ConfigLoaderImpl, config_name: str, overrides: Sequence[str]) -> list[Source]:
    """The YAML files that were composed, in order; those of Hydra itself are left out."""
    repository = loader._parse_overrides_and_create_caching_repo(config_name, list(overrides))[1]
    found = []
    for default in loader.compute_defaults_list(config_name, list(overrides), RunMode.RUN).defaults:
        result = repository.load_config(default.config_path) if default.config_path else None
        if result is not None and result.path.startswith("file://"):
            file = Path(result.path.removeprefix("file://")) / f"{default.config_path}.yaml"
            found.append(Source(file, (default.package or "").replace("_global_", "")))
    return found


def _all_files(loader: ConfigLoaderImpl) -> list[Source]:
    """All YAML files that might have been composed; those of the user last."""
    folders = [Path(each.path) for each in loader.get_sources() if each.provider in ("main", "command-line")]
    return [Source(file, "") for folder in folders for file in sorted(folder.rglob("*.yaml"))]


def _missing_choice(loader: ConfigLoaderImpl, name: str) -> str:
    """A defaults list chooses ``group/option``, which does not exist."""
    group, _, option = name.rpartition("/")
    choices = choices_of(loader.repository)
    place = find_default(option, _all_files(loader))
    where = f" ({place})" if place else ""
    if loader.repository.group_exists(group):
        near = nearest(option, loader.repository.get_group_options(group, ObjectType.CONFIG))
        return f"{group}={option}: no such choice{did_you_mean(near and f'{group}={near}')}{where}"
    return f"{group or option}: no such group{did_you_mean(nearest(group or option, choices))}{where}"


def _from_hydra(loader: ConfigLoaderImpl, error: BaseException) -> str:
    lines = [line.strip() for each in (error, error.__cause__) if each for line in str(each).splitlines()]
    message = "; ".join(line for line in lines if line) or type(error).__name__
    group = re.search(r"Could not override '(.+?)'\. No match", message)
    if group is None:
        return f"configuration: {message}"
    place = find_default(group[1], _all_files(loader))
    near = nearest(group[1], choices_of(loader.repository))
    return f"{group[1]}: no such group{did_you_mean(near)}" + (f" ({place})" if place else "")
