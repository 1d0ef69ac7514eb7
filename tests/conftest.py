"""Fixtures that tests of several rooms share."""

import getpass
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from tests.fake_model import FakeModel
    from tests.figures.browser import Browser
    from tests.ranks import Ranks


# In CI every run sees the same examples; elsewhere each run tries new ones. No example has a time limit:
# pytest-timeout bounds whole tests.
settings.register_profile("ci", derandomize=True, deadline=None, database=None, print_blob=True)
settings.register_profile("explore", deadline=None, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "explore")


def pytest_configure(config: pytest.Config) -> None:
    """Hide GPUs, which round otherwise, unless ``-m gpu`` asks for them; and handle Ctrl-C.

    In a shell's background job the tests and their children would ignore it.
    """
    if config.option.markexpr != "gpu":
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as slow the variants of a model, and the tests of processes that train together.

    The longest tests come first, so that no worker of pytest-xdist ends long after the other.
    """
    items.sort(key=lambda item: "tools" not in item.path.parts)
    models = sys.modules.get("tests.tiny_models")
    variants = models.CASES.keys() - models.CORE if models else set()
    for item in items:
        if not isinstance(item, pytest.Function):
            continue
        name = item.callspec.params.get("name") if hasattr(item, "callspec") else None
        if "ranks" in item.fixturenames or (isinstance(name, str) and name in variants):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that all workers of pytest-xdist share: the parent of their temporary folders."""
    own = tmp_path_factory.getbasetemp()
    return own.parent if "PYTEST_XDIST_WORKER" in os.environ else own


@pytest.fixture(scope="session")
def tiny_runs(shared_folder: Path) -> Iterator[dict[str, Path]]:
    """A finished run of each backend, trained just enough to say something. Tests must not change them."""
    from tests.tiny_runs import BACKENDS, files, shared_run  # torch, which most tests of text do without

    runs = {backend: shared_run(shared_folder, backend, backend) for backend in BACKENDS}
    before = {backend: files(run) for backend, run in runs.items()}
    yield runs
    assert {backend: files(run) for backend, run in runs.items()} == before, "a test changed a shared run"


@pytest.fixture(scope="session")
def tiny_run(tiny_runs: dict[str, Path]) -> Path:
    """The finished run of a Transformer, English to French; tests must not change it."""
    return tiny_runs["transformer"]


@pytest.fixture(scope="session")
def backward(tiny_runs: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the other direction by its settings; a tiny model hardly knows a direction."""
    copy = tmp_path_factory.mktemp("backward") / "backward"
    shutil.copytree(tiny_runs["rnn_luong"], copy, symlinks=True)
    config, languages = copy / "config.yaml", ("source_language: {}", "target_language: {}")
    text = config.read_text()
    for line, before, after in zip(languages, ("en", "fr"), ("fr", "en"), strict=True):
        text = text.replace(line.format(before), line.format(after), 1)
    config.write_text(text)
    return copy


@pytest.fixture(scope="session")
def even_run(shared_folder: Path) -> Path:
    """A finished run with one number of heads, as other engines need it, whose translations end."""
    from tests.tiny_runs import shared_run

    heads = ("model.attention.num_heads=2", "search.beam_size=3", "search.batch_size=7")
    return shared_run(shared_folder, "even", "transformer", *heads, "training.max_steps=320")


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Encoded corpora of tests are not kept in the user's cache."""
    os.environ["TRANSLATE_CACHE"] = str(tmp_path_factory.mktemp("cache"))
    # torch.compile finds what it compiled for one processor when another is played.
    if capability := os.environ.get("ATEN_CPU_CAPABILITY"):
        folder = Path(tempfile.gettempdir(), f"torchinductor-{getpass.getuser()}-{capability}")
        os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(folder))


@pytest.fixture(autouse=True)
def _own_float_modes() -> Iterator[None]:
    """Training rounds denormal numbers to zero and may choose other kernels in its whole process."""
    yield
    if "torch" in sys.modules:
        sys.modules["torch"].set_flush_denormal(False)
        sys.modules["torch"].set_float32_matmul_precision("highest")


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


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[Browser]":
    """Headless Chromium; tests that take it are marked ``in_chromium``."""
    from tests.figures.browser import Browser, find_chromium

    chromium = find_chromium()
    assert chromium is not None
    one = Browser(chromium, tmp_path_factory.mktemp("profile"))
    yield one
    one.close()
