"""What strangers hand in ends every command as it should, whatever the fuzzer makes of it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="a system without fork")
def test_no_case_finds_a_fault(tiny_runs: dict[str, Path]) -> None:
    folder = tiny_runs["transformer"].parent
    line = [sys.executable, "-m", "tests.tools.fuzz", "--cases", "36", "--runs", str(folder)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(line, capture_output=True, text=True, env=environment, timeout=500)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("36 cases")
