"""Several runs in one command: their names and their languages; and files of translations in their place."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from translate.config.names import listed, shorten
from translate.errors import UserError


class System(NamedTuple):
    """A run, or a file of translations that some system wrote."""

    name: str
    path: Path
    is_run: bool


def read_systems(arguments: Sequence[str]) -> list[System]:
    """The systems of arguments ``RUN``, ``NAME=RUN`` and ``NAME=FILE``.

    Raises:
        UserError: if one is no run directory, or if two have the same name.
    """
    from translate.runs.storage.run_path import check_is_run

    runs = [Path(argument) for argument in arguments if _is_run(argument)]
    names = dict(zip(runs, run_names(runs, "compare"), strict=True))
    systems = []
    for argument in arguments:
        name, _, path = argument.partition("=")
        if _is_run(argument):
            check_is_run(Path(argument))
            systems.append(System(names[Path(argument)], Path(argument), True))
        elif not name or not path:
            raise UserError(f"compare: {shorten(argument)!r}: expected RUN, NAME=RUN or NAME=FILE")
        else:
            systems.append(System(name, Path(path), Path(path).is_dir()))
    given = [system.name for system in systems]
    if len(set(given)) < len(given):
        raise UserError(f"compare: two systems have the same name: {listed(given)}; give others by NAME=RUN")
    return systems


def _is_run(argument: str) -> bool:
    return "=" not in argument or Path(argument).is_dir()


def run_names(runs: Sequence[Path], command: str) -> list[str]:
    """The names of the runs' folders; the paths as given where two names are equal.

    Raises:
        UserError: if a run is given twice.
    """
    names = [run.resolve().name for run in runs]
    if len({run.resolve() for run in runs}) < len(runs):
        raise UserError(f"{command}: a run is given twice: {listed(runs)}")
    return names if len(set(names)) == len(names) else [str(run) for run in runs]


def check_languages(languages: Mapping[str, tuple[str, str]], command: str) -> None:
    """Raise :class:`UserError` if runs do not translate between the same languages, by name."""
    first, *others = languages.items()
    for other in others:
        if all(first[1]) and all(other[1]) and first[1] != other[1]:
            facts = [f"{name} translates {' to '.join(pair)}" for name, pair in (first, other)]
            raise UserError(f"{command} needs the same languages; {', '.join(facts)}")


def languages_of(run: Path) -> tuple[str, str]:
    """The languages of a run by its settings, without loading it; empty where they are not known."""
    from translate.runs.storage.run_path import CONFIG, check_is_run
    from translate.text.bounded import read_yaml

    check_is_run(run)
    settings = read_yaml(run / CONFIG, root=run)
    data = settings.get("data") if isinstance(settings, dict) else None
    found = [
        data.get(f"{side}_language") if isinstance(data, dict) else None for side in ("source", "target")
    ]
    source, target = (language if isinstance(language, str) else "" for language in found)
    return source, target
