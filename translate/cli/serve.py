"""``translate serve``: HTTP APIs over runs, and the page to translate in."""

import ipaddress
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from translate.cli.console import print_note
from translate.cli.options import with_groups
from translate.cli.text_options import TextMachine
from translate.errors import UserError

if TYPE_CHECKING:
    import socket

    from translate.serve.catalogue import Catalogue
    from translate.serve.limits import ServiceLimits
    from translate.serve.web.keys import Keys

EXAMPLES = """
Examples:
  translate serve runs/mine
  translate serve runs/en-fr runs/fr-en --port 8080
  translate serve best=runs/first best=runs/second
  translate serve runs/mine --host 0.0.0.0 --key-file keys.txt
"""
NEEDED = ("starlette", "uvicorn", "python_multipart", "prometheus_client")


@dataclass(frozen=True)
class AddressOptions:
    """Where the server listens, and to whom."""

    PANEL: ClassVar = "Address"

    host: Annotated[str, typer.Option(metavar="ADDRESS", help="Where to listen.")] = "127.0.0.1"
    port: Annotated[int, typer.Option(min=0, max=65535, metavar="N", help="0 takes a free one.")] = 5000
    key_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Keys that clients must give, one a line.")
    ] = None
    public: Annotated[
        bool, typer.Option("--public", help="Let everybody in who reaches the address, without a key.")
    ] = False


@dataclass(frozen=True)
class LimitOptions:
    """What a request, and all together, may ask for."""

    PANEL: ClassVar = "Limits"

    max_characters: Annotated[int, typer.Option(min=1, metavar="N", help="Of the texts of a request.")] = (
        100_000
    )
    max_texts: Annotated[int, typer.Option(min=1, metavar="N", help="Texts of a request.")] = 1_000
    max_body: Annotated[int, typer.Option(min=1, metavar="BYTES", help="Of a request.")] = 1 << 20
    max_file: Annotated[int, typer.Option(min=1, metavar="BYTES", help="Of a document.")] = 10 << 20
    max_queue: Annotated[
        int, typer.Option(min=1, metavar="PIECES", help="Source pieces that wait; beyond, clients get 429.")
    ] = 100_000
    max_requests: Annotated[int, typer.Option(min=1, metavar="N", help="Requests at a time.")] = 2_000
    max_beam: Annotated[int, typer.Option(min=1, max=1000, metavar="N", help="Hypotheses of a sentence.")] = (
        16
    )
    max_unread: Annotated[
        int, typer.Option(min=1, metavar="BYTES", help="Of answers that clients have not read yet, in all.")
    ] = 64 << 20


@dataclass(frozen=True)
class WorkOptions:
    """How it works and ends."""

    PANEL: ClassVar = "Work"

    workers: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=64,
            metavar="N",
            help="Processes that translate side by side; on a GPU, threads. Default: up to 4, and 1.",
        ),
    ] = None
    drain: Annotated[
        float,
        typer.Option(min=0, max=3600, metavar="SECONDS", help="For requests in progress when SIGTERM comes."),
    ] = 30.0
    languages: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=en-fr",
            help="Languages of a run that does not tell them; may be given several times.",
        ),
    ] = None
    log_texts: Annotated[bool, typer.Option("--log-texts", help="Log the texts of requests, too.")] = False


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
    machine: TextMachine,
) -> None:
    r"""Serve trained runs: APIs over HTTP, and a page to translate in.

    It needs pip install 'seq2seq-translate\[serve]'. /docs lists the APIs: LibreTranslate, DeepL,
    Azure and our own, which gives the links between words. SIGTERM lets the requests in progress end.
    """
    for name in NEEDED:
        if find_spec(name) is None:
            raise UserError(
                f"translate serve needs the package {name.replace('_', '-')}; "
                "pip install 'seq2seq-translate[serve]'"
            )
    _check_address(address)
    from translate.runs.run_directory import check_is_run
    from translate.serve.limits import ServiceLimits
    from translate.serve.opening import named_runs, read_languages
    from translate.serve.web.keys import Keys
    from translate.serve.web.server import listen

    named = named_runs(runs)
    for path in chain.from_iterable(named.values()):
        check_is_run(path)
    languages = read_languages(work.languages or (), list(named))
    keys = Keys() if address.key_file is None else Keys.read(address.key_file)
    bounds = ServiceLimits(
        limits.max_characters,
        limits.max_texts,
        limits.max_body,
        limits.max_file,
        limits.max_queue,
        limits.max_requests,
        limits.max_beam,
        limits.max_unread,
    )
    with listen(address.host, address.port) as listener:
        _serve(named, languages, listener, bounds, keys, work, machine)


def _serve(
    named: dict[str, list[Path]],
    languages: dict[str, tuple[str, str]],
    listener: "socket.socket",
    limits: "ServiceLimits",
    keys: "Keys",
    work: WorkOptions,
    machine: TextMachine,
) -> None:
    from translate.runs.runtime import find_device, use_runtime, use_threads
    from translate.serve.opening import begin_models, new_service, open_catalogue, uses_processes
    from translate.serve.web.application import build_application
    from translate.serve.web.logs import Log
    from translate.serve.web.server import Server, run_server

    device = find_device(machine.device)
    if uses_processes(device.type):
        use_threads(machine.threads)  # they set the rest; what is freed here is theirs
    else:
        use_runtime(device, machine.threads)
    log = Log(texts=work.log_texts)
    service = new_service(work.workers, limits, keys, log, device.type)

    def load() -> "Catalogue":
        opened = open_catalogue(
            named, languages, partial(machine.load, int8=machine.int8), machine.batch_size
        )
        for each in opened.models:
            if (note := each.translator.engine.note) is not None:
                log.write("engine", model=each.name, note=note)
        return begin_models(opened, service.engine)

    host, port = listener.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    print_note(f"http://{shown}:{port} (Ctrl-C ends it)")
    run_server(Server(service, build_application(service), load, work.drain), listener, log)


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
