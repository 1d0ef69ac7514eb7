"""The limits of the house: a file is a few pages, and imports go in no circle. Ruff limits functions."""

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import translate
from tests.test_floors import imported_names

PACKAGE = Path(translate.__file__).parent
MAX_LINES = 400


def test_no_file_is_long():
    sizes = {file: len(file.read_text(encoding="utf-8").splitlines()) for file in PACKAGE.rglob("*.py")}
    assert {file: size for file, size in sizes.items() if size > MAX_LINES} == {}


def file_of(parts: list[str]) -> Path:
    """The file that holds a dotted name: a module, or the package or module that defines it."""
    for size in range(len(parts), -1, -1):
        path = PACKAGE.joinpath(*parts[:size])
        for file in (path.with_suffix(".py"), path / "__init__.py"):
            if file.is_file():
                return file
    raise FileNotFoundError(parts)


def test_imports_go_in_no_circle():
    graph = {}
    for file in PACKAGE.rglob("*.py"):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        names = imported_names(tree, file.relative_to(PACKAGE), PACKAGE)
        graph[file] = {file_of(parts) for parts, _ in names}
    circle = []
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        circle = [str(file.relative_to(PACKAGE)) for file in error.args[1]]
    assert circle == []
