"""Reads the shards that ``translate prepare`` has written: Arrow files that a manifest names, mapped."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.ipc

from translate.config.data import SPLITS, DataConfig
from translate.config.names import shorten, shown_path
from translate.corpora.caches import fingerprint
from translate.corpora.columns import Column, Mapped
from translate.corpora.split import Split
from translate.corpora.tables import check_names
from translate.errors import UserError
from translate.text.bounded import check_regular, checksum, explained, read_json
from translate.text.lines import user_path

MANIFEST, FORMAT, MAX_MANIFEST = "manifest.json", 1, 16 << 20
TEXT = (pyarrow.string(), pyarrow.large_string())


def read_prepared(data: DataConfig) -> tuple[tuple[str, str], dict[str, Split]]:
    """The languages and the splits.

    Raises:
        UserError: for a manifest that is missing or malformed, or a shard that is missing or damaged.
    """
    if data.path is None:
        raise UserError("data.path is not set; give the folder that translate prepare has written")
    root = user_path(data.path)
    manifest = _manifest(root)
    splits = {}
    for name in SPLITS:
        if shards := manifest["splits"].get(name):
            tables = [_shard(root, shard) for shard in shards]
            splits[name] = _split(tables, [str(shard["sha256"]) for shard in shards], scored=name != "train")
    if "train" not in splits:
        raise UserError(f"{shown_path(root / MANIFEST)}: no training pairs; expected shards of train")
    return _languages(data, manifest["languages"], root), splits


def _manifest(root: Path) -> dict[str, Any]:
    path = root / MANIFEST
    found = read_json(path, root=root, limit=MAX_MANIFEST, expected="a folder of translate prepare")
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        got = shorten(found.get("format")) if isinstance(found, dict) else type(found).__name__
        raise UserError(f"{shown_path(path)}: expected a manifest of format {FORMAT}, got {got}")
    splits, languages = found.get("splits"), found.get("languages")
    if not isinstance(splits, dict) or not all(map(_are_shards, splits.values())):
        raise UserError(f"{shown_path(path)}: expected file, pairs and sha256 for all shards of all splits")
    if not (isinstance(languages, list) and [type(language) for language in languages] == [str, str]):
        raise UserError(f"{shown_path(path)}: expected two languages, got {shorten(languages)}")
    return found


def _are_shards(entries: Any) -> bool:
    known = {"file", "pairs", "sha256"}
    return isinstance(entries, list) and all(isinstance(e, dict) and known <= e.keys() for e in entries)


def _languages(data: DataConfig, languages: list[str], root: Path) -> tuple[str, str]:
    """The languages of the manifest, with which those of the settings must agree."""
    wanted = data.source_language or languages[0], data.target_language or languages[1]
    if list(wanted) != languages:
        raise UserError(
            f"{shown_path(root)}: the shards are {shorten('-'.join(languages))}, not {'-'.join(wanted)}; "
            f"expected the languages that they were prepared for"
        )
    return wanted


def _shard(root: Path, shard: Mapping[str, Any]) -> Mapped:
    """A shard whose content is as the manifest says."""
    name = str(shard["file"])
    path = root / name
    where = shown_path(path)
    if Path(name).name != name or name in ("", ".", ".."):
        raise UserError(f"{where}: expected the name of a file in the folder of the manifest")
    try:
        check_regular(path, root=root)
    except FileNotFoundError as error:
        raise UserError(f"{where}: the shard is missing; prepare it again") from error
    with explained(f"{where}: not a readable Arrow file", pyarrow.ArrowException, ValueError, OSError):
        if checksum(path) != shard["sha256"]:
            raise UserError(f"{where}: the shard is damaged (its SHA-256 is another one); prepare it again")
        mapped = Mapped.open(path)
        for batch in mapped.table.to_batches():
            batch.validate(full=True)
            mapped.release()
    _check_table(mapped.table, shard, where)
    return mapped


def _check_table(table: pyarrow.Table, shard: Mapping[str, Any], where: str) -> None:
    check_names(table.column_names, where)
    for name in ("source", "target"):
        if name not in table.column_names or table.schema.field(name).type not in TEXT:
            raise UserError(f"{where}: no column {name} of text; it has {shorten(table.column_names)}")
        if table.column(name).null_count:
            raise UserError(f"{where}: the column {name} has empty cells; expected text in each")
    for name in {"corpus", "links"} & set(table.column_names):
        kind = table.schema.field(name).type
        if (kind.value_type if pyarrow.types.is_dictionary(kind) else kind) not in TEXT:
            raise UserError(f"{where}: the column {name} is {shorten(kind)}; expected text")
    if len(table) != shard["pairs"]:
        raise UserError(f"{where}: {len(table):,} pairs; the manifest says {shorten(shard['pairs'])}")


def _split(shards: list[Mapped], names: list[str], *, scored: bool) -> Split:
    def column(name: str) -> Column[str] | None:
        if not all(name in shard.table.column_names for shard in shards):
            return None
        kind = shards[0].table.schema.field(name).type
        chunks = (chunk.cast(kind) for shard in shards for chunk in shard.table.column(name).chunks)
        return Column(pyarrow.chunked_array(chunks, kind), shards)

    source, target = column("source"), column("target")
    assert source is not None
    assert target is not None
    corpora = column("corpus") if scored else None
    several = corpora if corpora is not None and len(set(corpora)) > 1 else None
    links = None if scored else column("links")
    return Split(source, target, name=fingerprint(names), corpora=several, links=links)
