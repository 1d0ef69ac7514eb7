"""One row for each line, also where a translation fails."""

import io
import json
import os
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.cli.commands import Command
from translate.cli.console import input_lines
from translate.cli.text import Tolerant
from translate.errors import LineError, UserError
from translate.text import lines as lines_module
from translate.translation import Translation
from translate.translator import Translator

LINES = ["I love you .", "boom", "the cats sleep .", "", "boom", "it rains ."]
STDIN = "\n".join(LINES).encode()


def tolerant(fail: Any) -> Tolerant:
    """Gives lines in capitals, unless ``fail`` raises for a block."""
    warnings: Counter[str] = Counter()

    def translate(block: list[str]) -> list[str]:
        warnings["lines"] += len(block)
        fail(block)
        return [line.upper() for line in block]

    return Tolerant(translate, lambda line, result: f"{line}={result}", warnings)


def test_only_the_line_at_fault_is_lost_and_nothing_is_counted_twice() -> None:
    def fail(block: list[str]) -> None:
        if "boom" in block:
            raise RecursionError("too deep")

    rows = tolerant(fail)
    assert list(rows.rows(LINES)) == [f"{line}={None if line == 'boom' else line.upper()}" for line in LINES]
    assert (rows.failures, rows.first) == (2, "RecursionError: too deep")
    assert rows.warnings == {"lines": 4}


def test_too_little_memory_for_a_block_costs_no_line() -> None:
    def fail(block: list[str]) -> None:
        if len(block) > 2:
            raise MemoryError

    rows = tolerant(fail)
    assert list(rows.rows(LINES)) == [f"{line}={line.upper()}" for line in LINES]
    assert (rows.failures, rows.warnings) == (0, {"lines": 6})


def test_a_line_of_a_stream_costs_itself_alone() -> None:
    def fail(block: list[str]) -> None:
        if "boom" in block:
            raise LineError("boom: no such picture")

    with pytest.raises(LineError):
        list(tolerant(fail).rows(LINES))
    rows = replace(tolerant(fail), stream=True)
    assert list(rows.rows(LINES)) == [f"{line}={None if line == 'boom' else line.upper()}" for line in LINES]
    assert (rows.failures, rows.first, rows.warnings) == (2, "boom: no such picture", {"lines": 4})


@pytest.mark.parametrize("error", [UserError("prefix: no"), KeyboardInterrupt()])
def test_settings_that_are_impossible_and_interrupts_end_it(error: BaseException) -> None:
    def fail(block: list[str]) -> None:
        raise error

    with pytest.raises(type(error)):
        list(tolerant(fail).rows(LINES))


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> None:
    translate = Translator.translate

    def fail(self: Translator, sentences: list[str], **options: Any) -> list[Translation]:
        if "boom" in sentences:
            raise RuntimeError("a bug\nof ours " + "x" * 9000)
        return translate(self, sentences, **options)

    monkeypatch.setattr(Translator, "translate", fail)


@pytest.mark.usefixtures("failing")
@pytest.mark.parametrize("options", [(), ("--align",), ("--n-best", 2), ("--format", "jsonl")])
def test_the_stream_goes_on(run: Path, translate_command: Command, options: tuple[object, ...]) -> None:
    result = translate_command("text", run, *options, stdin=STDIN)
    whole = translate_command("text", run, *options, stdin=STDIN.replace(b"boom", b""))
    rows, expected = result.out.split("\n"), whole.out.split("\n")
    if "jsonl" in options:
        assert [json.loads(row)["source"] for row in rows[:-1]] == LINES
        rows, expected = ([json.loads(row)["text"] for row in each[:-1]] for each in (rows, expected))
    assert (result.code, whole.code) == (1, 0)
    assert rows == expected  # a blank line and a line that fails look alike
    *others, last = result.err.splitlines()
    assert others == ["warning: 1 sentence: blank, so the translation is empty"]
    assert last.startswith("warning: 2 lines could not be translated and came out empty; the first error:")
    assert "RuntimeError: a bug of ours xxx" in last
    assert len(last) < 300


def test_a_nan_score_is_null(run: Path, translate_command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    translate = Translator.translate

    def unscored(self: Translator, sentences: list[str], **options: Any) -> list[Translation]:
        found = translate(self, sentences, **options)
        return [replace(each, score=float("nan")) for each in found]

    monkeypatch.setattr(Translator, "translate", unscored)
    result = translate_command("text", run, "--format", "jsonl", "I love you .")
    assert json.loads(result.out, parse_constant=pytest.fail)["score"] is None


@pytest.mark.parametrize("piece", [1, 7, 1 << 16])
def test_no_more_of_a_line_is_held(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, piece: int) -> None:
    monkeypatch.setattr(lines_module, "MAX_CHARACTERS", 5)
    texts = ["abcde", "abcdef", "字" * 5, "字" * 6, "😀" * 5, "😀" * 60, "é" * 99, "", "\u20ac" * 30 + "\r"]
    (tmp_path / "lines").write_text("\n".join(texts), encoding="utf-8", newline="")
    read = os.read
    monkeypatch.setattr("os.read", lambda number, most: read(number, min(most, piece)))
    with (tmp_path / "lines").open(encoding="utf-8") as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        warnings: Counter[str] = Counter()
        assert list(input_lines(warnings)) == [text.removesuffix("\r")[:5] for text in texts]
    assert warnings == {lines_module.LINE_CUT: 5}
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\xff" * 99)))
    assert list(input_lines(warnings)) == ["\ufffd" * 5]
