"""A server on 127.0.0.1 with a tiny run, and clients that need nothing but the standard library."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="the extra serve is not installed")
pytest.importorskip("uvicorn", reason="the extra serve is not installed")

from tests.serve.client import Client, running
from translate.runs.load import load
from translate.serve.catalogue import Catalogue, Served
from translate.serve.limits import ServiceLimits
from translate.serve.web.keys import Keys
from translate.translator import Translator

KEY = "a-key-of-a-client-0123"
LIMITS = ServiceLimits(
    characters=5_000, texts=50, body=20_000, file=30_000, queue=4_000, requests=64, beam=8, seconds=5.0
)


@pytest.fixture(scope="session")
def translator(tiny_run: Path) -> Translator:
    """A tiny trained model of English and French."""
    return load(tiny_run, device="cpu")


@pytest.fixture(scope="session")
def catalogue(translator: Translator) -> Catalogue:
    return Catalogue([Served("tiny", "en", "fr", translator)])


@pytest.fixture
def serve(catalogue: Catalogue) -> Iterator[Callable[..., Client]]:
    """Starts servers with the given limits, keys or models, and ends them."""
    ends: list[Callable[[], None]] = []

    def start(
        limits: ServiceLimits = LIMITS,
        keys: Keys | None = None,
        models: Catalogue | None = None,
        drain: float = 5.0,
    ) -> Client:
        client, end = running(models or catalogue, limits, keys or Keys(), drain)
        ends.append(end)
        return client

    yield start
    for end in ends:
        end()


@pytest.fixture(scope="package")
def client(catalogue: Catalogue) -> Iterator[Client]:
    """A client of a server that the tests of a package share."""
    found, end = running(catalogue, LIMITS, Keys(), 5.0)
    yield found
    end()
