"""Duplicates, overlaps and splits, in SQL that DuckDB and Spark both understand.

Every statement is over keys of fixed size. It groups by a key with ``min(row)`` before it joins: groups of
long values run out of memory.
"""

from pathlib import Path
from typing import Any

import pyarrow

from translate.config.data import SPLITS
from translate.errors import UserError
from translate.prepare.executors import Executor
from translate.prepare.inputs import Input
from translate.prepare.recipe import Recipe
from translate.prepare.rows import REASONS
from translate.prepare.shard_files import Shard, ShardOrder

_TYPES = {"document": pyarrow.int64(), "line": pyarrow.int64()}


def query(executor: Executor, statement: str) -> list[dict[str, Any]]:
    """The rows of a statement that gives few."""
    return executor.table(statement).to_pylist()


def store(executor: Executor, work: Path, name: str, statement: str) -> None:
    """Make a table of a statement, unless an earlier process has."""
    if not (work / name).exists():
        executor.store(statement, work / name)
    executor.add_table(name, work / name)


class Remaining:
    """The training pairs that are left, and the tables of those that were dropped.

    Attributes:
        view: the rows that are left.
        reasons: the reason of each table; its rows have ``row``, and ``first``, the row that is kept instead.
    """

    def __init__(self, executor: Executor, work: Path) -> None:
        self.executor, self.work, self.view = executor, work, "train_rows"
        self.reasons: dict[str, str] = {}
        executor.add_view(self.view, "SELECT * FROM rows WHERE split = 0 AND reason IS NULL")

    def drop(self, name: str, reason: str, statement: str) -> None:
        """Drop the rows of a statement, which are stored as a table with this name."""
        store(self.executor, self.work, name, statement)
        self.reasons[name] = reason
        self.executor.add_view(f"after_{name}", _without(self.view, name))
        self.view = f"after_{name}"


def drop_repeated(executor: Executor, work: Path, recipe: Recipe) -> Remaining:
    """Drop equal pairs, nearly equal ones, and sentences with too many translations."""
    left = Remaining(executor, work)
    if recipe.duplicates:
        left.drop("duplicates", "duplicate", _repeated(left.view, "pair_key"))
    if recipe.near_duplicates:
        left.drop("same_forms", "near_duplicate", _repeated(left.view, "source_key", "target_key"))
    if recipe.max_partners is not None:
        left.drop("partners", "partners", _many_partners(left.view, recipe.max_partners))
    return left


def _without(view: str, dropped: str) -> str:
    return f"SELECT v.* FROM {view} v ANTI JOIN {dropped} d ON v.row = d.row"


def _repeated(view: str, *keys: str) -> str:
    """The rows with the same keys as an earlier row."""
    group = ", ".join(keys)
    same = " AND ".join(f"v.{key} = f.{key}" for key in keys)
    return (
        f"SELECT v.row, f.first FROM {view} v JOIN (SELECT {group}, min(row) AS first FROM {view} "
        f"GROUP BY {group} HAVING count(*) > 1) f ON {same} WHERE v.row <> f.first"
    )


def _many_partners(view: str, limit: int) -> str:
    """The rows of sentences that stand with more than ``limit`` different translations."""
    pairs = f"SELECT DISTINCT source_key, target_key FROM {view}"
    return " UNION ".join(
        f"SELECT v.row, CAST(NULL AS BIGINT) AS first FROM {view} v JOIN (SELECT {side} FROM ({pairs}) p "
        f"GROUP BY {side} HAVING count(*) > {limit}) m ON v.{side} = m.{side}"
        for side in ("source_key", "target_key")
    )


def _overlapping(kind: str) -> str:
    """The rows of train that share both sides (``pair``) or one (``side``) with a held pair, but for form."""
    chosen = "SELECT v.row, CAST(NULL AS BIGINT) AS first FROM train v SEMI JOIN held_keys h ON "
    if kind == "pair":
        return chosen + "v.source_key = h.source_key AND v.target_key = h.target_key"
    return f"{chosen}v.source_key = h.source_key UNION {chosen}v.target_key = h.target_key"


