from pathlib import Path

import pytest

from tests.cli.align.pairs import PAIR
from tests.cli.commands import Command


def test_every_layer_and_head(tiny_runs: dict[str, Path], tmp_path: Path, translate_command: Command) -> None:
    out = tmp_path / "a.svg"
    options = ("--colours", "viridis", "--out", out)
    result = translate_command("align", "heads", tiny_runs["transformer"], *PAIR, *options)
    assert result == (0, f"heads written to {out}\n", "")
    content = out.read_text(encoding="utf-8")
    assert "layer 1" in content
    assert "head 1" in content


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([*PAIR], "missing option --out: picture to write: .png, .pdf or .svg"),
        ([*PAIR, "--out", "a.html"], "a.html: expected one of .png, .pdf, .svg, got .html"),
        ([*PAIR, "--values", "--out", "a.png"], "it belongs to translate align pair and compare"),
        ([*PAIR, "--links", "", "--out", "a.png"], "it belongs to translate align pair and compare"),
        ([*PAIR, "--method", "norm", "--out", "a.png"], "no such option --method of translate align heads"),
        ([*PAIR, "--with", "r", "--out", "a.png"], "it belongs to translate align compare"),
        (["x", "", "--out", "a.svg"], "nothing to draw: 1 source and 0 target words"),
    ],
)
def test_wrong_use(
    run: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    message: str,
    translate_command: Command,
) -> None:
    monkeypatch.chdir(tmp_path)
    result = translate_command("align", "heads", run, *arguments)
    assert (result.code, result.out) == (2, "")
    assert message in result.err
    assert len(result.err.splitlines()) == 1
    assert not any(tmp_path.iterdir())
