"""Synthetic pairs, with a translator that turns words round, so that every pair is known."""

import os
import random
import signal
import time
from collections import Counter
from pathlib import Path

import pytest

from translate.corpora.tables import read_table
from translate.errors import UserError
from translate.runs import synthesis
from translate.runs.synthesis import Counts, PairForm, synthesise

FORM = PairForm(("en", "fr"), False, "<synthetic>")
PLAN = {"runs": ["abc"], "options": {"beam_size": 5}}


def turned(block: list[str]) -> list[list[str]]:
    return [[" ".join(reversed(line.split()))] for line in block]


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(synthesis, "BLOCK", 7)


def made(lines: list[str], out: Path, translate=turned, form=FORM, plan=PLAN) -> Counts:
    return synthesise(lines, out, form, translate, readable=lambda line: len(line) < 40, plan=plan)


def test_pairs_stand_in_the_order_of_the_lines_and_are_counted(tmp_path: Path) -> None:
    lines = [
        "a b c",
        "",
        "d e",
        "a b c",
        "x" * 50,
        "one",
        "  ",
        "f\tg \u2028 h",
        *(f"w {n}" for n in range(20)),
    ]
    counts = made(lines, tmp_path / "out.tsv")
    table = read_table(tmp_path / "out.tsv")
    assert table.names == ["en", "fr"]
    kept = ["a b c", "d e", "f g h", *(f"w {n}" for n in range(20))]  # "one" turned round is itself
    expected = [(f"<synthetic> {' '.join(reversed(line.split()))}", line) for line in kept]
    assert list(zip(*table.columns("en", "fr"), strict=True)) == expected
    assert counts == Counts(28, Counter(blank=2, repeated=1, too_long=1), 24, Counter(copied=1), 23)
    assert counts.summary_lines() == [
        "28 lines: 2 blank, 1 repeated, 1 too long for a run, 24 translated",
        "24 translations: 1 equal to their line, 23 pairs",
    ]
    assert not (tmp_path / "out.tsv.unfinished").exists()


def test_equal_but_for_white_space_is_equal(tmp_path: Path) -> None:
    def spaced(block: list[str]) -> list[list[str]]:
        return [[line.replace("  ", " "), "c \u00a0d", "c d"] for line in block]

    counts = made(["a  b"], tmp_path / "out.tsv", spaced)
    assert counts.dropped == Counter(copied=1, repeated=1)
    assert read_table(tmp_path / "out.tsv").columns("en", "fr") == [["<synthetic> c d"], ["a b"]]


def test_several_translations_of_a_line_are_written_once_each(tmp_path: Path) -> None:
    def both(block: list[str]) -> list[list[str]]:
        return [["b a", "", "c", " b a ", "a b"] for _ in block]

    counts = made(["a b"], tmp_path / "out.tsv", both, PairForm(("en", "fr"), True, ""))
    assert (tmp_path / "out.tsv").read_text().splitlines() == ["en\tfr", "a b\tb a", "a b\tc"]
    assert (counts.translations, counts.pairs) == (5, 2)
    assert counts.dropped == {"empty": 1, "repeated": 1, "copied": 1}


def test_killed_at_any_moment_it_ends_with_the_same_file(tmp_path: Path) -> None:
    """Each of ten processes is killed with SIGKILL; none translates a block again that is whole."""
    lines = [f"word {number} of line {number % 41}" for number in range(200)]
    whole, killed, log = tmp_path / "whole.tsv", tmp_path / "killed.tsv", tmp_path / "log"
    made(lines, whole)
    draw = random.Random(3)

    def slow(block: list[str]) -> list[list[str]]:
        with log.open("a") as file:
            print(block[0], file=file)
        time.sleep(0.01)
        return turned(block)

    died = 0
    while not killed.exists():
        child = os.fork()
        if child == 0:
            try:
                made(lines, killed, slow)
            finally:
                os._exit(0)
        if died < 10:
            time.sleep(draw.uniform(0.0, 0.06))
            os.kill(child, signal.SIGKILL)
        died += os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    assert died >= 5
    assert killed.read_bytes() == whole.read_bytes()
    blocks = -(-200 // 7)
    begun = log.read_text().splitlines()
    assert len(set(begun)) == blocks
    assert len(begun) <= blocks + died  # a kill costs one block at most


def test_another_command_does_not_go_on(tmp_path: Path) -> None:
    def broken(block: list[str]) -> list[list[str]]:
        raise KeyboardInterrupt

    lines, out = ["a b", "c d"], tmp_path / "out.tsv"
    with pytest.raises(KeyboardInterrupt):
        made(lines, out, broken)
    assert not out.exists()
    for changes, name in (
        ({"plan": {**PLAN, "runs": ["other"]}}, "runs"),
        ({"form": PairForm(("en", "fr"), False, "")}, "form"),
        ({"plan": {**PLAN, "options": {"beam_size": 1}}}, "options"),
    ):
        with pytest.raises(UserError, match=f"begun with another {name}; give the same command"):
            made(lines, out, **changes)
    with pytest.raises(UserError, match="begun with another text"):
        made([*lines, "e f"], out)
    made(lines, out)
    assert len(out.read_text().splitlines()) == 3


@pytest.mark.parametrize("lines", [[], ["", "  "], ["x" * 50]])
def test_a_text_without_lines_to_translate_leaves_nothing(lines: list[str], tmp_path: Path) -> None:
    with pytest.raises(UserError, match=rf"no line of the text is to be translated: {len(lines)} lines?: "):
        made(lines, tmp_path / "out.tsv")
    assert not list(tmp_path.iterdir())
    made([*lines, "a b"], tmp_path / "out.tsv")


def test_a_folder_that_another_process_writes(tmp_path: Path) -> None:
    def inside(block: list[str]) -> list[list[str]]:
        with pytest.raises(UserError, match=r"out\.tsv\.unfinished: process \d+ on .* is writing it"):
            made(["a b"], tmp_path / "out.tsv")
        return turned(block)

    made(["a b"], tmp_path / "out.tsv", inside)
