"""Stages in which rows meet: repetitions, near-duplicates, boilerplate, and the sample for links."""

from itertools import islice
from pathlib import Path
from typing import NamedTuple

from translate.aligner.frozen import FrozenAligner, first_pairs, learn_frozen
from translate.aligner.judge import TranslationJudge, learn_judge
from translate.prepare.engines import statements
from translate.prepare.engines.tables_and_views import DataEngine
from translate.prepare.judging.scoring import SIMILAR, SimilarFunction, link_words
from translate.prepare.recipe import LinkConfig, Recipe

MAX_SAMPLE_WORDS = 60  # of a side of a pair from which the translations of words are learnt
HMM_ROUNDS = 3  # of training after model 1
HELD_PAIRS = 4_000  # of the sample, from which the judge learns what good pairs look like; at most a fifth


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


class Learnt(NamedTuple):
    """What a sample teaches."""

    aligner: FrozenAligner
    judge: TranslationJudge | None  # ``None`` from a small sample


def learn_sample(engine: DataEngine, view: str, links: LinkConfig) -> Learnt | None:
    """What the first pairs of the random order teach; ``None`` if there are none.

    The aligner's part ends before its possible links exceed ``links.sample_links``, whatever the pairs'
    lengths; the judge learns from the pairs that follow.
    """
    table = engine.query(statements.sample(view, links.sample_pairs + HELD_PAIRS, MAX_SAMPLE_WORDS))
    texts = zip(table["source"].to_pylist(), table["target"].to_pylist())
    pairs = ((link_words(source), link_words(target)) for source, target in texts)
    count = min(links.sample_pairs, len(table) - min(HELD_PAIRS, len(table) // 5))
    sources, targets = first_pairs(islice(pairs, count), links.sample_links)
    if not any(source and target for source, target in zip(sources, targets)):
        return None
    aligner = learn_frozen(sources, targets, hmm_rounds=HMM_ROUNDS)
    held = list(islice(pairs, HELD_PAIRS))
    return Learnt(aligner, learn_judge(aligner, [pair[0] for pair in held], [pair[1] for pair in held]))
