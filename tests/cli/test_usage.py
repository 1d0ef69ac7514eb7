"""Usage errors: one line with the nearest name, without waiting for torch."""

import re
from pathlib import Path

import pytest

from tests.cli.commands import Command
from translate.cli.main import run


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("tekst", "no such command 'tekst'; did you mean text? (see translate --help)"),
        ("qqq", "no such command 'qqq' (see translate --help)"),
        ("predict runs/mine", "no such command 'predict'; did you mean text? (see translate --help)"),
        ("score runs/mine", "no such command 'score'; did you mean evaluate? (see translate --help)"),
        ("fine-tune runs/mine", "no such command 'fine-tune'; did you mean train? (see translate --help)"),
        (
            "text a --terminology b",
            "no such option --terminology of translate text; did you mean --glossary? "
            "(see translate text --help)",
        ),
        (
            "export a --format hf --out b",
            "invalid value for '--format': 'hf' is not one of 'bundle', 'ctranslate2', 'onnx', "
            "'huggingface', 'page'; did you mean huggingface? (see translate export --help)",
        ),
        (
            "align symmetrise a b --heuristic gdfa",
            "invalid value for '--heuristic': 'gdfa' is not one of 'intersection', 'union', "
            "'grow-diag', 'grow-diag-final', 'grow-diag-final-and'; did you mean grow-diag-final-and? "
            "(see translate align symmetrise --help)",
        ),
        (
            "evaluate runs/mine a.en",
            "got unexpected extra argument(s) (a.en); files are given by name, as --source FILE, and several "
            "runs to translate compare (see translate evaluate --help)",
        ),
        (
            "align runs/mine I love you .",
            "got unexpected extra argument(s) (you .); a sentence of several words is put in quotes (see "
            "translate align pair --help)",
        ),
        (
            "align compare runs/a runs/b hi du --with runs/c --out c.png",
            "got unexpected extra argument(s) (du); a sentence of several words is put in quotes, a further "
            "run is --with RUN (see translate align compare --help)",
        ),
        (
            "align runs/mine hi --target du",
            "no such option --target of translate align pair; TARGET stands without a name: translate align "
            "pair RUN SOURCE TARGET (see translate align pair --help)",
        ),
        ("text", "missing argument RUN: run directory (see translate text --help)"),
        ("text a --beam-size 2.5", "--beam-size: expected an integer, got 2.5 (see translate text --help)"),
        ("serve a --host", "option '--host' requires an argument (see translate serve --help)"),
        ("serve a --port 99999", "--port: expected 0 to 65,535, got 99999 (see translate serve --help)"),
        ("serve a --max-body 0", "--max-body: expected at least 1, got 0 (see translate serve --help)"),
        (
            "evaluate runs/mine --source a",
            "a test set is --source FILE with its translations, --reference FILE: give both, or one table",
        ),
    ],
)
def test_a_usage_error_is_one_line(line: str, message: str, translate_command: Command) -> None:
    assert translate_command(*line.split()) == (2, "", f"error: {message}\n")


@pytest.mark.parametrize(
    ("line", "command", "hint"),
    [
        ("--versoin", "translate", "did you mean --version?"),
        ("text --bem-size 3 runs/mine", "translate text", "did you mean --beam-size?"),
        ("text runs/mine --alignments", "translate text", "did you mean --align?"),
        ("serve runs/mine -p 80", "translate serve", "did you mean --port?"),
        ("text --num_beams 3 runs/mine", "translate text", "did you mean --beam-size?"),
        ("text runs/mine --input a.en", "translate text", "it reads standard input: < FILE"),
        ("prepare --engine spark", "translate prepare", "did you mean --spark?"),
        (
            "prepare --source a.en --target a.fr --out b",
            "translate prepare",
            "SOURCE stands without a name: translate prepare NAME=SOURCE,TARGET",
        ),
        (
            "resume runs/mine --max-time 9",
            "translate resume",
            "settings are written NAME=VALUE, such as training.max_time=600",
        ),
        ("align runs/mine a --treshold=1", "translate align pair", "did you mean --threshold?"),
        (
            "align corpus runs/mine --gold g",
            "translate align corpus",
            "it belongs to translate align calibrate and report",
        ),
        ("evaluate --run a", "translate evaluate", "RUN stands without a name: translate evaluate RUN"),
    ],
)
def test_an_unknown_option(line: str, command: str, hint: str, translate_command: Command) -> None:
    option = re.findall("--?[a-z_-]+", line)[0]
    says = f"error: no such option {option} of {command}; {hint} (see {command} --help)\n"
    assert translate_command(*line.split()) == (2, "", says)


