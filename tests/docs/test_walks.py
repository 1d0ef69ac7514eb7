"""The walks of docs/architecture.md are those of the running code."""

import subprocess
import sys

import pytest

from scripts.walks import Walk, stale
from tests.docs.examples import ROOT


@pytest.mark.slow
def test_the_walks_of_the_page_are_those_of_the_code() -> None:
    command = [sys.executable, "scripts/walks.py", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


def test_a_walk_through_other_files_is_stale() -> None:
    walk = Walk()
    walk.functions = {"search/beam.py": ["search", "search.<locals>.rows"], "models/rnn.py": ["_step"]}
    page = f"<!-- walk: a -->\n{walk.table()}\n<!-- walk: a -->"
    assert "| `search/beam.py` | `search` |\n| `models/rnn.py` | `_step` |" in page
    assert stale(page, "a", walk) is None
    walk.functions["attention/kernels/packing.py"] = ["pack"]  # depends on the processor
    assert stale(page, "a", walk) is None
    walk.functions["text/words.py"] = ["split"]
    assert "new text/words.py; gone none; run scripts/walks.py --docs" in (stale(page, "a", walk) or "")
