"""``translate serve``: HTTP APIs over runs, and the page to translate in."""

import gc
import ipaddress
import os
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from translate.cli.console import INTERRUPTED, print_error, print_note
from translate.cli.options import Engine, TranslationMachine, flag, option, with_groups
from translate.errors import UserError, optional
from translate.serve.limits import ServiceLimits

if TYPE_CHECKING:
    import socket

    from starlette.types import ASGIApp

SETTINGS = "TRANSLATE_SERVE"  # the variable of the environment with the settings of workers
LOGGERS = ("uvicorn.error", "asyncio")
NEEDED = ("starlette", "uvicorn", "python_multipart", "prometheus_client")


@dataclass(frozen=True)
class AddressOptions:
    """The address of the server, and those who may use it."""

    PANEL: ClassVar = "Address"

    host: Annotated[str, option("ADDRESS", "Where to listen.")] = "127.0.0.1"
    port: Annotated[int, option("N", "0 takes a free one.", min=0, max=65535)] = 5000
    key_file: Annotated[Path | None, option("FILE", "Keys that clients must give, one a line.")] = None
    public: Annotated[bool, flag("--public", "Let everybody in who reaches the address, without a key.")] = (
        False
    )


@dataclass(frozen=True)
class LimitOptions:
    """The limits of a request, and of all together."""

    PANEL: ClassVar = "Limits"

    max_characters: Annotated[int, option("N", "Of a request's texts.", min=1)] = ServiceLimits.characters
    max_texts: Annotated[int, option("N", "Texts of a request.", min=1)] = ServiceLimits.texts
    max_memory: Annotated[int, option("BYTES", "Memory that a request may need, by an estimate.", min=1)] = (
        ServiceLimits.memory
    )
    max_body: Annotated[int, option("BYTES", "Of a request.", min=1)] = ServiceLimits.body
    max_file: Annotated[int, option("BYTES", "Of a document.", min=1)] = ServiceLimits.file
    max_queue: Annotated[
        int, option("PIECES", "Source pieces that wait; beyond, clients get 429.", min=1)
    ] = ServiceLimits.queue
    max_requests: Annotated[int, option("N", "Requests at a time.", min=1)] = ServiceLimits.requests
    max_beam: Annotated[int, option("N", "Hypotheses of a sentence.", min=1, max=1000)] = ServiceLimits.beam

    def bounds(self) -> ServiceLimits:
        """The limits as a service has them."""
        return ServiceLimits(**{name.removeprefix("max_"): value for name, value in vars(self).items()})


@dataclass(frozen=True)
class WorkOptions:
    """The processes of the server, and its end."""

    PANEL: ClassVar = "Work"

    workers: Annotated[
        int, option("N", "Processes that answer, each with models and threads of its own.", min=1, max=64)
    ] = 1
    drain: Annotated[int, option("SECONDS", "For requests in progress at SIGTERM.", min=0, max=3600)] = 30
    languages: Annotated[
        list[str] | None,
        option("NAME=en-fr", "Languages of a run that does not tell them; may be given several times."),
    ] = None


@dataclass(frozen=True)
class ServeMachine(TranslationMachine):
    """The options of ``translate text``; Transformers on the CPU are served by CTranslate2."""

    engine: Engine = "auto"


