"""Hydra is used through its public names alone."""

import ast
from pathlib import Path

import translate

PACKAGE = Path(translate.__file__).parent


def private_uses(source: str) -> list[str]:
    """Private modules and names of Hydra in a file, and private attributes of its objects."""
    found = []
    for node in ast.walk(ast.parse(source)):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Attribute) and not node.attr.startswith("__"):
            names = [ast.unparse(node).removeprefix("self.")]
        of_hydra = [name for name in names if name.lower().split(".")[0] in HOLDERS]
        found += [name for name in of_hydra if any(part.startswith("_") for part in name.split(".")[1:])]
    return found


HOLDERS = ("hydra", "loader", "parser", "plugins", "globalhydra", "hydraconfig")


def test_no_private_name_of_hydra_is_used() -> None:
    users = {file: file.read_text(encoding="utf-8") for file in (PACKAGE / "config").glob("*.py")}
    users[PACKAGE / "cli" / "train.py"] = (PACKAGE / "cli" / "train.py").read_text(encoding="utf-8")
    assert {file.name: private_uses(source) for file, source in users.items() if private_uses(source)} == {}


def test_planted_uses_are_found() -> None:
    assert private_uses("from hydra._internal.utils import get_args_parser") == [
        "hydra._internal.utils.get_args_parser"
    ]
    assert private_uses("self.loader._compose()") == ["loader._compose"]
    assert private_uses("import hydra\nself._hydra()\nhydra.compose()") == []
