"""Usage errors: one line with the nearest name, without waiting for torch."""

import subprocess
import sys

import pytest

from tests.cli.commands import Command
from translate.cli.usage import nearest


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("tekst", "no such command 'tekst'; did you mean text? (see translate --help)"),
        ("evalute runs/mine", "no such command 'evalute'; did you mean evaluate? (see translate --help)"),
        ("qqq", "no such command 'qqq' (see translate --help)"),
        (
            "--versoin",
            "no such option --versoin of translate; did you mean --version? (see translate --help)",
        ),
        (
            "text --bem-size 3 runs/mine",
            "no such option --bem-size of translate text; did you mean --beam-size? "
            "(see translate text --help)",
        ),
        ("text --qqq", "no such option --qqq of translate text (see translate text --help)"),
        (
            "align pair runs/mine a --treshold=1",
            "no such option --treshold of translate align pair; did you mean --threshold? "
            "(see translate align pair --help)",
        ),
        (
            "align runs/mine a --treshold=1",
            "no such option --treshold of translate align pair; did you mean --threshold? "
            "(see translate align pair --help)",
        ),
        (
            "align pair runs/mine a --calibrate",
            "no such option --calibrate of translate align pair; it is a command: translate align calibrate "
            "(see translate align pair --help)",
        ),
        (
            "align corpus runs/mine --gold g",
            "no such option --gold of translate align corpus; it belongs to translate align calibrate and "
            "report (see translate align corpus --help)",
        ),
        (
            "align pair runs/mine a --with b",
            "no such option --with of translate align pair; it belongs to translate align compare "
            "(see translate align pair --help)",
        ),
        ("text", "missing argument RUN: run directory (see translate text --help)"),
        (
            "evaluate runs/mine --source a",
            "--source FILE needs its translations: add --reference FILE",
        ),
    ],
)
def test_a_usage_error_is_one_line(line: str, message: str, translate_command: Command) -> None:
    assert translate_command(*line.split()) == (2, "", f"error: {message}\n")


@pytest.mark.parametrize(
    "line",
    [
        ["prepare", "a=b,c", "--source-language", "en", "--target-language", "fr", "--out", ""],
        ["align", "pair", "runs/mine", "a", "--out="],
        ["text", "runs/mine", "--image", ""],
    ],
)
def test_an_empty_path_is_not_the_working_directory(line: list[str], translate_command: Command) -> None:
    option = next(each for each in ("--out", "--image") if each in (line[-1].rstrip("="), line[-2]))
    assert translate_command(*line) == (2, "", f"error: {option}: expected a path, got nothing\n")


@pytest.mark.slow
@pytest.mark.parametrize(
    "line",
    [
        ["x" * 50_000],
        ["\x1b[31m"],
        ["text", "--" + "x" * 50_000],
        ["text", "a", "b", "--beam-size", "1" * 50_000],
        ["align", "calibrate" + "x" * 50_000],
        ["align", "pair", "a", "b", "--out", "x" * 50_000 + "/a.png"],
        ["align", "pair", "a", "b", "--out", "a." + "x" * 50_000],
        ["align", "a", "--with", "x" * 50_000, "b"],
        ["evaluate", "a", "--source", "x" * 50_000, "--reference", "b"],
        ["corpus", "--data", "x" * 50_000, "--out", "a"],
        ["corpus", "--data", "files", "--out", "a", "data.path=" + "x" * 9000],
        ["corpus", "--data", "files", "--out", "a", "x" * 50_000],
        ["train", "--" + "x" * 50_000],
        ["train", "x" * 50_000],
    ],
)
def test_a_usage_error_is_short_whatever_was_given(line: list[str], translate_command: Command) -> None:
    result = translate_command(*line)
    *notes, error = result.err.splitlines()
    assert (result.code, result.out) == (2, "")
    assert error.startswith("error: ")
    assert error.isprintable()
    assert max(map(len, [error, *notes])) < 650


@pytest.mark.parametrize(
    ("name", "found"), [("tekst", "text"), ("alignn", "align"), ("--texts", "text"), ("zzz", None)]
)
def test_nearest(name: str, found: str | None) -> None:
    assert nearest(name, ["text", "align", "train"]) == found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("--help", 0),
        ("text --help", 0),
        ("align --help", 0),
        ("align pair --help", 0),
        ("evaluate --help", 0),
        ("tekst", 2),
        ("text --bem-size 3 x", 2),
        ("text runs/mine a --seed 3", 2),
        ("text runs/mine a --split-sentences --align", 2),
        ("align runs/mine a --out a.jpg", 2),
        ("align runs/mine a --out a.txt --values", 2),
        ("align runs/mine a --colours virids --out a.png", 2),
        ("align calibrat runs/mine", 2),
        ("align symmetrise runs/mine --reverse b", 2),
        ("align corpus runs/mine --source none --target none", 2),
        ("evaluate runs/mine --source a --reference b --one-based", 2),
        ("evaluate runs/mine --source none --reference none", 2),
        ("corpus --data grammar --out a model=b", 2),
    ],
)
def test_help_and_usage_errors_import_no_torch(line: str, code: int) -> None:
    program = (
        "import sys\n"
        "from translate.cli.main import run\n"
        f"code = run({line.split()!r})\n"
        "sys.exit('torch is imported' if 'torch' in sys.modules else code)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) == (code == 2)
