"""The house has floors: a file imports from lower floors and its own package, never upward or sideways."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import translate

PACKAGE = Path(translate.__file__).parent
ROOMS = (  # floor by floor, from the lowest
    *("errors version", "config", "attention text grammar", "links", "corpora", "figures models"),
    *("alignment training prepare", "search evaluation", "translation", "translation_call", "translator"),
    *("runs", "serve", "export", "cli", "__init__ __main__"),
)
FLOORS = {room: floor for floor, rooms in enumerate(ROOMS) for room in rooms.split()}


def imported_names(tree: ast.AST, file: Path, root: Path) -> Iterator[tuple[list[str], int]]:
    """The parts of every name of the package that a file imports, also in a function, and the line."""
    package = (root.name, *file.parent.parts)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join((*base, *([node.module] if node.module else [])))
            names = [f"{module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            first, *parts = name.split(".")
            if first == root.name:
                yield parts, node.lineno


def upward_imports(root: Path) -> list[str]:
    wrong, rooms = [], {path.stem for path in root.iterdir()}
    for path in sorted(root.rglob("*.py")):
        file = path.relative_to(root)
        room = file.parts[0].removesuffix(".py")
        for parts, line in imported_names(ast.parse(path.read_text(encoding="utf-8")), file, root):
            # `import translate` and names of translate/__init__.py are the top floor
            other = parts[0] if parts and parts[0] in rooms else "__init__"
            if other != room and FLOORS[other] >= FLOORS[room]:
                wrong.append(f"{file}:{line}: {room} imports {other}")
    return wrong


def test_no_file_imports_upward_or_sideways():
    assert upward_imports(PACKAGE) == []


def test_every_room_has_a_floor():
    rooms = {
        path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    assert rooms - FLOORS.keys() == set()


@pytest.mark.parametrize(
    ("file", "source", "found"),
    [
        ("text/words.py", "import translate.models.rnn", ["text/words.py:1: text imports models"]),
        ("models/rnn.py", "from translate.runs import load", ["models/rnn.py:1: models imports runs"]),
        ("models/rnn.py", "from translate import runs", ["models/rnn.py:1: models imports runs"]),
        ("models/rnn.py", "from translate import load", ["models/rnn.py:1: models imports __init__"]),
        ("models/rnn.py", "from .. import runs", ["models/rnn.py:1: models imports runs"]),
        ("models/rnn.py", "from ..runs import load", ["models/rnn.py:1: models imports runs"]),
        ("models/rnn.py", "def f():\n    import translate.runs", ["models/rnn.py:2: models imports runs"]),
        ("text/words.py", "from translate.attention import Dot", ["text/words.py:1: text imports attention"]),
        ("errors.py", "import translate.version", ["errors.py:1: errors imports version"]),
        ("models/rnn.py", "import torch\nfrom translate.text import words\nfrom . import seq2seq", []),
        ("runs/load.py", "from translate.models.rnn import RNN\nfrom translate.runs import objects", []),
        ("__init__.py", "from translate.runs import load", []),
    ],
)
def test_a_planted_import_is_judged(tmp_path, file, source, found):
    root = tmp_path / "translate"
    for room in ("text", "models", "runs", "attention"):
        (root / room).mkdir(parents=True)
    for name in ("errors.py", "version.py", "__init__.py"):
        (root / name).touch()
    (root / file).write_text(source)
    assert upward_imports(root) == found