@pytest.mark.parametrize(
    "line",
    [
        ["prepare", "a=b,c", "--source-language", "en", "--target-language", "fr", "--out", ""],
        ["align", "pair", "runs/mine", "a", "--out="],
        ["text", "runs/mine", "--image", ""],
    ],
)
def test_an_empty_path_is_not_the_working_directory(line: list[str], translate_command: Command) -> None:
    option = next(name for name in ("--out", "--image") if name in (line[-1].rstrip("="), line[-2]))
    assert translate_command(*line) == (2, "", f"error: {option}: expected a path, got nothing\n")


@pytest.mark.parametrize("second", [["--out", "b.txt"], ["--out=b.txt"]])
def test_an_option_that_is_given_twice_is_refused(second: list[str], translate_command: Command) -> None:
    line = ["align", "corpus", "runs/mine", "--source", "a", "--target", "b", "--out", "a.txt", *second]
    says = "error: --out: it is given twice, and only the last would count\n"
    assert translate_command(*line) == (2, "", says)


@pytest.mark.parametrize(
    "line",
    [
        ["x" * 50_000],
        ["\x1b[31m"],
        ["text", "--" + "x" * 50_000],
        ["text", "a", "b", "--beam-size", "1" * 50_000],
        ["align", "calibrate" + "x" * 50_000],
        ["align", "pair", "a", "b", "--out", "a." + "x" * 50_000],
        ["train", "--" + "x" * 50_000],
        ["train", "x" * 50_000],
        ["train", f"model={'x' * 5000}"],
        ["train", f"training.max_steps={'x' * 5000}"],
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
    ("line", "found"),
    [("translate te", ["text"]), ("translate align pair --th", ["--threshold", "--threads"])],
)
def test_the_shell_completes_commands_and_options(
    line: str, found: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("_TRANSLATE_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(line.count(" ")))
    with pytest.raises(SystemExit) as leaving:
        run([])
    assert not leaving.value.code
    assert capsys.readouterr().out.split() == found


def test_a_folder_of_runs_names_the_runs_inside(tmp_path: Path, translate_command: Command) -> None:
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.yaml").touch()
    assert translate_command("text", tmp_path, "a").err == (
        f"error: {tmp_path}: not a run directory (it has no config.yaml); "
        f"there are {tmp_path / 'first'}, {tmp_path / 'second'}\n"
    )
    (tmp_path / "second" / "config.yaml").unlink()
    missing, hint = tmp_path / "none", f"no such run directory; there is {tmp_path / 'first'}"
    assert translate_command("text", missing, "a").err == f"error: {missing}: {hint}\n"
    inside, run = tmp_path / "first" / "checkpoints", f"; the run is {tmp_path / 'first'}\n"
    inside.mkdir()
    assert translate_command("text", inside, "a").err.endswith(f" (it has no config.yaml){run}")
    assert translate_command("text", inside / "none", "a").err.endswith(f"none: no such run directory{run}")
    said = translate_command("text", "A man.").err
    assert said == "error: A man.: no such run directory; the run comes first, then what is translated\n"
    said = translate_command("text", "Helsinki-NLP/opus-mt-en-de", "A man.").err
    assert said.endswith("becomes a run by: translate import Helsinki-NLP/opus-mt-en-de --out DIR\n")
    (tmp_path / "model.json").touch()
    assert "config.yaml); it is a model for other programs" in translate_command("text", tmp_path, "a").err
