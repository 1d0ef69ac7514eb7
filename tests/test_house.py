"""The limits of the house: sizes of files, functions and constructors; no circles of imports."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import translate
from tests.test_floors import imported_names

PACKAGE = Path(translate.__file__).parent
MAX_LINES, MAX_FUNCTION_LINES, MAX_PARAMETERS = 400, 60, 10  # a function fits on a screen

# One name for two public classes: why both keep it.
SHARED_CLASS_NAMES = {
    "Linear: attention/linear.py, training/schedules.py": "stored configurations name both",
}

# A record of values, built by name and with defaults, may have more fields than a constructor parameters.
RECORDS = {
    "corpora/corpus.py: Corpus": "the parts that a corpus may have",
    "grammar/meaning.py: Clause": "the parts that a clause may have",
    "training/loop.py: Progress": "the state of a run that a checkpoint holds",
    "alignment/pairs.py: EncodedPair": "two sides in pieces, with their words and offsets",
    "translation.py: TranslateOptions": "every option of a translation, declared once",
    "translation.py: TranslationCall": "the sentences of a call and all that their translation needs",
}


def trees(root: Path) -> Iterator[tuple[str, ast.Module]]:
    """Every file's path below the package, and its syntax tree."""
    for file in sorted(root.rglob("*.py")):
        yield str(file.relative_to(root)), _parsed(file.read_text(encoding="utf-8"))


@cache
def _parsed(text: str) -> ast.Module:
    return ast.parse(text)


def long_files(root: Path) -> list[str]:
    sizes = {file: len(file.read_text(encoding="utf-8").splitlines()) for file in sorted(root.rglob("*.py"))}
    return [f"{file.relative_to(root)}: {size} lines" for file, size in sizes.items() if size > MAX_LINES]


def long_functions(root: Path) -> list[str]:
    found = []
    for file, tree in trees(root):
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                assert node.end_lineno is not None
                size = node.end_lineno - node.lineno + 1
                if size > MAX_FUNCTION_LINES:
                    found.append(f"{file}: {node.name} has {size} lines")
    return found


def _constructor_size(node: ast.ClassDef) -> int:
    """The parameters of a class: those of ``__init__``, or the fields of a dataclass or named tuple."""
    for part in node.body:
        if isinstance(part, ast.FunctionDef) and part.name == "__init__":
            arguments = part.args
            return len(arguments.posonlyargs + arguments.args + arguments.kwonlyargs) - 1
    generated = any("dataclass" in ast.unparse(decorator) for decorator in node.decorator_list)
    generated |= any("NamedTuple" in ast.unparse(base) for base in node.bases)
    return sum(isinstance(part, ast.AnnAssign) for part in node.body) if generated else 0


def _classes(tree: ast.Module) -> list[ast.ClassDef]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]


def large_constructors(root: Path) -> list[str]:
    """Sections of the configuration are left out: their fields are the settings."""
    return [
        f"{file}: {node.name} has {size} parameters"
        for file, tree in trees(root)
        if not file.startswith("config/")
        for node in _classes(tree)
        if (size := _constructor_size(node)) > MAX_PARAMETERS
        if f"{file}: {node.name}" not in RECORDS
    ]


def _file_of(parts: list[str], root: Path) -> str:
    """The file that holds a dotted name: a module, or the package or module that defines it."""
    for size in range(len(parts), 0, -1):
        path = root.joinpath(*parts[:size])
        if path.with_suffix(".py").is_file():
            return str(path.with_suffix(".py").relative_to(root))
        if (path / "__init__.py").is_file():
            return str((path / "__init__.py").relative_to(root))
    return "__init__.py"


def circles(root: Path) -> list[str]:
    """One circle of imports, or none."""
    graph = {
        file: {_file_of(parts, root) for parts, _ in imported_names(tree, Path(file), root)}
        for file, tree in trees(root)
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return [" <- ".join(error.args[1])]
    return []


def shared_class_names(root: Path) -> list[str]:
    files = defaultdict(list)
    for file, tree in trees(root):
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                files[node.name].append(file)
    found = [f"{name}: {', '.join(those)}" for name, those in sorted(files.items()) if len(those) > 1]
    return [shared for shared in found if shared not in SHARED_CLASS_NAMES]


CHECKS = [
    long_files,
    long_functions,
    large_constructors,
    circles,
    shared_class_names,
]


@pytest.mark.parametrize("check", CHECKS)
def test_the_house_keeps_its_limits(check):
    assert check(PACKAGE) == []


def test_the_exceptions_are_still_there():
    names = {f"{file}: {node.name}" for file, tree in trees(PACKAGE) for node in _classes(tree)}
    assert names >= RECORDS.keys()
    for shared in SHARED_CLASS_NAMES:
        name, files = shared.split(": ")
        assert names >= {f"{file}: {name}" for file in files.split(", ")}
