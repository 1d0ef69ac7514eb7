"""Lines of `translate align` with and without a subcommand."""

import shutil
from pathlib import Path

import pytest

from tests.cli.align.pairs import PAIR
from tests.cli.commands import Command
from translate.alignment.alignment import Alignment
from translate.cli.align import with_subcommand
from translate.errors import UserError

BOTH = ["--source", "s", "--target", "t"]


def test_a_pair_and_a_corpus_need_no_subcommand(
    run: Path, files: list[object], alignment: Alignment, translate_command: Command
) -> None:
    assert translate_command("align", run, *PAIR) == (0, alignment.pharaoh() + "\n", "")
    assert translate_command("align", "--threshold=0", run, *PAIR).out == alignment.pharaoh(0) + "\n"
    corpus = translate_command("align", run, *files)
    assert corpus == translate_command("align", "corpus", run, *files)
    assert corpus.err == ""
    assert len(corpus.out.splitlines()) == 11


@pytest.mark.parametrize(
    ("line", "subcommand"),
    [
        (["RUN", "a = b", "--out", "a.png"], "pair"),
        (["--out", "a.png", "RUN", "x", "--values"], "pair"),
        (["RUN", *BOTH], "corpus"),
        (["--source=s", "RUN", "--target=t"], "corpus"),
        (["RUN", "--", "--source"], "pair"),
        (["./pair", "x"], "pair"),
        (["runs/report", "x"], "pair"),
    ],
)
def test_a_line_that_begins_with_a_run_means_pair_or_corpus(line: list[str], subcommand: str) -> None:
    assert with_subcommand(line) == [subcommand, *line]


def test_the_name_of_a_subcommand_is_no_run_unless_it_has_a_slash(
    run: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    alignment: Alignment,
    translate_command: Command,
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(run, tmp_path / "pair", symlinks=True)
    for line in (("pair", "./pair"), ("./pair",), (tmp_path / "pair",)):
        assert translate_command("align", *line, *PAIR) == (0, alignment.pharaoh() + "\n", "")
    without = translate_command("align", "pair", *PAIR)
    assert without == (
        2,
        "",
        f"error: {PAIR[0]}: no such run directory; the run comes first, then what is translated; "
        "there is pair\n",
    )


def test_a_misspelt_subcommand_gets_the_nearest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        UserError, match="align: no such subcommand or run 'calibrat'; did you mean calibrate"
    ):
        with_subcommand(["calibrat", "x"])
    (tmp_path / "pairs").mkdir()  # a folder of that name is meant
    assert with_subcommand(["pairs", "x"]) == ["pair", "pairs", "x"]
