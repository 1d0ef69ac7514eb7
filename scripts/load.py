"""How many sentences a second a server translates, and how soon: 1, 8 and 64 clients at once.

    python scripts/load.py http://127.0.0.1:5000 --lines test.en --source en --target fr
    python scripts/load.py http://127.0.0.1:5000 --lines test.en --source en --target fr --document 500
    python scripts/load.py http://127.0.0.1:5000 --lines test.en --ctranslate2 EXPORT

Only servers on this machine are asked, for a bounded number of requests and seconds. The interface is
LibreTranslate's, so other servers that speak it can be measured, too; ``--api eole`` and ``--api own`` speak
Eole's and this project's own. Each client has a connection that it keeps, and asks for the next line when it
has an answer. One thread of sockets speaks for all clients, with requests that are written beforehand, since
it shares the processor with the server; the last columns say how many CPU milliseconds a request costs either
of them. ``--document N`` also measures one line's latency alone and beside a document of N lines.
``--ctranslate2 EXPORT`` (of ``translate export RUN --format ctranslate2``) measures the same lines in a loop
without HTTP: a thread a client, and for each line a ``translate_batch`` of its own, as LibreTranslate has it.
"""

import argparse
import statistics
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from load_clients import HEADING, MAX_SECONDS, Client, Results, Server, measure

LOCAL = ("127.0.0.1", "::1", "localhost")
MAX_CLIENTS, MAX_REQUESTS = 256, 100_000


def beside_document(server: Server, line: str, document: Sequence[str], times: int) -> tuple[float, float]:
    """The median latency of a line alone, and while a document is translated."""
    client, message = Client(server), server.message([line])
    alone = [client.ask(message)[1] for _ in range(times)]
    beside: list[float] = []
    thread = threading.Thread(target=lambda: Client(server).ask(server.message(document)))
    thread.start()
    time.sleep(0.2)  # until the document fills the batch
    while thread.is_alive() and len(beside) < times:
        seconds = client.ask(message)[1]
        if thread.is_alive():
            beside.append(seconds)
    thread.join()
    return statistics.median(alone), statistics.median(beside) if beside else float("nan")


def measure_loop(
    translate: Callable[[str], str], lines: Sequence[str], clients: int, requests: int, seconds: float
) -> Results:
    """As :func:`measure`, by a function that translates a line: a thread for each client."""
    results, lock = Results(), threading.Lock()
    left = iter([lines[number % len(lines)] for number in range(requests)])
    own, began = time.process_time(), time.perf_counter()

    def run() -> None:
        while time.perf_counter() < began + seconds:
            with lock:
                line = next(left, None)
            if line is None:
                return
            start = time.perf_counter()
            translate(line)
            with lock:
                results.add(200, time.perf_counter() - start)

    threads = [threading.Thread(target=run) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    results.took, results.server_cpu = time.perf_counter() - began, time.process_time() - own
    return results


def open_export(folder: Path, beam_size: int, workers: int) -> Callable[[str], str]:
    """What translates a line by an exported model: one search a line, ``workers`` of them side by side."""
    import ctranslate2

    from translate.text.tokenizer import TokenizerPair

    tokenizers = TokenizerPair.load(folder / "tokenizer")
    engine = ctranslate2.Translator(str(folder), inter_threads=workers, intra_threads=1)

    def translate(line: str) -> str:
        pieces = tokenizers.source.pieces(tokenizers.source.encode(line))
        (found,) = engine.translate_batch([pieces], beam_size=beam_size, min_decoding_length=0)
        return tokenizers.target.decode(tokenizers.target.ids(found.hypotheses[0]))

    return translate


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("url", nargs="?", help="http://127.0.0.1:PORT")
    parser.add_argument("--lines", required=True, type=Path, help="a file of source sentences")
    parser.add_argument("--source", default="en")
    parser.add_argument("--target", default="fr")
    parser.add_argument("--api", choices=["libretranslate", "own", "eole"], default="libretranslate")
    parser.add_argument("--model", default="", help="for Eole")
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 8, 64])
    parser.add_argument("--requests", type=int, default=500, help="for each number of clients")
    parser.add_argument("--seconds", type=float, default=60, help="at most, for each number of clients")
    parser.add_argument("--document", type=int, default=0, help="lines of a document to measure beside")
    parser.add_argument("--ctranslate2", type=Path, metavar="EXPORT", help="also measure a loop over it")
    parser.add_argument("--beam-size", type=int, default=5, help="of that loop")
    parser.add_argument("--workers", type=int, default=2, help="of that loop, of one thread each")
    given = parser.parse_args(arguments)
    if given.url is None and given.ctranslate2 is None:
        parser.error("expected a server, http://127.0.0.1:PORT, or --ctranslate2 EXPORT")
    address = urlsplit(given.url or "http://127.0.0.1")
    if address.scheme != "http" or address.hostname not in LOCAL:
        parser.error(f"only servers on this machine are asked: http://127.0.0.1:PORT, got {given.url}")
    if max(given.clients) > MAX_CLIENTS or min(given.clients) < 1:
        parser.error(f"--clients: expected 1 to {MAX_CLIENTS}")
    if not 0 < given.requests <= MAX_REQUESTS or not 0 < given.seconds <= MAX_SECONDS:
        parser.error(f"expected at most {MAX_REQUESTS:,} requests and {MAX_SECONDS} seconds")
    return given


def main(arguments: list[str]) -> int:
    given = parse(arguments)
    lines = [line for line in given.lines.read_text(encoding="utf-8").splitlines() if line.strip()]
    if not lines:
        print(f"error: {given.lines}: there are no lines", file=sys.stderr)
        return 2
    failed = 0
    if given.url is not None:
        failed = measure_server(given, lines)
    if given.ctranslate2 is not None:
        translate = open_export(given.ctranslate2, given.beam_size, given.workers)
        translate(lines[0])
        print(f"a loop over CTranslate2 without HTTP, workers of one thread: {given.workers}\n{HEADING}")
        for clients in given.clients:
            results = measure_loop(translate, lines, clients, given.requests, given.seconds)
            print(results.row(str(clients)), flush=True)
    return 1 if failed else 0


def measure_server(given: argparse.Namespace, lines: Sequence[str]) -> int:
    """Print the rows of a server, and give the number of requests that failed."""
    address = urlsplit(given.url)
    server = Server(
        str(address.hostname), address.port or 80, given.api, given.source, given.target, given.model
    )
    messages = [server.message([line]) for line in lines]
    Client(server).ask(messages[0])  # the first request of a process is slow
    failed = 0
    print(HEADING)
    for clients in given.clients:
        results = measure(server, messages, clients, given.requests, given.seconds)
        print(results.row(str(clients)), flush=True)
        failed += results.failed
    if given.document:
        document = [lines[number % len(lines)] for number in range(given.document)]
        alone, beside = beside_document(server, min(lines, key=len), document, 30)
        print(
            f"the shortest line alone: {1000 * alone:.1f} ms; "
            f"beside {given.document} lines: {1000 * beside:.1f} ms"
        )
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
