import json
from pathlib import Path

import pytest

from tests.cli.align.pairs import write
from tests.cli.commands import Command


def test_report(own_run: Path, files: list[object], gold: list[object], translate_command: Command) -> None:
    row = json.loads(translate_command("align", "report", own_run, *files, *gold, "--json").out)
    assert row["pairs"] == 11
    assert set(row["scores"]) == {"attention", "gradient", "erasure", "norm"}
    assert len(row["entropy"]["layers"]) == 2
    result = translate_command("align", "report", own_run)
    assert result.code == 0
    assert "attention and erasure disagree on" in result.out
    assert all(word in result.out for word in ("rank correlation", "AER", "entropy of each head"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--reverse", "r"], "it belongs to translate align symmetrise and calibrate"),
        (["--method", "norm"], "no such option --method of translate align report"),
        (["--calibrate"], "it is a command: translate align calibrate"),
        (["--source", "two.en", "--target", "two.fr", "--gold", "far.gold"], "far.gold, line 2"),
    ],
)
def test_wrong_use(
    own_run: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    message: str,
    translate_command: Command,
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "two.en", "a b", "c")
    write(tmp_path / "two.fr", "d", "e f")
    write(tmp_path / "far.gold", "1-0", "0-2")
    result = translate_command("align", "report", own_run, *arguments)
    assert (result.code, result.out) == (2, "")
    assert message in result.err
    assert len(result.err.splitlines()) == 1
