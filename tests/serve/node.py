"""Packages of Node that tests use: pinned in `.ci/node`, installed by `make node` beside this Python."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(sys.prefix) / "node"
PINNED = json.loads((Path(__file__).parents[2] / ".ci" / "node" / "package.json").read_text())["dependencies"]


def package(name: str) -> Path:
    """The folder of a package in its pinned version; skips the test without it."""
    found = FOLDER / "node_modules" / name
    try:
        version = json.loads((found / "package.json").read_text())["version"]
    except FileNotFoundError:
        pytest.skip(f"needs {name} of Node; `make test` installs it with npm")
    if version != PINNED[name]:
        pytest.skip(f"needs {name} {PINNED[name]} of Node, not {version}; `make test` installs it with npm")
    return found


def run(program: str, *arguments: str) -> Any:
    """What a program prints, as JSON; the packages are there for it to import."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("needs Node")
    command = [node, "--input-type=module", "--eval", program, "--", *arguments]
    done = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
