"""A few kills of the script, which are as if they had never been."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "kill_resume.py"


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="a system without fork")
@pytest.mark.parametrize("more", [[], ["--mixture"]], ids=["one corpus", "mixture"])
def test_a_run_that_is_killed_three_times_ends_like_one_that_is_not(more: list[str]) -> None:
    line = [sys.executable, str(SCRIPT), "--kills", "3", "--backend", "rnn_luong", "--seed", "7", *more]
    done = subprocess.run(
        line,
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        timeout=500,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "rnn_luong: 3 kills, 0 findings" in done.stdout
    assert done.stdout.endswith("\n0 findings\n")
