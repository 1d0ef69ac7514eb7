"""Reads corpora of the hub: through ``datasets``, from its cache without a network, or from a clone."""

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from translate.config.data import SPLITS, DataConfig
from translate.config.names import TABLES, listed, shorten, shown_path
from translate.corpora.document_rows import columns_of, numbered
from translate.corpora.local_files import chosen_columns, table_reader
from translate.corpora.split import RawCorpus, SplitReader
from translate.corpora.tables import ROWS, Table, from_arrow, is_table
from translate.errors import UserError

PROBE_SECONDS = 5.0
LOCAL_COPY = "give a local copy with data.path=DIR"
_DESCRIPTIONS = ("dataset_info.json", "dataset_infos.json", "dataset_dict.json", "state.json")  # no tables
_EDGE = r"[-._ 0-9/]"
_WORDS = (
    "train|training",
    "validation|valid|val|dev|newsdev",
    "test|testing|eval|evaluation|devtest|newstest|tst",
)
_SPLIT_WORDS = {
    split: re.compile(rf"(^|{_EDGE})({words})({_EDGE}|$)", re.IGNORECASE)
    for split, words in zip(SPLITS, _WORDS, strict=True)
}


def load_hub(data: DataConfig, languages: tuple[str, str]) -> RawCorpus:
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
            dataset = _load_dataset(data, _candidate_names(data, languages))
        except Exception as error:  # datasets raises many kinds
            if reachable:
                reason = shorten(error, 200)
                raise UserError(
                    f"{where} cannot be loaded for {'-'.join(languages)} from revision "
                    f"{data.hub.revision}: {reason}; {LOCAL_COPY}"
                ) from error
            snapshot = _load_snapshot(data, languages)
            if snapshot is not None:
                return snapshot
            raise UserError(
                f"{where} is not cached on this machine and the hub cannot be reached; "
                f"connect once, or {LOCAL_COPY}"
            ) from error
    return _read_splits(dataset, data, languages)


def _read_splits(dataset: Any, data: DataConfig, languages: tuple[str, str]) -> RawCorpus:
    splits: dict[str, SplitReader] = {}
    for name in SPLITS:
        stored: str | None = getattr(data.hub.splits, name)
        if stored is None:
            continue
        where = f"{data.hub.repository} {stored}"
        if stored not in dataset:
            raise UserError(f"{where}: no such split for data.hub.splits.{name}; it has {', '.join(dataset)}")
        table = _table_of(dataset[stored], where)
        names = chosen_columns(table, data, languages)
        splits[name] = SplitReader(partial(numbered, table, names), columns_of(data))
    if "train" not in splits:
        raise UserError(
            f"{data.hub.repository}: data.hub.splits.train must name a split; it has {', '.join(dataset)}"
        )
    return RawCorpus(languages, splits)


def _table_of(dataset: Any, where: str) -> Table:
    """A split of ``datasets``, which maps it from its cache, or downloads it while it is read."""

    def batches() -> Iterator[Any]:
        try:
            for table in dataset.with_format("arrow").iter(ROWS):
                yield from table.combine_chunks().to_batches()
        except Exception as error:  # datasets raises many kinds
            reason = shorten(error, 200)
            raise UserError(f"{where}: cannot be read to its end ({reason}); {LOCAL_COPY}") from error

    rest = batches()
    first = next(rest, None)
    if first is None:
        raise UserError(f"{where}: no rows; expected sentence pairs")
    return from_arrow(first.schema, chain([first], rest), where)


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


def _load_snapshot(data: DataConfig, languages: tuple[str, str]) -> RawCorpus | None:
    """The corpus from an earlier download, which ``datasets`` cannot find by folder while it is offline."""
    import huggingface_hub

    try:
        folder = huggingface_hub.snapshot_download(
            data.hub.repository or "", repo_type="dataset", revision=data.hub.revision, local_files_only=True
        )
        return load_clone(Path(folder), data, languages)
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


def _candidate_names(data: DataConfig, languages: tuple[str, str]) -> list[str]:
    """Names of the config or folder of a pair, for both directions: it is often stored under only one."""
    template = data.hub.config or data.hub.directory
    if template is None:
        return []
    pairs = (languages, languages[::-1])
    names = (template.replace("{source}", source).replace("{target}", target) for source, target in pairs)
    return list(dict.fromkeys(names))


def load_clone(root: Path, data: DataConfig, languages: tuple[str, str]) -> RawCorpus:
    """Read a clone of a hub repository; raises ``UserError`` if the pair or its training data is missing.

    The tables lie in the folder of the pair or, if there is none, anywhere; a word of its path names a
    table's split.
    """
    wanted = _candidate_names(data, languages)
    folder = next((root / name for name in wanted if (root / name).is_dir()), None)
    files = _by_split(folder or root)
    if folder is None and wanted and root.name not in wanted:
        nested = [path.relative_to(root).parts for paths in files.values() for path in paths]
        folders = {parts[0] for parts in nested if len(parts) > 1} - {"data"}
        splits = {name for name in folders if any(word.search(name) for word in _SPLIT_WORDS.values())}
        if others := sorted(folders - splits):
            raise UserError(f"{root}: no folder {' or '.join(wanted)}; there are {', '.join(others)}")
    if "train" not in files:
        source, target = (shorten(language, 30) for language in languages)
        raise UserError(
            f"{shown_path(root)}: no training data for {source}-{target}; expected train.{source} and "
            f"train.{target}, or the hub's layout with {', '.join(TABLES)} files"
        )
    named = [path for path in files.get("test", ()) if data.test_name and data.test_name in path.name]
    chosen = {name: files[name] for name in SPLITS if name in files} | ({"test": named} if named else {})
    readers = {name: table_reader(paths, data, languages) for name, paths in chosen.items()}
    names = listed(path.relative_to(root) for path in chosen["train"])
    return RawCorpus(languages, readers, (f"train is read from {names}, as the layout of the hub has it",))


def _by_split(folder: Path) -> dict[str, list[Path]]:
    """The tables in a folder by the split word in their path; train without one."""
    files: dict[str, list[Path]] = {}
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder)
        hidden = any(part.startswith(".") for part in relative.parts)
        described = path.name in _DESCRIPTIONS or path.match("cache-*.arrow")  # of what `datasets` changed
        if is_table(path) and path.is_file() and not (hidden or described):
            split = next((name for name in SPLITS if _SPLIT_WORDS[name].search(relative.as_posix())), "train")
            files.setdefault(split, []).append(path)
    return files
