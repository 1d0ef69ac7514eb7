"""Stages in which rows meet: repetitions, near-duplicates and boilerplate."""

from pathlib import Path

from translate.prepare.engines import statements
from translate.prepare.engines.tables_and_views import DataEngine
from translate.prepare.judging.scoring import SIMILAR, SimilarFunction
from translate.prepare.recipe import Recipe


class Dropped:
    """The tables of dropped rows, and the view of the rows that are left."""

    def __init__(self, engine: DataEngine, work: Path) -> None:
        self.engine, self.work, self.view = engine, work, "train_rows"
        self.reasons: dict[str, str] = {}  # of each table

    def add(self, name: str, reason: str, statement: str) -> None:
        """Drop the rows of a statement from the view."""
        store(self.engine, self.work, name, statement, ordered=True)
        self.reasons[name] = reason
        self.engine.add_view(f"after_{name}", statements.view_without(self.view, name))
        self.view = f"after_{name}"

    def folders(self) -> list[Path]:
        """The folders of the tables."""
        return [self.work / name for name in self.reasons]


def store(engine: DataEngine, work: Path, name: str, statement: str, *, ordered: bool = False) -> None:
    """Make a table of a statement, unless an earlier process has."""
    if not (work / name).exists():
        engine.store(statement, work / name, ordered=ordered)
    engine.add_table(name, work / name)


def drop_repeated(engine: DataEngine, work: Path, recipe: Recipe) -> Dropped:
    """Find equal pairs, similar ones, and sentences with too many translations."""
    dropped = Dropped(engine, work)
    if recipe.duplicates:
        dropped.add("duplicates", "duplicate", statements.repeated(dropped.view, "pair_key"))
    if recipe.near_duplicates is not None:
        dropped.add(
            "same_forms", "near_duplicate", statements.repeated(dropped.view, "source_key", "target_key")
        )
        store(engine, work, "signed", statements.signed(dropped.view))
        store(engine, work, "candidates", statements.candidates("signed"))
        function = SimilarFunction(recipe.near_duplicates)
        engine.map(function, work / "candidates", work / "similar_pairs", SIMILAR)
        engine.add_table("similar_pairs", work / "similar_pairs")
        dropped.add("similar_rows", "near_duplicate", statements.similar("similar_pairs"))
    if recipe.max_partners is not None:
        dropped.add("partners", "partners", statements.many_partners(dropped.view, recipe.max_partners))
    return dropped
