"""A server stands the faults of ``serve_faults.py``."""

from pathlib import Path

import pytest

pytest.importorskip("uvicorn", reason="the extra serve is not installed")

from tests.tools import serve_faults


@pytest.mark.slow
def test_a_server_stands_all_faults(tiny_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    counts = ["--vanish", "60", "--cut", "30", "--slow", "8", "--fuzz", "300", "--clients", "3"]
    code = serve_faults.main([str(tiny_run), *counts])
    printed = capsys.readouterr().out
    assert code == 0, printed
    rows = [line.split() for line in printed.splitlines()]
    assert [row[:2] for row in rows[:4]] == [["vanish", "60"], ["cut", "30"], ["slow", "8"], ["fuzz", "300"]]
    assert rows[-1] == ["0", "findings"]