def columns_of(recipe: Recipe, inputs: list[Input]) -> list[str]:
    """The columns of the shards."""
    has_documents = any(given.document is not None for given in inputs)
    found = ["source", "target", "corpus", *(("document", "line") if has_documents else ())]
    return [*found, "links"] if recipe.links.write else found


def write_splits(
    executor: Executor, recipe: Recipe, inputs: list[Input], out: Path, work: Path
) -> dict[str, list[Shard]]:
    """Hold pairs out where no files are given, drop what overlaps, and write the shards of every split.

    Raises:
        UserError: if no pair is left to train on.
    """
    executor.add_view("kept", "SELECT * FROM clean WHERE reason IS NULL")
    cuts = _cuts(executor, recipe, inputs)
    executor.add_view("held_out", f"SELECT * FROM kept WHERE order_key <= {cuts[-1]}")
    executor.add_view("train", f"SELECT * FROM kept WHERE order_key > {cuts[-1]}")
    keys = "SELECT source_key, target_key FROM"
    executor.add_view("held_keys", f"{keys} rows WHERE split > 0 UNION {keys} held_out")
    for kind in ("pair", "side"):
        store(executor, work, f"overlap_{kind}", _overlapping(kind))
    is_kept = recipe.overlap == "keep"
    chosen = "SELECT * FROM train" if is_kept else _without("train", f"overlap_{recipe.overlap}")
    executor.add_view("chosen", chosen)
    num_train = number_of(executor, "chosen")
    if not num_train:
        raise UserError(f"no training pair is left: {_why(executor)}; are the files and languages right?")
    names = columns_of(recipe, inputs)
    schema = pyarrow.schema([(name, _TYPES.get(name, pyarrow.string())) for name in names])
    shards: dict[str, list[Shard]] = {}
    for number, split in enumerate(SPLITS):
        order = ShardOrder(out, split, 1, schema)
        columns, key = ", ".join(["row", *names]), "order_key"
        if split == "train":
            count = -(-num_train // recipe.shard_pairs)
            order, rows = ShardOrder(out, split, count, schema, cuts[-1] + 1), "chosen"
        elif any(given.split == number for given in inputs):
            columns = columns.replace("links", "CAST(NULL AS STRING) AS links")
            key, rows = "CAST(0 AS BIGINT)", f"rows WHERE split = {number}"  # in the order of the files
        elif cuts[number] > cuts[number - 1]:
            rows = f"kept WHERE order_key > {cuts[number - 1]} AND order_key <= {cuts[number]}"
        else:
            shards[split] = []
            continue
        statement = f"SELECT {columns}, {key} AS order_key FROM {rows}"
        ordered = f"SELECT *, {order.number()} AS shard FROM ({statement}) r"
        shards[split] = executor.write_shards(ordered, order)
    return shards


def _cuts(executor: Executor, recipe: Recipe, inputs: list[Input]) -> list[int]:
    """The last positions of the order that are held out: for nothing, validation, validation and test."""
    total, held, cuts = number_of(executor, "kept"), 0, [-1]
    for number, wanted in ((1, recipe.validation_pairs), (2, recipe.test_pairs)):
        if wanted and not any(given.split == number for given in inputs):
            held += min(wanted, max(1, total // 10))
        if not 0 < held < total:
            cuts.append(cuts[-1])
            continue
        last = f"SELECT order_key FROM kept ORDER BY order_key LIMIT {held}"
        cuts.append(query(executor, f"SELECT max(order_key) AS last FROM ({last}) t")[0]["last"])
    return cuts


def number_of(executor: Executor, view: str) -> int:
    """How many rows a table or a view has."""
    return query(executor, f"SELECT count(*) AS n FROM {view}")[0]["n"]


def _why(executor: Executor) -> str:
    """The reasons for which rows were dropped, the most frequent first."""
    both = "SELECT reason FROM rows WHERE split = 0 UNION ALL SELECT reason FROM clean"
    counted = f"SELECT reason, count(*) AS n FROM ({both}) r WHERE reason IS NOT NULL GROUP BY reason"
    rows = sorted(query(executor, counted), key=lambda row: (-row["n"], row["reason"]))
    return ", ".join(f"{row['n']:,} {REASONS[row['reason']]}" for row in rows) or "all were repeated"
