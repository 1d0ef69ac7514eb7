"""Fixtures that tests of several rooms share."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.fake_model import FakeModel
    from tests.ranks import Ranks


@pytest.fixture(scope="session")
def tiny_runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A finished run of each backend, trained just enough that it says something. Not to be changed."""
    from tests.tiny_runs import BACKENDS, TRAINED, train_tiny  # torch, which most tests of text do without

    root = tmp_path_factory.mktemp("runs")
    for backend in BACKENDS:
        assert train_tiny(root / backend, backend, *TRAINED) == 0
    return {backend: root / backend for backend in BACKENDS}


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Encoded corpora of tests are not kept in the user's cache."""
    os.environ["TRANSLATE_CACHE"] = str(tmp_path_factory.mktemp("cache"))


@pytest.fixture(autouse=True)
def _tiny_numbers() -> Iterator[None]:
    """Training rounds denormal numbers to zero in its whole process; the next test may need them."""
    yield
    if "torch" in sys.modules:
        sys.modules["torch"].set_flush_denormal(False)


@pytest.fixture
def fake_model() -> type["FakeModel"]:
    """A model that gives the attention which a test plants."""
    from tests.fake_model import FakeModel

    return FakeModel


@pytest.fixture(scope="session")
def ranks() -> Iterator["Ranks"]:
    """Two processes that can train together: ``ranks(function, *arguments)`` gives the result of each."""
    from tests.ranks import Ranks

    processes = Ranks()
    yield processes
    processes.close()
