"""The report of a preparation: what was read, dropped and kept, with examples, from small queries."""

from collections import defaultdict
from typing import Any

from translate.prepare.engines import statements
from translate.prepare.engines.tables_and_views import DataEngine, Shard
from translate.prepare.exchange import Dropped
from translate.prepare.inputs import SPLITS
from translate.prepare.judging.row_filters import REASONS
from translate.prepare.manifest import content_hash
from translate.prepare.recipe import Recipe

EXAMPLES = 5  # of each reason
SHOWN = 300  # characters of a side
SHOWN_LANGUAGES = 12
BINS = 20  # of the link coverage and of probabilities
SHARES = (0.05, 0.25, 0.5, 0.75, 0.95)


def find(
    engine: DataEngine,
    recipe: Recipe,
    dropped: Dropped,
    damaged: list[dict[str, str]],
    splits: dict[str, list[Shard]],
) -> dict[str, Any]:
    """The report, the same for every engine."""
    engine.add_view("fates", _fates(recipe, dropped))
    read = _counts(engine, "SELECT corpus, split, count(*) AS n FROM rows GROUP BY corpus, split")
    reasons = _counts(engine, "SELECT corpus, reason, count(*) AS n FROM fates GROUP BY corpus, reason")
    kept = _counts(engine, "SELECT corpus, 'train' AS kept, count(*) AS n FROM chosen GROUP BY corpus")
    return {
        "languages": [recipe.source_language, recipe.target_language],
        "splits": {split: sum(shard.pairs for shard in shards) for split, shards in splits.items()},
        "hash": content_hash(splits),
        "read": {
            corpus: {SPLITS[int(key)]: n for key, n in counts.items()} for corpus, counts in read.items()
        },
        "kept": {corpus: counts["train"] for corpus, counts in kept.items()},
        "dropped": {corpus: _in_order(counts) for corpus, counts in reasons.items()},
        "reasons": {reason: REASONS[reason] for reason in _in_order(_summed(reasons))},
        "damaged_files": damaged,
        "overlap": {
            f"same_{kind}": engine.query(f"SELECT count(*) AS n FROM overlap_{kind}")["n"][0].as_py()
            for kind in ("pair", "side")
        },
        "words": {
            side: _quantiles(
                engine, f"SELECT {side}_words AS v, count(*) AS n FROM chosen GROUP BY {side}_words"
            )
            for side in ("source", "target")
        },
        "identified_languages": {
            side: _languages(engine, f"{side}_language") for side in ("source", "target")
        },
        "link_coverage": _histograms(engine, "coverage"),
        "translation_probability": _histograms(engine, "probability"),
        "examples": _examples(engine),
    }


def _fates(recipe: Recipe, dropped: Dropped) -> str:
    """Every dropped row with its reason."""
    parts = [f"SELECT {statements.KEPT}, reason FROM rows WHERE split = 0 AND reason IS NOT NULL"]
    parts += [
        f"SELECT {statements.KEPT}, '{why}' AS reason FROM {name}" for name, why in dropped.reasons.items()
    ]
    parts.append(f"SELECT {statements.KEPT}, reason FROM clean WHERE reason IS NOT NULL")
    if recipe.overlap != "keep":
        parts.append(f"SELECT {statements.KEPT}, 'overlap' AS reason FROM overlap_{recipe.overlap}")
    return " UNION ALL ".join(parts)


def _counts(engine: DataEngine, statement: str) -> dict[str, dict[str, int]]:
    """Corpus -> value -> number, in alphabetic order."""
    found: dict[str, dict[str, int]] = defaultdict(dict)
    rows = [list(row.values()) for row in engine.query(statement).to_pylist()]
    for corpus, value, count in sorted(rows):
        found[corpus][str(value)] = count
    return dict(found)


def _summed(counts: dict[str, dict[str, int]]) -> dict[str, int]:
    total: dict[str, int] = defaultdict(int)
    for each in counts.values():
        for name, count in each.items():
            total[name] += count
    return dict(total)


def _in_order(counts: dict[str, int]) -> dict[str, int]:
    return {reason: counts[reason] for reason in REASONS if reason in counts}


def _quantiles(engine: DataEngine, statement: str) -> dict[str, float]:
    """Mean and quantiles of a value, from the number of rows that have it."""
    counted = sorted((row["v"], row["n"]) for row in engine.query(statement).to_pylist())
    total = sum(count for _, count in counted)
    found: dict[str, float] = {"mean": round(sum(value * count for value, count in counted) / total, 2)}
    for share in SHARES:
        seen = 0
        for value, count in counted:
            seen += count
            if seen >= share * total:
                found[f"{share:.0%}"] = value
                break
    found["most"] = counted[-1][0]
    return found


def _languages(engine: DataEngine, column: str) -> dict[str, int]:
    """The languages that were identified most; sides that are too short to tell are not counted."""
    known = f"split = 0 AND {column} IS NOT NULL"
    statement = f"SELECT {column} AS v, count(*) AS n FROM rows WHERE {known} GROUP BY {column}"
    rows = sorted((-row["n"], row["v"]) for row in engine.query(statement).to_pylist())
    return {language: -count for count, language in rows[:SHOWN_LANGUAGES]}


def _histograms(engine: DataEngine, value: str) -> dict[str, dict[str, int]]:
    """For each corpus how many pairs have which value, from 0 to 1 in steps of 1 / ``BINS``."""
    bin_of = f"least(CAST(floor({value} * {BINS}) AS INT), {BINS - 1})"
    statement = (
        f"SELECT corpus, {bin_of} AS v, count(*) AS n FROM clean WHERE {value} IS NOT NULL "
        f"GROUP BY corpus, {bin_of}"
    )
    return {
        corpus: {f"{number / BINS:.2f}": counts.get(str(number), 0) for number in range(BINS)}
        for corpus, counts in _counts(engine, statement).items()
    }


def _examples(engine: DataEngine) -> dict[str, list[dict[str, Any]]]:
    """The first pairs of the random order that were dropped for each reason."""
    chosen = {
        row["row"]: row["reason"] for row in engine.query(statements.examples("fates", EXAMPLES)).to_pylist()
    }
    if not chosen:
        return {}
    numbers = ", ".join(map(str, sorted(chosen)))
    texts = engine.query(
        f"SELECT row, corpus, line, substr(source, 1, {SHOWN}) AS source, "
        f"substr(target, 1, {SHOWN}) AS target FROM rows WHERE row IN ({numbers}) ORDER BY row"
    )
    found: dict[str, list[dict[str, Any]]] = {
        reason: [] for reason in _in_order(dict.fromkeys(chosen.values(), 1))
    }
    for row in texts.to_pylist():
        found[chosen[row.pop("row")]].append(row)
    return found
