"""The report: what was read, dropped and kept, with examples, as JSON, as a page and for the terminal."""

import html
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from translate.config.data import SPLITS
from translate.prepare.exchange import Remaining, number_of, query
from translate.prepare.executors import Executor
from translate.prepare.recipe import Recipe
from translate.prepare.rows import REASONS, difference, placeholders
from translate.prepare.rows import numbers as numbers_of
from translate.prepare.shard_files import Shard, content_hash
from translate.text.languages import base

PAGE = "report.html"
EXAMPLES = 5  # of each reason
SHOWN = 300  # characters of a side
BINS = 20  # of probabilities
_STYLE = Path(__file__).with_name("report.css").read_text(encoding="utf-8")


def report_of(
    executor: Executor, recipe: Recipe, remaining: Remaining, splits: dict[str, list[Shard]]
) -> dict[str, Any]:
    """The report, the same for every executor.

    The pairs of a corpus that were read for training are as many as those that were dropped, held out for
    validation or test, and kept.
    """
    executor.add_view("dropped", _dropped(recipe, remaining))
    counted = "SELECT corpus, {0} AS v, count(*) AS n FROM {1} GROUP BY corpus, {0}"
    reasons = _counts(executor, counted.format("reason", "dropped"))
    summed = sum((Counter(counts) for counts in reasons.values()), Counter[str]())
    read = _counts(executor, counted.format("split", "rows"))
    return {
        "languages": [recipe.source_language, recipe.target_language],
        "splits": {split: sum(shard.pairs for shard in shards) for split, shards in splits.items()},
        "hash": content_hash(splits),
        "read": {name: {SPLITS[int(key)]: n for key, n in found.items()} for name, found in read.items()},
        "dropped": {corpus: _ordered(counts) for corpus, counts in reasons.items()},
        "held_out": _by_corpus(executor, "held_out"),
        "kept": _by_corpus(executor, "chosen"),
        "reasons": {reason: REASONS[reason] for reason in _ordered(summed)},
        "overlap": {f"same_{kind}": number_of(executor, f"overlap_{kind}") for kind in ("pair", "side")},
        "translation_probability": _histogram(executor),
        "examples": _examples(executor, recipe),
    }


def _dropped(recipe: Recipe, remaining: Remaining) -> str:
    """Every dropped row with its reason, and the row that is kept instead."""
    none = "CAST(NULL AS BIGINT) AS first"
    parts = [
        f"SELECT row, reason, {none} FROM rows WHERE split = 0 AND reason IS NOT NULL",
        f"SELECT row, reason, {none} FROM clean WHERE reason IS NOT NULL",
        *(
            f"SELECT row, '{reason}' AS reason, first FROM {name}"
            for name, reason in remaining.reasons.items()
        ),
    ]
    if recipe.overlap != "keep":
        parts.append(f"SELECT row, 'overlap' AS reason, first FROM overlap_{recipe.overlap}")
    together = " UNION ALL ".join(parts)
    return (
        f"SELECT r.row, r.corpus, r.order_key, d.reason, d.first FROM ({together}) d "
        f"JOIN rows r ON d.row = r.row"
    )


def _counts(executor: Executor, statement: str) -> dict[str, dict[str, int]]:
    """Corpus -> value -> number, in alphabetic order."""
    found: dict[str, dict[str, int]] = defaultdict(dict)
    for row in sorted(query(executor, statement), key=lambda row: (row["corpus"], row["v"])):
        found[row["corpus"]][str(row["v"])] = row["n"]
    return dict(found)


def _by_corpus(executor: Executor, view: str) -> dict[str, int]:
    rows = query(executor, f"SELECT corpus, count(*) AS n FROM {view} GROUP BY corpus ORDER BY corpus")
    return {row["corpus"]: row["n"] for row in rows}


def _ordered(counts: dict[str, int]) -> dict[str, int]:
    return {reason: counts[reason] for reason in REASONS if reason in counts}


def _histogram(executor: Executor) -> dict[str, dict[str, int]]:
    """For every corpus the number of pairs by probability, from 0 to 1 in steps of 1 / ``BINS``."""
    step = f"least(CAST(floor(probability * {BINS}) AS INT), {BINS - 1})"
    counted = f"SELECT corpus, {step} AS v, count(*) AS n FROM clean WHERE probability IS NOT NULL"
    return {
        corpus: {f"{number / BINS:.2f}": counts.get(str(number), 0) for number in range(BINS)}
        for corpus, counts in _counts(executor, f"{counted} GROUP BY corpus, {step}").items()
    }


def _examples(executor: Executor, recipe: Recipe) -> dict[str, list[dict[str, Any]]]:
    """The first pairs of the random order for every reason, with what convinces, or the pair kept instead."""
    chosen = query(
        executor,
        "SELECT reason, row, first FROM (SELECT reason, row, first, row_number() OVER (PARTITION BY reason "
        f"ORDER BY order_key, row) AS place FROM dropped) d WHERE place <= {EXAMPLES} ORDER BY row",
    )
    numbers = {number for row in chosen for number in (row["row"], row["first"]) if number is not None}
    wanted = ", ".join(map(str, sorted(numbers))) or "NULL"
    names = "row, corpus, line, source, target, source_words, target_words, source_language, target_language"
    rows = {row["row"]: row for row in query(executor, f"SELECT {names} FROM rows WHERE row IN ({wanted})")}
    judged = query(executor, f"SELECT row, probability FROM clean WHERE row IN ({wanted})")
    probability = {row["row"]: row["probability"] for row in judged}
    found: dict[str, list[dict[str, Any]]] = {reason: [] for reason in REASONS}
    for row in chosen:
        why = _why(row["reason"], rows[row["row"]], recipe, probability.get(row["row"]))
        kept = {} if row["first"] is None else {"kept": _shown(rows[row["first"]])}
        found[row["reason"]].append({**_shown(rows[row["row"]]), "why": why, **kept})
    return {reason: pairs for reason, pairs in found.items() if pairs}


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    sides = {side: row[side][:SHOWN] + "…" * (len(row[side]) > SHOWN) for side in ("source", "target")}
    return {"corpus": row["corpus"], "line": row["line"], **sides}


