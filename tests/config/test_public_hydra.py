"""Hydra is used through its public names alone."""

import ast
from pathlib import Path

import pytest

import translate

PACKAGE = Path(translate.__file__).parent


def private_uses(source: str) -> list[str]:
    """Private modules and names of Hydra that a file imports, and private attributes of what it imported."""
    tree = ast.parse(source)
    found, names = [], set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
            names |= {
                (alias.asname or alias.name).split(".")[0] for alias in node.names if "hydra" in alias.name
            }
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "hydra":
            modules = [f"{node.module}.{alias.name}" for alias in node.names]
            names |= {alias.asname or alias.name for alias in node.names}
        else:
            continue
        hydra = [module for module in modules if module.split(".")[0] == "hydra"]
        found += [module for module in hydra if any(part.startswith("_") for part in module.split("."))]
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__"):
            of_hydra = {each.id for each in ast.walk(node.value) if isinstance(each, ast.Name)} & names
            holders = {each.attr for each in ast.walk(node.value) if isinstance(each, ast.Attribute)}
            if of_hydra or holders & {"loader", "parser", "hydra"}:
                found.append(ast.unparse(node))
    return found


def test_no_private_name_of_hydra_is_used() -> None:
    sources = {file: file.read_text(encoding="utf-8") for file in PACKAGE.rglob("*.py")}
    users = {file: source for file, source in sources.items() if "hydra" in source}
    assert {"composer.py", "train.py"} <= {file.name for file in users}
    assert {str(file): private_uses(source) for file, source in users.items() if private_uses(source)} == {}


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("from hydra._internal.utils import get_args_parser", ["hydra._internal.utils.get_args_parser"]),
        ("import hydra._internal", ["hydra._internal"]),
        ("import hydra\nhydra._internal.utils", ["hydra._internal"]),
        ("def f(self):\n    self.loader._compose()", ["self.loader._compose"]),
        (
            "from hydra.core.plugins import Plugins\nPlugins.instance()._register(1)",
            ["Plugins.instance()._register"],
        ),
        ("import hydra\nself._hydra()\nhydra.compose()", []),
    ],
)
def test_a_planted_use_is_found(source: str, found: list[str]) -> None:
    assert private_uses(source) == found
