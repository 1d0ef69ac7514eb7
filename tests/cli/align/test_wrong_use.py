"""Everything that `translate align` refuses, in one line and before it writes anything."""

from pathlib import Path

import pytest

from tests.cli.align.pairs import PAIR, write
from tests.cli.commands import Command

NO_EFFECT = "has no effect on"
CORPUS = ["--source", "long.en", "--target", "long.fr"]
REVERSE = [*CORPUS, "--reverse", "r"]
CASES: dict[str, list[tuple[list[str], str]]] = {
    "pair": [
        ([*PAIR, "--out", "a.jpg"], "a.jpg: expected one of .png, .pdf, .svg, .html, .txt"),
        ([*PAIR, "--out", "none/a.png"], "none/a.png: there is no folder none"),
        ([*PAIR, "--values"], f"--values {NO_EFFECT} standard output; it is for .png, .pdf, .svg files"),
        ([*PAIR, "--links", "0-0", "--out", "a.txt"], f"--links {NO_EFFECT} a.txt; it is for .png, .pdf"),
        ([*PAIR, "--colours", "gray", "--out", "a.html"], f"--colours {NO_EFFECT} a.html; it is for .png"),
        ([*PAIR, "--colours", "virids", "--out", "a.png"], "'virids'; did you mean viridis"),
        ([*PAIR, "--font", "DejaVu San", "--out", "a.png"], "'DejaVu San'; did you mean DejaVu Sans"),
        ([*PAIR, "--font-size", "7", "--out", "a.html"], f"--font-size {NO_EFFECT} a.html; it is for .png"),
        ([*PAIR, "--title", "x"], f"--title {NO_EFFECT} standard output"),
        ([*PAIR, "--links", "0-9", "--out", "a.png"], "--links: link '0-9' points to target word 9"),
        (["", "x y", "--out", "a.html"], "nothing to show: 0 source and 2 target words"),
        ([], "missing argument SOURCE: a source sentence, or the picture that a run describes"),
        ([*PAIR, "--threshold", "1.5"], "--threshold: expected 0 to 1, got "),
        ([*PAIR, "--out", "a.png", "--threshold", "0.5"], f"--threshold {NO_EFFECT} a.png; it is for .txt"),
        (
            [*PAIR, "--out", "a.jsonl", "--weights"],
            f"--weights {NO_EFFECT} a.jsonl; it is for .txt, .pharaoh",
        ),
        ([*PAIR, "--method", "atention"], "'norm'; did you mean attention?"),
        ([*PAIR, "--source", "a"], "it belongs to translate align corpus, symmetrise, calibrate and report"),
        (
            [*PAIR, "--src", "a"],
            "--source belongs to translate align corpus, symmetrise, calibrate and report",
        ),
        ([*PAIR, "--heads"], "did you mean --head?"),  # and no command beside it, as the next one
        ([*PAIR, "--compare"], "it is a command: translate align compare"),
        (
            ["long.fr"],
            "long.fr is a file; to align its lines with those of another one, write: translate ",
        ),
        (["a . ||| x ."], "a pair is two arguments: translate align RUN 'I see .' 'je vois .'"),
        ([*PAIR, "--layer", "7"], "alignment layer 7 does not exist: the model has 1, counted from 0"),
        (
            [*PAIR, "--head", "0", "--method", "erasure"],
            "--head and --shift have no effect on --method erasure",
        ),
    ],
    "corpus": [
        ([], "missing option --source: source sentences, one a line"),
        (["--source", "a"], "missing option --target: the translations of a, which is no table"),
        (["--source", "short.en", "--target", "long.fr"], "short.en has 1 line"),
        (["--source", "latin.en", "--target", "long.fr"], "latin.en, line 2: not UTF-8"),
        (["--source", "long.fr", "--target", "short.en"], "--source and --target may be swapped"),
        (["--source", "short.en", "--target", "short.en"], "--source and --target may be swapped"),
        ([*CORPUS, "--out", "a.html"], "a.html: expected one of .txt, .pharaoh"),
        ([*CORPUS, "--out", "a.json", "--weights"], f"--weights {NO_EFFECT} a.json"),
    ],
    "heads": [
        ([*PAIR], "missing option --out: picture to write: .png, .pdf or .svg"),
        ([*PAIR, "--out", "a.html"], "a.html: expected one of .png, .pdf, .svg, got .html"),
        ([*PAIR, "--values", "--out", "a.png"], "it belongs to translate align pair and compare"),
        (["x", "", "--out", "a.svg"], "TARGET is empty; left out, the model translates SOURCE"),
    ],
    "compare": [
        ([*PAIR, "--with", "r"], "missing option --out: picture to write"),
        ([*PAIR, "--with", "r", "--out", "a.html"], "a.html: expected one of .png, .pdf, .svg, got .html"),
    ],
    "symmetrise": [
        ([*CORPUS], "missing option --reverse: run of the opposite direction"),
        ([*REVERSE, "--out", "a.html"], "a.html: expected one of .txt"),
        ([*REVERSE, "--threshold", "-1"], "--threshold: expected 0 to 1, got "),
        ([*REVERSE, "--heuristic", "uni"], "'uni'"),
    ],
    "calibrate": [
        (["--source", "s"], "--source FILE needs --target FILE"),
        (["--gold", "g"], "--gold describes the files: add --source FILE and --target FILE"),
        (["--whitespace"], "--whitespace describes the files: add --source FILE and --target FILE"),
        ([*CORPUS, "--one-based"], "--one-based describes the file of gold links"),
        ([*CORPUS, "--data-from-run"], "leave out --data-from-run"),
        (["--source", "long.fr", "--target", "short.en"], "--source and --target may be swapped"),
    ],
    "report": [([*CORPUS, "--gold", "far.gold"], "far.gold, line 2")],
}


@pytest.mark.parametrize(
    ("command", "arguments", "message"), [(name, *case) for name, cases in CASES.items() for case in cases]
)
def test_wrong_use(
    run: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    arguments: list[str],
    message: str,
    translate_command: Command,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.png").mkdir()
    write(tmp_path / "short.en", "a")
    write(tmp_path / "long.en", "a", "b")
    write(tmp_path / "long.fr", "a", "b")
    write(tmp_path / "far.gold", "0-0", "0-2")
    (tmp_path / "latin.en").write_bytes(b"a\n\xe9\n")
    before = sorted(tmp_path.iterdir())
    result = translate_command("align", command, run, *arguments)
    assert (result.code, result.out) == (2, "")
    assert message in result.err
    assert len(result.err.splitlines()) == 1
    assert sorted(tmp_path.iterdir()) == before
