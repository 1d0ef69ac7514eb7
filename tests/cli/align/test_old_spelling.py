"""Lines without a subcommand, as they were written before there were subcommands."""

import shlex
import shutil
from pathlib import Path

import pytest

from tests.cli.align.pairs import PAIR
from tests.cli.commands import Command
from translate.alignment.alignment import Alignment
from translate.cli.align import SUBCOMMANDS
from translate.cli.align.old_spelling import as_subcommand
from translate.errors import UserError

BOTH = ["--source", "s", "--target", "t"]


def test_a_pair_and_a_corpus_need_no_subcommand(
    run: Path, files: list[object], alignment: Alignment, translate_command: Command
) -> None:
    """The public contract, and no older spelling."""
    assert translate_command("align", run, *PAIR) == (0, alignment.pharaoh() + "\n", "")
    assert translate_command("align", "--threshold=0", run, *PAIR).out == alignment.pharaoh(0) + "\n"
    corpus = translate_command("align", run, *files)
    assert corpus == translate_command("align", "corpus", run, *files)
    assert corpus.err == ""
    assert len(corpus.out.splitlines()) == 11


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (["RUN", *PAIR], ["pair", "RUN", *PAIR]),
        (["RUN", "a = b", "--out", "a.png"], ["pair", "RUN", "a = b", "--out", "a.png"]),
        (["--out", "a.png", "RUN", "x", "--values"], ["pair", "--out", "a.png", "RUN", "x", "--values"]),
        (["RUN", *BOTH], ["corpus", "RUN", *BOTH]),
        (["--source=s", "RUN", "--target=t"], ["corpus", "--source=s", "RUN", "--target=t"]),
        (["RUN", "--", "--source"], ["pair", "RUN", "--", "--source"]),
        (["./pair", "x"], ["pair", "./pair", "x"]),
        (["runs/report", "x"], ["pair", "runs/report", "x"]),
    ],
)
def test_lines_of_the_contract_get_no_note(
    old: list[str], new: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert as_subcommand(old, SUBCOMMANDS) == new
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (["RUN", "--calibrate"], ["calibrate", "RUN"]),
        (["--calibrate", "RUN", *BOTH], ["calibrate", "RUN", *BOTH]),
        (["RUN", "--calibrate", "--reverse", "b"], ["calibrate", "RUN", "--reverse", "b"]),
        (["RUN", "--report", "--json"], ["report", "RUN", "--json"]),
        (["RUN", *PAIR, "--heads", "--out", "a.png"], ["heads", "RUN", *PAIR, "--out", "a.png"]),
        (["--with", "b", "RUN", "x"], ["compare", "--with", "b", "RUN", "x"]),
        (["RUN", *BOTH, "--reverse=b"], ["symmetrise", "RUN", *BOTH, "--reverse=b"]),
        (
            ["RUN", "x", "--reverse", "b", "--symmetrise=union"],
            ["symmetrise", "RUN", "x", "--reverse", "b", "--heuristic=union"],
        ),
        (["RUN", "--calibrate", "--report"], ["calibrate", "RUN"]),
    ],
)
def test_older_lines_get_a_note_with_the_new_spelling(
    old: list[str], new: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert as_subcommand(old, SUBCOMMANDS) == new
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 1
    assert err.startswith("note: ")
    assert err.rstrip("\n").endswith(f" is now: {shlex.join(['translate', 'align', *new])}")


@pytest.mark.slow
def test_older_lines_do_what_the_new_ones_do(
    run: Path, tiny_runs: dict[str, Path], tmp_path: Path, files: list[object], translate_command: Command
) -> None:
    out, other = tmp_path / "a.svg", tiny_runs["transformer"]
    lines: list[tuple[list[object], list[object]]] = [
        ([run, *PAIR, "--heads", "--out", out], ["heads", run, *PAIR, "--out", out]),
        ([run, *PAIR, "--with", other, "--out", out], ["compare", run, *PAIR, "--with", other, "--out", out]),
        ([run, *files, "--reverse", other], ["symmetrise", run, *files, "--reverse", other]),
        ([run, *files, "--report"], ["report", run, *files]),
    ]
    for old, new in lines:
        results, pictures = [], []
        for line in (old, new):
            results.append(translate_command("align", *line))
            pictures.append(out.read_bytes() if out.exists() else b"")
            out.unlink(missing_ok=True)
        found, expected = results
        assert (found.code, found.out) == (expected.code, expected.out) == (0, expected.out)
        assert pictures[0] == pictures[1]
        assert ("--out" in old) == bool(pictures[0])
        assert expected.err == ""
        assert found.err.startswith("note: ")
        assert len(found.err.splitlines()) == 1


def test_a_note_is_one_line_whatever_the_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    as_subcommand(["RUN", "a\nb\r\u2028c", "--heads"], SUBCOMMANDS)
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_the_name_of_a_subcommand_is_no_run_unless_it_has_a_slash(
    run: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    alignment: Alignment,
    translate_command: Command,
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(run, tmp_path / "pair", symlinks=True)
    links = alignment.pharaoh() + "\n"
    note = "note: pair is a subcommand here; for the run in the folder pair write ./pair\n"
    assert translate_command("align", "pair", "./pair", *PAIR) == (0, links, note)
    assert translate_command("align", "./pair", *PAIR) == (0, links, "")
    assert translate_command("align", tmp_path / "pair", *PAIR) == (0, links, "")
    without = translate_command("align", "pair", *PAIR)
    assert (without.code, without.out) == (2, "")
    assert without.err == f"{note}error: {PAIR[0]}: no such run directory\n"


def test_a_misspelt_subcommand_gets_the_nearest(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, translate_command: Command
) -> None:
    monkeypatch.chdir(tmp_path)
    result = translate_command("align", "calibrat", run)
    assert (result.code, result.out) == (2, "")
    assert result.err == (
        "error: align: no such subcommand or run 'calibrat'; did you mean calibrate? "
        "(see translate align --help)\n"
    )
    with pytest.raises(UserError, match="did you mean pair"):
        as_subcommand(["pairs", "x"], SUBCOMMANDS)
    (tmp_path / "pairs").mkdir()  # a folder of that name is meant
    assert as_subcommand(["pairs", "x"], SUBCOMMANDS) == ["pair", "pairs", "x"]
    missing = translate_command("align", "calibrat/1", "x")
    assert missing.err == "error: calibrat/1: no such run directory\n"
