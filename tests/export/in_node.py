"""The page's scripts in Node, for what a browser is not needed for."""

import json
import shutil
import subprocess
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

NODE = shutil.which("node")
in_node = pytest.mark.skipif(NODE is None, reason="needs Node.js; on Debian: apt install nodejs")


def run_script(folder: Path, script: str, given: Any) -> Any:
    """The value that a script writes, for the one that it is given.

    Args:
        folder: an empty one; ``given`` is in its ``given.json``.
        script: an ES module beside the page's; it defines ``answer(given)``.
        given: for JSON.
    """
    assert NODE is not None
    for file in (resources.files("translate.export") / "assets").iterdir():
        (folder / file.name).write_text(file.read_text(encoding="utf-8"), encoding="utf-8")
    (folder / "package.json").write_text('{"type": "module"}')
    (folder / "given.json").write_text(json.dumps(given), encoding="utf-8")
    main = script + (
        '\nimport { readFileSync as read, writeFileSync as write } from "node:fs";\n'
        'write("found.json", JSON.stringify(answer(JSON.parse(read("given.json", "utf-8")))));\n'
    )
    (folder / "main.js").write_text(main, encoding="utf-8")
    done = subprocess.run([NODE, "main.js"], cwd=folder, capture_output=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    return json.loads((folder / "found.json").read_text(encoding="utf-8"))
