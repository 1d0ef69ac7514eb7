"""Small corpora with planted pairs, and helpers to prepare them."""

from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.ipc

from translate.grammar.generator import generate
from translate.prepare.executors import OneMachine
from translate.prepare.preparation import Preparation
from translate.prepare.recipe import Recipe, recipe_of

LANGUAGES = {"source_language": "en", "target_language": "fr"}


def grammar_pairs(count: int) -> list[tuple[str, str]]:
    """Different pairs of the embedded grammar."""
    examples = generate(count, 0, 0, 3, target="fr")["train"]
    return [(example.source, example.target) for example in examples]


def write_pairs(folder: Path, name: str, pairs: list[tuple[str, str]]) -> dict[str, str]:
    """Two files side by side, as a recipe names them."""
    folder.mkdir(parents=True, exist_ok=True)
    files = {}
    for side, number, language in (("source", 0, "en"), ("target", 1, "fr")):
        path = folder / f"{name}.{language}"
        path.write_text("".join(f"{pair[number]}\n" for pair in pairs), encoding="utf-8")
        files[side] = str(path)
    return files


def recipe(corpora: dict[str, Any], **settings: Any) -> Recipe:
    """A recipe without filters of links unless they are given."""
    given = {"links": {"min_probability": None}, "validation_pairs": 0, **LANGUAGES, **settings}
    return recipe_of({"corpora": corpora, **given})


def prepare(given: Recipe, out: Path, *, workers: int = 1, memory: int = 2**29) -> dict[str, Any]:
    """The report of a preparation on this machine."""
    notes: list[str] = []

    def make(folder: Path) -> OneMachine:
        return OneMachine(folder, memory=memory, workers=workers)

    return Preparation(given, out, make, notes.append).run()


def rows(out: Path, split: str = "train") -> list[dict[str, Any]]:
    """The rows of a split in the order of its shards."""
    found: list[dict[str, Any]] = []
    for path in sorted(out.glob(f"{split}-*.arrow")):
        with pyarrow.memory_map(str(path)) as file:
            found += pyarrow.ipc.open_file(file).read_all().to_pylist()
    return found


def pairs_of(out: Path, split: str = "train") -> list[tuple[str, str]]:
    """The pairs of a split."""
    return [(row["source"], row["target"]) for row in rows(out, split)]
