"""A training that is killed four times ends like one that is left alone."""

import os
import subprocess
import sys

import pytest


@pytest.mark.slow
def test_a_run_that_is_killed_four_times_ends_like_one_that_is_not() -> None:
    backends = ["--backend", "transformer", "--backend", "rnn_luong"]
    line = [sys.executable, "-m", "tests.tools.kill_resume", "--kills", "4", *backends, "--seed", "7"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(line, capture_output=True, text=True, env=environment, timeout=500)
    assert done.returncode == 0, done.stdout + done.stderr
    for backend in ("transformer", "rnn_luong"):
        assert f"{backend}: 4 kills, 0 findings" in done.stdout
    assert done.stdout.endswith("\n0 findings\n")
