"""The walks of docs/architecture.md are those of the running code."""

import subprocess
import sys

import pytest

from tests.docs.examples import ROOT


@pytest.mark.slow
def test_the_walks_of_the_page_are_those_of_the_code() -> None:
    command = [sys.executable, "scripts/walks.py", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
