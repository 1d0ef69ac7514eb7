"""Every example of README and the documentation runs as it is typed; ``examples.py`` lists exceptions."""

import shutil
import sys
from pathlib import Path

import pytest

from tests.docs.examples import PAGES, PASSIVE, ROOT, Block, Reader, blocks, furnish
from tests.tiny_runs import shared_run
from translate.attention import contract


@pytest.fixture(scope="module")
def furnished(
    tmp_path_factory: pytest.TempPathFactory, tiny_runs: dict[str, Path], even_run: Path, shared_folder: Path
) -> Path:
    """A folder with the runs and files that the pages speak of; to be copied."""
    folder = tmp_path_factory.mktemp("docs")
    runs = {f"runs/demo/{backend}": run for backend, run in tiny_runs.items()}
    back = ("data.source_language=fr", "data.target_language=en", "training.max_steps=20")
    runs |= {"RUN2": tiny_runs["rnn_bahdanau"], "RUN": even_run}
    runs["RUN_BACK"] = shared_run(shared_folder, "back", "transformer", *back)
    furnish(folder / "reader", runs)
    return folder / "reader"


def examples_in(block: Block) -> int:
    """How many commands a block has, or one piece of Python or file; none in the block of a text."""
    lines = block.text.replace("\\\n", " ").splitlines()
    if block.language == "bash":
        return sum(bool(line.partition("#")[0].strip()) for line in lines)
    if block.language == "console" or (not block.language and lines[0].startswith("$ ")):
        return sum(line.startswith("$ ") for line in lines)
    return int(block.language not in PASSIVE)


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_example_runs(
    page: Path, furnished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "reader"
    shutil.copytree(furnished, folder)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(contract, "_MECHANISMS", dict(contract._MECHANISMS))  # pages register their own
    reader = Reader(folder)
    try:
        for block in blocks(page):
            reader.follow(block)
        assert reader.ran == sum(map(examples_in, blocks(page)))
    finally:
        for name in reader.written:
            sys.modules.pop(name, None)
