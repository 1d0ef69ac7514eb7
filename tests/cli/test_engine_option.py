"""`--engine` on the command line: who translates is said, and a stream goes on as with torch."""

import json
from pathlib import Path

import pytest

import translate
from tests.cli.commands import Command
from tests.search.ctranslate2.conftest import sentences  # noqa: F401 (a fixture)

pytestmark = pytest.mark.slow  # each needs a trained run
pytest.importorskip("ctranslate2", reason="the engine of these tests")

SENTENCE = "I love you ."


def test_a_stream_of_lines_keeps_their_order(
    even_run: Path,
    sentences: list[str],  # noqa: F811
    translate_command: Command,
) -> None:
    lines = [*sentences, "", *sentences[::-1]]
    text = "".join(line + "\n" for line in lines).encode()
    translator = translate.load(even_run, device="cpu", engine="auto")
    wanted = [result.text for result in translator.translate(lines)]
    for engine in ("auto", "ctranslate2"):
        found = translate_command("text", even_run, "--engine", engine, stdin=text)
        assert found.code == 0
        assert found.out.splitlines() == wanted
        assert found.err.startswith("note: CTranslate2 ")


def test_who_translated_is_said(even_run: Path, translate_command: Command) -> None:
    json_lines = ("--format", "jsonl", SENTENCE)
    found = translate_command("text", even_run, "--engine", "auto", *json_lines)
    assert json.loads(found.out)["engine"] == "ctranslate2"
    found = translate_command("text", even_run, "--engine", "auto", "--constraint", "le", *json_lines)
    assert json.loads(found.out)["engine"] == "torch"
    assert found.err.startswith("note: torch translates, since CTranslate2 cannot do this: constraints\n")
    found = translate_command("text", even_run, *json_lines)
    assert "engine" not in json.loads(found.out)
    assert found.err == ""


def test_what_was_demanded_in_vain_is_an_error(
    even_run: Path, tiny_runs: dict[str, Path], translate_command: Command
) -> None:
    found = translate_command("text", even_run, "--engine", "ctranslate2", "--sample", SENTENCE)
    assert (found.code, found.out) == (2, "")
    assert found.err == (
        "error: engine: CTranslate2 cannot do this: sample; leave out ctranslate2, or take auto, with "
        "which torch does it\n"
    )
    found = translate_command("text", tiny_runs["rnn_luong"], "--engine", "ctranslate2", SENTENCE)
    assert found.code == 2
    assert "only Transformers" in found.err
    assert translate_command("text", even_run, "--engine", "marian", SENTENCE).code == 2


def test_evaluate_names_the_engine(even_run: Path, translate_command: Command, tmp_path: Path) -> None:
    (tmp_path / "source").write_text(f"{SENTENCE}\nit rains .\n")
    (tmp_path / "reference").write_text("je t' aime .\nil pleut .\n")
    files = ("--source", tmp_path / "source", "--reference", tmp_path / "reference", "--json")
    plain = json.loads(translate_command("evaluate", even_run, *files).out)
    found = translate_command("evaluate", even_run, "--engine", "auto", *files)
    assert json.loads(found.out) == {**plain, "engine": "ctranslate2"}
    assert found.err.startswith("note: CTranslate2 ")
