"""A training that is killed four times ends like one that is left alone."""

import os
import subprocess
import sys

import pytest


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="a system without fork")
@pytest.mark.parametrize("more", [["transformer"], ["rnn_luong", "--mixture"]], ids=["one corpus", "mixture"])
def test_a_run_that_is_killed_four_times_ends_like_one_that_is_not(more: list[str]) -> None:
    line = [sys.executable, "-m", "tests.tools.kill_resume", "--kills", "4", "--backend"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [*line, *more, "--seed", "7"], capture_output=True, text=True, env=environment, timeout=500
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{more[0]}: 4 kills, 0 findings" in done.stdout
    assert done.stdout.endswith("\n0 findings\n")
