"""``scripts/bench_serve.py`` measures a server with a tiny model, and asks only servers of this machine."""

from pathlib import Path

import pytest

pytest.importorskip("uvicorn", reason="the extra serve is not installed")

from scripts.bench_serve import main
from tests.serve.client import running
from translate.runs.load import load
from translate.serve.catalogue import Catalogue, Served
from translate.serve.limits import ServiceLimits
from translate.serve.web.keys import Keys


def test_it_measures_a_server(tiny_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = tmp_path / "lines.en"
    lines.write_text("I love you .\na man sleeps .\n")
    models = Catalogue([Served("tiny", "en", "fr", load(tiny_run, device="cpu"))])
    client, end = running(models, ServiceLimits(), Keys(), 5.0)
    counts = ["--clients", "1", "3", "--requests", "6"]
    assert main([client.url, "--lines", str(lines), *counts, "--document", "20"]) == 0
    assert main([client.url, "--lines", str(lines), *counts, "--api", "own"]) == 0
    end()
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    measured = [row for row in rows if row[0] in ("1", "3")]
    assert [row[0] for row in measured] == ["1", "3", "1", "3"]
    assert all(float(row[1]) > 0 and row[4:6] == ["0", "0"] for row in measured)
    assert all(float(cpu) > 0 for row in measured for cpu in row[6:8])  # of server and client
    assert sum(row[0] == "the" for row in rows) == 1
