"""From the command line to a service: names of runs, their models, the engine."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import torch

from translate.config.names import shorten, shown_path
from translate.errors import UserError
from translate.serve.batch.engine import Engine
from translate.serve.catalogue import Catalogue, Served, language_code
from translate.serve.glossaries import MAX_GLOSSARIES
from translate.serve.metrics import Metrics
from translate.serve.service import Service, ServiceLimits
from translate.serve.store import Store
from translate.serve.web.keys import Keys
from translate.serve.web.logs import Log
from translate.serve.word_confidence import stored
from translate.translation import TranslateOptions
from translate.translator import Translator

MAX_NAME = 60  # characters
SERVED_TOGETHER = 64  # sentences: newcomers wait for a step, and a step of twice as many takes twice as long


def named_runs(arguments: Sequence[str]) -> dict[str, list[Path]]:
    """The runs of each name: ``RUN`` is called as its folder, ``NAME=RUN`` as it says.

    A name that is given several times is an ensemble.

    Raises:
        UserError: for a name that is empty or too long, or two folders of the same name.
    """
    found: dict[str, list[Path]] = {}
    for argument in arguments:
        name, sign, run = argument.partition("=")
        if not sign or Path(argument).exists():
            name, run = Path(argument).resolve().name, argument
            if name in found:
                raise UserError(f"two runs are called {shorten(name)}; name them: NAME={shown_path(run)}")
        if not name or len(name) > MAX_NAME or not name.isprintable():
            raise UserError(f"{shorten(argument)}: expected a name of 1 to {MAX_NAME} printable characters")
        found.setdefault(name, []).append(Path(run))
    return found


def read_languages(arguments: Sequence[str], names: Sequence[str]) -> dict[str, tuple[str, str]]:
    """The languages that options ``NAME=en-fr`` give to runs.

    Raises:
        UserError: for another form, or a name that no run has.
    """
    found = {}
    for argument in arguments:
        name, _, pair = argument.rpartition("=")
        source, _, target = pair.partition("-")
        if not (name and source.isalpha() and target.isalpha()):
            raise UserError(
                f"--languages {shorten(argument)}: expected NAME=SOURCE-TARGET, such as mine=en-fr"
            )
        if name not in names:
            raise UserError(f"--languages {shorten(argument)}: no run is called {shorten(name)}")
        found[name] = (source, target)
    return found


def open_catalogue(
    runs: Mapping[str, Sequence[Path]],
    languages: Mapping[str, tuple[str, str]],
    load: Callable[[Path], Translator],
    batch_size: int | None,
) -> Catalogue:
    """The models of the runs.

    Args:
        runs: of each name.
        languages: of names, in place of those that the runs tell.
        load: reads a run.
        batch_size: of the running batch; each run's own by default, ``SERVED_TOGETHER`` at most.

    Raises:
        UserError: if a run cannot be loaded, does not tell its languages, or does not fit its ensemble.
    """
    served = []
    for name, paths in runs.items():
        translator, *others = (load(path) for path in paths)
        if others:
            translator = translator.join(others)
        if translator.reads != "text":
            raise UserError(
                f"{shown_path(paths[0])}: the run reads pictures, and a request holds text alone; "
                "use translate text RUN --image FILE"
            )
        translator = replace(translator, engine=translator.engine_for(TranslateOptions()))
        source, target = languages.get(name, translator.languages)
        if not source or not target:
            raise UserError(
                f"{shown_path(paths[0])}: the run does not tell its languages; add --languages {name}=en-fr, "
                "with its own"
            )
        together = batch_size or min(translator.search.batch_size, SERVED_TOGETHER)
        translator = replace(translator, search=replace(translator.search, batch_size=together))
        counted = None if others else stored(paths[0], translator.model)
        served.append(Served(name, language_code(source), language_code(target), translator, counted))
    return Catalogue(served)


def new_service(catalogue: Catalogue, limits: ServiceLimits, keys: Keys, log: Log, folder: Path) -> Service:
    """A service for models, with as many threads as torch has.

    Args:
        catalogue, limits, keys, log: see :class:`Service`.
        folder: for files of clients, shared by all workers.
    """
    metrics = Metrics()
    engine = Engine(torch.get_num_threads(), limits.queue, metrics)
    documents = Store(folder / "documents")
    glossaries = Store(folder / "glossaries", MAX_GLOSSARIES + 1, 1 << 30, None)
    return Service(catalogue, engine, limits, metrics, keys, log, documents, glossaries)
