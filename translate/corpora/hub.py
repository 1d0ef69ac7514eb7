"""Reads parallel corpora of the hub through ``datasets``; without a network, from its cache."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from translate.config.data import SPLITS, DataConfig
from translate.config.names import shorten
from translate.corpora.clone import candidate_names, load_clone
from translate.corpora.documents.ids import numbered
from translate.corpora.local_files import columns
from translate.corpora.split import RawCorpus, SplitReader
from translate.corpora.tables import ROWS, Table, from_arrow, pick
from translate.errors import UserError

PROBE_SECONDS = 5.0
LOCAL_COPY = "give a local copy with data.path=DIR"


def load_hub(data: DataConfig, source_language: str, target_language: str) -> RawCorpus:
    """Download (once) and read a corpus of the hub.

    Raises:
        UserError: if it is neither reachable nor cached, or lacks this language pair.
    """
    if data.hub.repository is None:
        raise UserError(f"data.hub.repository is not set for the corpus {data.name!r}")
    reachable = _reachable()
    where = f"the corpus {data.name!r} ({data.hub.repository})"
    with _quiet(offline=not reachable):
        try:
            dataset = _load_dataset(data, candidate_names(_template(data), source_language, target_language))
        except Exception as error:  # datasets raises many kinds
            if reachable:
                reason = " ".join(str(error).split())[:200]
                raise UserError(
                    f"{where} cannot be loaded for {source_language}-{target_language} from revision "
                    f"{data.hub.revision}: {reason}; {LOCAL_COPY}"
                ) from error
            snapshot = _load_snapshot(data, source_language, target_language)
            if snapshot is not None:
                return snapshot
            raise UserError(
                f"{where} is not cached on this machine and the hub cannot be reached; "
                f"connect once, or {LOCAL_COPY}"
            ) from error
    return _read_splits(dataset, data, source_language, target_language)


def _read_splits(dataset: Any, data: DataConfig, source_language: str, target_language: str) -> RawCorpus:
    splits: dict[str, SplitReader] = {}
    for name in SPLITS:
        stored: str | None = getattr(data.hub.splits, name)
        if stored is None:
            continue
        where = f"{data.hub.repository} {stored}"
        if stored not in dataset:
            raise UserError(f"{where}: no such split for data.hub.splits.{name}; it has {', '.join(dataset)}")
        table = _table_of(dataset[stored], where)
        names = [
            pick(table, columns(data, data.source_field, source_language), LOCAL_COPY),
            pick(table, columns(data, data.target_field, target_language), LOCAL_COPY),
        ]
        if data.document_field is not None:
            names.append(pick(table, [data.document_field], "choose another data.document_field"))
        splits[name] = SplitReader(partial(numbered, table, names), has_documents=len(names) > 2)
    if "train" not in splits:
        raise UserError(
            f"{data.hub.repository}: data.hub.splits.train must name a split; it has {', '.join(dataset)}"
        )
    return RawCorpus(source_language, target_language, splits)


def _table_of(dataset: Any, where: str) -> Table:
    """A split of ``datasets``, which maps it from its cache, or downloads it while it is read."""
    tables = _read_on(iter(dataset.with_format("arrow").iter(ROWS)), where)
    first = next(tables, None)
    if first is None:
        raise UserError(f"{where}: no rows; expected sentence pairs")
    batches = (batch for table in chain([first], tables) for batch in table.combine_chunks().to_batches())
    return from_arrow(first.schema, batches, where)


def _read_on(tables: Iterator[Any], where: str) -> Iterator[Any]:
    """The tables, without messages of the libraries that read them."""
    while True:
        with _quiet(offline=False):
            try:
                table = next(tables, None)
            except Exception as error:  # datasets raises many kinds
                reason = shorten(" ".join(str(error).split()), 200)
                raise UserError(f"{where}: cannot be read to its end ({reason}); {LOCAL_COPY}") from error
        if table is None:
            return
        yield table


def _template(data: DataConfig) -> str | None:
    return data.hub.config if data.hub.directory is None else data.hub.directory


def _load_dataset(data: DataConfig, candidates: list[str]) -> Any:
    """The dataset under the first name that exists; raises the error of the first name if none does."""
    import datasets

    by = "name" if data.hub.directory is None else "data_dir"
    failures = []
    for arguments in [{by: name} for name in candidates] or [{}]:
        try:
            return datasets.load_dataset(
                data.hub.repository, revision=data.hub.revision, streaming=data.streaming, **arguments
            )
        except Exception as error:  # the next name may exist
            failures.append(error)
    raise failures[0]


def _load_snapshot(data: DataConfig, source_language: str, target_language: str) -> RawCorpus | None:
    """The corpus from an earlier download, which ``datasets`` cannot find by folder while it is offline."""
    import huggingface_hub

    try:
        folder = huggingface_hub.snapshot_download(
            data.hub.repository or "", repo_type="dataset", revision=data.hub.revision, local_files_only=True
        )
        return load_clone(Path(folder), data, source_language, target_language)
    except (OSError, ValueError):  # no download, or not of this pair
        return None


def _reachable() -> bool:
    """Whether the hub answers a short request; ``datasets`` would retry for half a minute before it fails."""
    from huggingface_hub import constants
    from huggingface_hub.utils import get_session

    try:
        get_session().head(constants.ENDPOINT, timeout=PROBE_SECONDS)
    except Exception:  # offline mode, no route, no name, bad proxy
        return False
    return True


@contextmanager
def _quiet(*, offline: bool) -> Iterator[None]:
    """Silence the libraries' logs; ``offline`` restricts them to their cache."""
    import datasets
    from huggingface_hub import constants

    loggers = [logging.getLogger(name) for name in ("datasets", "huggingface_hub")]
    before = [logger.level for logger in loggers], datasets.config.HF_HUB_OFFLINE, constants.HF_HUB_OFFLINE
    try:
        for logger in loggers:
            logger.setLevel(logging.CRITICAL)
        if offline:
            datasets.config.HF_HUB_OFFLINE = constants.HF_HUB_OFFLINE = True
        yield
    finally:
        levels, datasets.config.HF_HUB_OFFLINE, constants.HF_HUB_OFFLINE = before
        for logger, level in zip(loggers, levels):
            logger.setLevel(level)
