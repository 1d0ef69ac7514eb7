from pathlib import Path

import pytest

import translate
from tests.cli.align.pairs import PAIR
from tests.cli.commands import Command
from translate.alignment.calibrate import symmetrised
from translate.corpora.split import Split
from translate.links.links import format_pharaoh


def test_a_corpus(
    own_run: Path,
    tiny_runs: dict[str, Path],
    files: list[object],
    test_split: Split,
    translate_command: Command,
) -> None:
    reverse = tiny_runs["rnn_luong"]  # of the same direction, but a tiny model hardly knows a direction
    line = ("align", "symmetrise", own_run, *files, "--reverse", reverse)
    there = translate.load(own_run, device="cpu").align(test_split.source, test_split.target)
    back = translate.load(reverse, device="cpu").align(test_split.target, test_split.source)
    for options, heuristic in (([], "grow-diag-final-and"), (["--heuristic", "union"], "union")):
        expected = [format_pharaoh(links) for links in symmetrised(there, back, heuristic)]
        assert translate_command(*line, *options).out.splitlines() == expected


def test_a_pair(
    own_run: Path, tiny_runs: dict[str, Path], tmp_path: Path, translate_command: Command
) -> None:
    line = ("align", "symmetrise", own_run, *PAIR, "--reverse", tiny_runs["rnn_luong"])
    pair = translate_command(*line)
    assert pair.code == 0
    assert len(pair.out.splitlines()) == 1
    out = tmp_path / "a.txt"
    assert translate_command(*line, "--out", out).out == f"links written to {out}\n"
    assert out.read_text() == pair.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([*PAIR], "missing option --reverse: run of the opposite direction"),
        ([*PAIR, "--reverse", "r", "--out", "a.html"], "a.html: expected one of .txt"),
        ([*PAIR, "--reverse", "r", "--out", "a.json"], "a.json: expected one of .txt"),
        ([*PAIR, "--reverse", "r", "--weights"], "it belongs to translate align pair and corpus"),
        (
            [*PAIR, "--reverse", "r", "--threshold", "-1"],
            "--threshold is -1.0; expected a number from 0 to 1",
        ),
        (["--reverse", "r"], "give either a sentence, or --source FILE and --target FILE"),
        (["--reverse", "r", "--source", "s"], "give either a sentence, or --source FILE and --target FILE"),
        (["a", "--reverse", "r", "--source", "s"], "give either a sentence, or --source FILE and --target"),
        ([*PAIR, "--reverse", "r", "--heuristic", "uni"], "'uni'"),
    ],
)
def test_wrong_use(run: Path, arguments: list[str], message: str, translate_command: Command) -> None:
    result = translate_command("align", "symmetrise", run, *arguments)
    assert (result.code, result.out) == (2, "")
    assert message in result.err
    assert len(result.err.splitlines()) == 1
