import shutil
from pathlib import Path

import pytest

import translate
from tests.cli.align.pairs import PAIR, PAIRS
from translate.alignment.alignment import Alignment
from translate.corpora.corpus import load_corpus, write_corpus
from translate.corpora.split import Split
from translate.translator import Translator


@pytest.fixture(scope="module")
def run(tiny_runs: dict[str, Path]) -> Path:
    return tiny_runs["rnn_luong"]


@pytest.fixture(scope="module")
def translator(run: Path) -> Translator:
    return translate.load(run, device="cpu")


@pytest.fixture(scope="module")
def alignment(translator: Translator) -> Alignment:
    """The alignment of `PAIR`."""
    return translator.align([PAIR[0]], [PAIR[1]])[0]


@pytest.fixture(scope="module")
def own_run(tiny_runs: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of a run that a test may change."""
    copy = tmp_path_factory.mktemp("align") / "run"
    shutil.copytree(tiny_runs["transformer"], copy, symlinks=True)
    return copy


@pytest.fixture(scope="module")
def test_split() -> Split:
    split = load_corpus(PAIRS).test
    assert split is not None
    return split


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[object]:
    """The options that name the files of `test_split`; `test.gold` lies beside them."""
    folder = tmp_path_factory.mktemp("corpus")
    write_corpus(load_corpus(PAIRS), folder)
    return ["--source", folder / "test.en", "--target", folder / "test.fr"]


@pytest.fixture(scope="module")
def gold(files: list[object]) -> list[object]:
    """The option that names the gold links of `files`."""
    return ["--gold", Path(str(files[1])).with_name("test.gold")]
