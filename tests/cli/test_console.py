import io
import sys

import pytest

from translate.cli import console
from translate.cli.console import Rate, print_error, print_note, print_warning


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, as the test sets it."""
    now = [100.0]
    monkeypatch.setattr(console.time, "monotonic", lambda: now[0])
    return now


def shown(stream: io.StringIO) -> list[str]:
    return [line.strip() for line in stream.getvalue().replace("\n", "\r").split("\r") if line.strip()]


def test_each_part_counts_from_its_beginning(clock: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", Terminal())
    stream = Terminal()
    rate = Rate(stream, unit="pairs", total=1200, quiet_meanwhile=True)
    for seconds, count, part in ((2.0, 700, "attention"), (0.1, 500, "attention"), (5.0, 100, "erasure")):
        clock[0] += seconds
        rate.add(count, part)
    rate.end()
    assert shown(stream) == [
        "attention: 700 of 1,200 pairs, 350.0 pairs/s",
        "erasure: 100 of 1,200 pairs, 20.0 pairs/s",  # the tenth of a second before was too soon
        "erasure: 100 of 1,200 pairs, 20.0 pairs/s",
    ]
    assert stream.getvalue().endswith("\n")


def test_where_translations_are_to_be_seen_nothing_else_is(
    clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    for output, wanted in ((Terminal(), []), (io.StringIO(), ["3 sentences, 1.5 sentences/s"] * 2)):
        monkeypatch.setattr(sys, "stdout", output)
        stream = Terminal()
        rate = Rate(stream)
        clock[0] += 2.0
        rate.add(3)
        rate.end()
        assert shown(stream) == wanted


def test_a_file_gets_no_progress(clock: list[float]) -> None:
    stream = io.StringIO()
    rate = Rate(stream, quiet_meanwhile=True)
    clock[0] += 9.0
    rate.add(3)
    rate.end()
    assert stream.getvalue() == ""


def test_items_are_counted_as_they_go_by(clock: list[float]) -> None:
    stream = Terminal()
    rate = Rate(stream, unit="pairs", total=2, quiet_meanwhile=True)
    for item in rate.of("ab"):
        clock[0] += 1.0 if item == "a" else 3.0
    assert shown(stream) == ["1 of 2 pairs, 1.0 pairs/s", *["2 of 2 pairs, 0.5 pairs/s"] * 2]


def test_messages_are_one_bounded_line_that_no_terminal_obeys(capsys: pytest.CaptureFixture[str]) -> None:
    for show in (print_error, print_warning, print_note):
        show("a\nb\x1b[31m " + "x" * 50_000 + " expected less")
        line = capsys.readouterr().err
        assert line.count("\n") == 1
        assert len(line) < 1100
        assert ": a b\\x1b[31m x" in line
        assert line.endswith("expected less\n")
