from pathlib import Path

import pytest

from tests.cli.commands import Command, command
from translate.config.data import data_config
from translate.corpora.corpus import load_corpus, write_corpus


@pytest.fixture
def translate_command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """`translate`, in this process: called with its arguments, it gives exit code, output and errors."""
    return command(capsys, monkeypatch)


@pytest.fixture(scope="session")
def run(tiny_run: Path) -> Path:
    return tiny_run


@pytest.fixture(scope="session")
def grammar_test_set(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with 17 test pairs of the grammar: `test.en`, `test.fr`, and `test.gold` with their links."""
    folder = tmp_path_factory.mktemp("corpus")
    settings = {"name": "grammar", "kind": "grammar", "num_train": 1, "num_test": 17, "seed": 3}
    write_corpus(load_corpus(data_config(settings)), folder)
    return folder
