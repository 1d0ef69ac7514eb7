"""The splits of a preparation as shards, and the manifest that says which files they are."""

import hashlib
import json
from dataclasses import asdict
from pathlib import Path

import pyarrow

from translate.errors import UserError
from translate.prepare.engines import statements
from translate.prepare.engines.tables_and_views import DataEngine, Shard, ShardOrder
from translate.prepare.exchange import store
from translate.prepare.inputs import SPLITS, Input
from translate.prepare.judging.row_filters import REASONS
from translate.prepare.recipe import Recipe
from translate.prepare.shard_files import missing_ranges, whole_shards, write_shard
from translate.text.aside import told, write_text
from translate.version import __version__

FORMAT = 1
MANIFEST, REPORT = "manifest.json", "report.json"
_TYPES = {"document": pyarrow.int64(), "line": pyarrow.int64()}


def columns(recipe: Recipe, inputs: list[Input]) -> list[str]:
    """The columns of the shards."""
    documents = any(given.document is not None for given in inputs)
    found = ["source", "target", "corpus", *(("document", "line") if documents else ())]
    return [*found, "links"] if recipe.links.write else found


def write_splits(
    engine: DataEngine, recipe: Recipe, inputs: list[Input], out: Path, work: Path
) -> dict[str, list[Shard]]:
    """Hold pairs out where no files are given, drop what overlaps, and write the shards of every split.

    Raises:
        UserError: if no pair is left to train on.
    """
    engine.add_view("kept", "SELECT * FROM clean WHERE reason IS NULL")
    total = _number(engine, "SELECT count(*) AS n FROM kept")
    cuts = _cuts(engine, recipe, inputs, total)
    engine.add_view("held_keys", statements.HELD_KEYS.format(cut=cuts[-1]))
    engine.add_view("train", f"SELECT * FROM kept WHERE order_key > {cuts[-1]}")
    for kind in ("pair", "side"):
        store(engine, work, f"overlap_{kind}", statements.overlapping(kind))
    without = "" if recipe.overlap == "keep" else f"overlap_{recipe.overlap}"
    engine.add_view("chosen", statements.view_without("train", without) if without else "SELECT * FROM train")
    names = columns(recipe, inputs)
    schema = pyarrow.schema([(name, _TYPES.get(name, pyarrow.string())) for name in names])
    shown = ", ".join(names)
    num_train = _number(engine, "SELECT count(*) AS n FROM chosen")
    if not num_train:
        raise UserError(f"no training pair is left: {_reasons(engine)}; are the files and languages right?")
    shards: dict[str, list[Shard]] = {}
    for number, split in enumerate(SPLITS):
        count = -(-num_train // recipe.shard_pairs) if split == "train" else 1
        order = ShardOrder(out, split, count, schema, cuts[-1] + 1 if split == "train" else 0)
        if split == "train":
            statement = f"SELECT order_key, row, {shown} FROM chosen"
        elif any(given.split == number for given in inputs):
            given_columns = shown.replace("links", "CAST(NULL AS STRING) AS links")
            place = "CAST(0 AS BIGINT) AS order_key"  # in the order of the files
            statement = f"SELECT {place}, row, {given_columns} FROM rows WHERE split = {number}"
        elif cuts[number] > cuts[number - 1]:
            between = f"order_key > {cuts[number - 1]} AND order_key <= {cuts[number]}"
            statement = f"SELECT order_key, row, {shown} FROM kept WHERE {between}"
        else:
            shards[split] = []
            continue
        shards[split] = _write(engine, statement, order, work)
    return shards


def _write(engine: DataEngine, statement: str, order: ShardOrder, work: Path) -> list[Shard]:
    notes = work / "shards"
    with told(notes):
        notes.mkdir(exist_ok=True)
    done = whole_shards(order, notes)
    if len(done) < order.count:
        left = missing_ranges(order, done)
        engine.write_shards(f"SELECT * FROM ({statement}) s WHERE {left}", order, notes)
        done = whole_shards(order, notes)
    for number in set(range(order.count)) - set(done):  # a range without a pair, of a small corpus
        done[number] = write_shard([], order, number, notes)
    return [done[number] for number in range(order.count)]


def _reasons(engine: DataEngine) -> str:
    """Why rows were dropped, the most frequent reasons first."""
    each = "SELECT reason FROM rows WHERE split = 0 UNION ALL SELECT reason FROM clean"
    counted = f"SELECT reason, count(*) AS n FROM ({each}) r WHERE reason IS NOT NULL GROUP BY reason"
    rows = sorted(engine.query(counted).to_pylist(), key=lambda row: (-row["n"], row["reason"]))
    return ", ".join(f"{row['n']:,} {REASONS[row['reason']]}" for row in rows) or "all were repeated"


def _cuts(engine: DataEngine, recipe: Recipe, inputs: list[Input], total: int) -> list[int]:
    """The last places of the order that are held out: for nothing, validation, validation and test."""
    cuts = [-1]
    held, tenth = 0, max(1, total // 10)
    for number, wanted in ((1, recipe.validation_pairs), (2, recipe.test_pairs)):
        if wanted and not any(given.split == number for given in inputs):
            held += min(wanted, tenth)
        if not 0 < held < total:
            cuts.append(-1)
            continue
        last = f"SELECT order_key FROM kept ORDER BY order_key LIMIT {held}"
        cuts.append(_number(engine, f"SELECT max(order_key) AS n FROM ({last}) t"))
    return cuts


def _number(engine: DataEngine, statement: str) -> int:
    found: int = engine.query(statement)["n"][0].as_py()
    return found


def content_hash(splits: dict[str, list[Shard]]) -> str:
    """One hash for all shards, which two engines must share."""
    text = "\n".join(f"{shard.file} {shard.sha256}" for shards in splits.values() for shard in shards)
    return hashlib.sha256(text.encode()).hexdigest()


def write_manifest(
    out: Path, recipe: Recipe, identity: str, splits: dict[str, list[Shard]], names: list[str]
) -> None:
    """Write the manifest, by which a reader finds the shards."""
    manifest = {
        "format": FORMAT,
        "languages": [recipe.source_language, recipe.target_language],
        "columns": names,
        "splits": {split: [shard._asdict() for shard in shards] for split, shards in splits.items()},
        "hash": content_hash(splits),
        "report": REPORT,
        "identity": identity,
        "version": __version__,
        "recipe": asdict(recipe),
    }
    write_text(out / MANIFEST, json.dumps(manifest, indent=1, ensure_ascii=False) + "\n")