def _why(reason: str, row: dict[str, Any], recipe: Recipe, probability: float | None) -> str:
    """The finding about a dropped pair, if a reader does not see it at once."""
    if reason in ("too_long", "ratio"):
        return f"{row['source_words']} and {row['target_words']} words"
    if reason == "language":
        pairs = (("source_language", recipe.source_language), ("target_language", recipe.target_language))
        found = ((name[:6], row[name]) for name, code in pairs if row[name] not in (None, base(code)))
        return "; ".join(f"the {side} looks like '{language}'" for side, language in found)
    if reason in ("numbers", "placeholders"):
        count = numbers_of if reason == "numbers" else placeholders
        return difference(count(row["source"]), count(row["target"]))
    return "" if probability is None else f"probability of a translation {probability:.3f}"


def summary(report: dict[str, Any]) -> list[str]:
    """Lines for the terminal: what was read, dropped, held out and kept."""
    totals = [(what, sum(counts.values())) for what, counts in _training_pairs(report)]
    lines = [f"{count:>12,} {what}" for what, count in totals if count]
    if report["overlap"]["same_side"]:
        pair, side = (report["overlap"][f"same_{kind}"] for kind in ("pair", "side"))
        dropped = sum(counts.get("overlap", 0) for counts in report["dropped"].values())
        lines.append(
            f"{side:,} clean pairs share a sentence with a validation or test pair, {pair:,} share both; "
            f"dropped of these: {dropped:,}"
        )
    written = ", ".join(f"{split} {count:,}" for split, count in report["splits"].items())
    return [*lines, f"written: {written}", f"hash {report['hash']}"]


def _training_pairs(report: dict[str, Any]) -> list[tuple[str, dict[str, int]]]:
    """The fates of training pairs, each with its number of pairs of every corpus."""
    read, dropped = report["read"], report["dropped"]
    return [
        ("read for training", {corpus: counts.get("train", 0) for corpus, counts in read.items()}),
        *(
            (f"dropped: {meaning}", {corpus: counts.get(reason, 0) for corpus, counts in dropped.items()})
            for reason, meaning in report["reasons"].items()
        ),
        ("held out for validation or test", report["held_out"]),
        ("kept", report["kept"]),
    ]


def page_of(report: dict[str, Any]) -> str:
    """The report as a page of HTML."""
    title = html.escape(f"Corpora {' to '.join(report['languages'])}")
    parts = [
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{_STYLE}</style>'
        f"<h1>{title}</h1>"
    ]
    tables = [
        f"<h2>{heading}</h2><p>{note}</p><div><table>{_row(head, 'th')}"
        f"{''.join(_row(row, 'td') for row in rows)}</table></div>"
        for heading, note, head, rows in _tables(report)
        if rows
    ]
    examples = []
    for reason, pairs in report["examples"].items():
        examples.append(f"<h2>Dropped: {html.escape(report['reasons'][reason])}</h2>")
        for pair in pairs:
            kept = _described(pair["kept"], "kept instead: ") if "kept" in pair else ""
            examples.append(f"<dl>{_described(pair, '')}{kept}</dl>")
    return "\n".join([*parts, tables[0], *examples, *tables[1:]]) + "</html>\n"


def _row(cells: Sequence[object], tag: str) -> str:
    found = []
    for cell in cells:
        is_number = isinstance(cell, (int, float))
        text = html.escape(f"{cell:,}" if is_number else str(cell))
        found.append(f"<{tag}{' class=n' if is_number else ' dir=auto'}>{text}</{tag}>")
    return f"<tr>{''.join(found)}</tr>"


def _described(pair: dict[str, Any], what: str) -> str:
    why = f" · {pair['why']}" if pair.get("why") else ""
    place = html.escape(f"{what}{pair['corpus']}, pair {pair['line']:,}{why}")
    source, target = (html.escape(pair[side]) for side in ("source", "target"))
    return f"<dt>{place}</dt><dd dir=auto>{source}</dd><dd dir=auto>{target}</dd>"


def _tables(report: dict[str, Any]) -> Iterator[tuple[str, str, Sequence[str], list[Sequence[object]]]]:
    """The heading of each table, a note, the head and the rows; a column for every corpus."""
    corpora = report["read"]
    rows: list[Sequence[object]] = [
        (what, *(counts.get(corpus, 0) for corpus in corpora)) for what, counts in _training_pairs(report)
    ]
    note = "Read = dropped + held out + kept; a pair is dropped for the first reason found."
    yield "Training pairs", note, ("pairs", *corpora), rows
    rows = [("both sides", report["overlap"]["same_pair"]), ("a side", report["overlap"]["same_side"])]
    note = (
        "Clean training pairs that equal a validation or test pair but for case, punctuation and numbers. "
        "They are dropped only if the setting overlap says so."
    )
    yield "Overlap", note, ("equal", "pairs"), rows
    probability = report["translation_probability"]
    steps = [step / BINS for step in range(BINS)]
    rows = [*zip(steps, *(counts.values() for counts in probability.values()))] if probability else []
    note = "By the links between the words, if half of all pairs were translations (links.min_probability)."
    yield "Probability of a translation", note, ("from", *probability), rows