@dataclass(frozen=True)
class ServerSettings:
    """All that a worker needs to know; see :func:`application`."""

    runs: dict[str, list[Path]]  # of each name
    languages: dict[str, tuple[str, str]]  # that the command gives to names
    address: AddressOptions
    limits: LimitOptions
    work: WorkOptions
    machine: ServeMachine
    folder: Path  # for files of clients

    def build(self) -> "ASGIApp":
        """Load the models; gives the application.

        Raises:
            UserError: if a model cannot be loaded.
        """
        import torch

        from translate.serve.catalogue import open_catalogue
        from translate.serve.monitoring import Log
        from translate.serve.service import Service
        from translate.serve.web.application import build_application
        from translate.serve.web.keys import Keys

        log = Log()
        log.relay(*LOGGERS)
        machine = self.machine
        if self.work.workers > 1 and machine.threads is None:
            machine = replace(machine, threads=max(1, torch.get_num_threads() // self.work.workers))
        keys = Keys() if self.address.key_file is None else Keys.read(self.address.key_file)
        models = open_catalogue(self.runs, self.languages, machine.load, machine.batch_size)
        for served in models.models:
            if (note := served.translator.engine.note) is not None:
                log.write("engine", model=served.name, note=note)
        service = Service(models, self.limits.bounds(), keys, log, self.folder)
        gc.freeze()  # the models stay to the end; no collection visits them
        log.write("ready", models=[served.name for served in models.models])
        return build_application(service)


@with_groups
def serve(
    runs: Annotated[
        list[str],
        typer.Argument(metavar="RUN", help="Run directory, or NAME=RUN; a name given twice is an ensemble."),
    ],
    *,
    address: AddressOptions,
    limits: LimitOptions,
    work: WorkOptions,
    machine: ServeMachine,
) -> None:
    r"""Serve trained runs: APIs over HTTP, and a page to translate in.

    It needs pip install 'seq2seq-translate\[serve]'. /docs lists the APIs: LibreTranslate, DeepL
    and our own, which gives the links between words. SIGTERM lets the requests in progress end.

    Examples:
      translate serve runs/mine
      translate serve runs/en-fr runs/fr-en --port 8080
      translate serve best=runs/first best=runs/second
      translate serve runs/mine --host 0.0.0.0 --key-file keys.txt
    """
    for name in NEEDED:
        optional(name, "translate serve", "serve")
    from translate.runs.run_directory import check_is_run
    from translate.serve.catalogue import named_runs, read_languages

    named = named_runs(runs)
    for path in chain.from_iterable(named.values()):
        check_is_run(path)
    _check_address(address)
    if machine.device != "auto":
        from translate.runs.runtime import find_device

        find_device(machine.device)
    from translate.serve.web.keys import Keys
    from translate.serve.web.server import listen

    codes = read_languages(work.languages or (), list(named))
    if address.key_file is not None:
        Keys.read(address.key_file)
    with listen(address.host, address.port) as listener, TemporaryDirectory(prefix="translate-") as folder:
        try:
            settings = ServerSettings(named, codes, address, limits, work, machine, Path(folder))
            _serve(settings, listener)
        except KeyboardInterrupt:
            raise SystemExit(INTERRUPTED) from None  # without a line in a log of JSON


def _serve(settings: ServerSettings, listener: "socket.socket") -> None:
    from pydantic import TypeAdapter

    from translate.serve.monitoring import Log
    from translate.serve.web.server import configured, run_server, run_workers

    host, port = listener.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    print_note(f"http://{shown}:{port} (the APIs: /docs; Ctrl-C ends it)")
    drain, workers = settings.work.drain, settings.work.workers
    if workers == 1:
        run_server(configured(settings.build(), drain), listener)
        return
    os.environ[SETTINGS] = TypeAdapter(ServerSettings).dump_json(settings).decode()
    Log().relay(*LOGGERS)
    run_workers(configured(f"{__name__}:application", drain, workers), listener)


def application() -> "ASGIApp":
    """The application of a worker, by the settings that the command has left in the environment.

    Raises:
        SystemExit: if a model cannot be loaded; uvicorn's supervisor then begins no other worker.
    """
    from pydantic import TypeAdapter
    from uvicorn.main import STARTUP_FAILURE

    try:
        return TypeAdapter(ServerSettings).validate_json(os.environ[SETTINGS]).build()
    except UserError as error:
        print_error(error)
        raise SystemExit(STARTUP_FAILURE) from None


def _check_address(address: AddressOptions) -> None:
    """Raise :class:`UserError` for an address that strangers reach, without keys and without ``--public``."""
    if address.public and address.key_file is not None:
        raise UserError("--public lets everybody in, --key-file only those with a key: leave out one of them")
    try:
        local = ipaddress.ip_address(address.host).is_loopback
    except ValueError:
        local = address.host == "localhost"
    if not (local or address.public or address.key_file is not None):
        raise UserError(
            f"--host {address.host}: others may reach this address; add --key-file FILE with keys, or "
            "--public to let everybody in"
        )
