"""Reads corpora of the hub: through ``datasets``, without a network from its cache, or from a clone on disk.

A clone has data files in folders, and perhaps a README.md whose front matter declares them.
"""

import logging
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from translate.config.data import SPLITS, DataConfig
from translate.config.names import listed, shorten, shown_path
from translate.corpora.document_rows import numbered
from translate.corpora.local_files import chosen_columns, table_reader
from translate.corpora.split import RawCorpus, SplitReader
from translate.corpora.tables import ROWS, SUFFIXES, Table, from_arrow, is_table
from translate.errors import UserError
from translate.text.bounded import parse_yaml, read_bounded

PROBE_SECONDS = 5.0
LOCAL_COPY = "give a local copy with data.path=DIR"
MAX_CARD = 8 << 20  # bytes of a README.md
_EDGE = r"[-._ 0-9/]"
_SPLIT_WORDS = {
    "train": re.compile(rf"(^|{_EDGE})(train|training)({_EDGE}|$)", re.IGNORECASE),
    "validation": re.compile(rf"(^|{_EDGE})(validation|valid|val|dev)({_EDGE}|$)", re.IGNORECASE),
    "test": re.compile(rf"(^|{_EDGE})(test|testing|eval|evaluation)({_EDGE}|$)", re.IGNORECASE),
}


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
            dataset = _load_dataset(data, _candidate_names(data, source_language, target_language))
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
        names = chosen_columns(table, data, source_language, target_language)
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


def _candidate_names(data: DataConfig, source_language: str, target_language: str) -> list[str]:
    """Names of the config or folder of a pair, for both directions: it is often stored under only one."""
    template = data.hub.config or data.hub.directory
    if template is None:
        return []
    pairs = ((source_language, target_language), (target_language, source_language))
    names = (template.replace("{source}", source).replace("{target}", target) for source, target in pairs)
    return list(dict.fromkeys(names))


def load_clone(root: Path, data: DataConfig, source_language: str, target_language: str) -> RawCorpus:
    """Read a clone of a hub repository; raises ``UserError`` if the pair or its training data is missing."""
    wanted = _candidate_names(data, source_language, target_language)
    files = _from_readme(root, wanted) or _from_folders(root, wanted)
    splits: dict[str, SplitReader] = {}
    for name in SPLITS:
        stored = getattr(data.hub.splits, name)
        paths = files.get(stored) or next((files[split] for split in files if _is_split(split, name)), [])
        if paths:
            splits[name] = table_reader(paths, data, source_language, target_language)
    if "train" not in splits:
        languages = [shorten(language, 30) for language in (source_language, target_language)]
        raise UserError(
            f"{shown_path(root)}: no training data for {languages[0]}-{languages[1]}; "
            f"expected train.{languages[0]} and train.{languages[1]}, "
            f"or the hub's layout with {', '.join(SUFFIXES)} files"
        )
    return RawCorpus(source_language, target_language, splits)


def _is_split(stored: str, name: str) -> bool:
    return _SPLIT_WORDS[name].search(stored) is not None


def _from_readme(root: Path, wanted: Sequence[str]) -> dict[str, list[Path]]:
    """The data files by split that README.md declares for the wanted config; empty if it declares none."""
    declared = _front_matter(root / "README.md").get("configs")
    configs = [c for c in _listed(declared or []) if isinstance(c, Mapping) and "data_files" in c]
    if not configs:
        return {}
    names = [str(config.get("config_name", "default")) for config in configs]
    if wanted:
        chosen = next((configs[names.index(name)] for name in wanted if name in names), None)
    else:
        chosen = configs[names.index("default")] if "default" in names else configs[0]
    if chosen is None:
        # README.md may list other configs than there are folders; the caller searches the folders next.
        if any((root / name).is_dir() for name in wanted) or names == ["default"]:
            return {}
        raise UserError(
            f"{shown_path(root)}: no config {shorten(' or '.join(wanted), 100)}; "
            f"README.md lists {listed(names)}"
        )
    base = str(chosen.get("data_dir") or "")
    declared = _data_files(chosen["data_files"], root)
    files = {split: _expand(root, base, patterns) for split, patterns in declared.items()}
    return {split: paths for split, paths in files.items() if paths}


def _front_matter(readme: Path) -> Mapping[str, Any]:
    if not readme.is_file():
        return {}
    text = read_bounded(readme, limit=MAX_CARD).decode("utf-8", "replace").replace("\r\n", "\n")
    parts = re.split(r"^---[ \t]*$", text, maxsplit=2, flags=re.MULTILINE)
    if len(parts) < 3 or parts[0].strip():
        return {}
    values = parse_yaml(parts[1], readme)
    return values if isinstance(values, dict) else {}


def _data_files(declared: Any, root: Path) -> dict[str, list[str]]:
    """Patterns by split, from any form of a card: a pattern, a list, a mapping, or a list of mappings."""
    if isinstance(declared, Mapping):
        return {str(split): _listed(patterns) for split, patterns in declared.items()}
    files: dict[str, list[str]] = {}
    for entry in _listed(declared):
        if isinstance(entry, Mapping) and not {"split", "path"} <= entry.keys():
            raise UserError(f"{shown_path(root)}: README.md has an entry of data_files without split or path")
        split, patterns = (entry["split"], entry["path"]) if isinstance(entry, Mapping) else ("train", entry)
        files.setdefault(str(split), []).extend(_listed(patterns))
    return files


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _expand(root: Path, folder: str, patterns: Iterable[Any]) -> list[Path]:
    """The tables that the patterns of a card name; raises ``UserError`` for one outside."""
    found: set[Path] = set()
    for pattern in map(str, patterns):
        parts = Path(folder, pattern).parts
        if ".." in parts or Path(folder, pattern).is_absolute() or not Path(pattern).parts:
            raise UserError(
                f"{shown_path(root)}: README.md names the files {shorten(pattern, 100)!r}; "
                f"expected names inside this folder"
            )
        try:
            found.update(path for path in (root / folder).glob(pattern) if is_table(path))
        except (OSError, ValueError, re.error) as error:
            reason = shorten(str(error), 100)
            raise UserError(
                f"{shown_path(root)}: README.md names files that cannot be found ({reason})"
            ) from None
    return sorted(found)


def _from_folders(root: Path, wanted: Sequence[str]) -> dict[str, list[Path]]:
    """Data files by the split word in their path, below the folder of the pair or, if missing, ``root``."""
    for name in wanted:
        if (root / name).is_dir():
            return _by_split(root / name)
    files = _by_split(root)
    if wanted and root.name not in wanted:
        nested = [path for paths in files.values() for path in paths if path.parent != root]
        folders = {path.relative_to(root).parts[0] for path in nested} - {"data"}
        others = sorted(f for f in folders if not any(_is_split(f, name) for name in _SPLIT_WORDS))
        if others:
            raise UserError(f"{root}: no folder {' or '.join(wanted)}; there are {', '.join(others)}")
    return files


def _by_split(base: Path) -> dict[str, list[Path]]:
    files: dict[str, list[Path]] = {}
    for path in sorted(base.rglob("*")):
        relative = path.relative_to(base)
        if not is_table(path) or not path.is_file() or any(part.startswith(".") for part in relative.parts):
            continue
        if path.name in ("dataset_info.json", "dataset_infos.json", "dataset_dict.json", "state.json"):
            continue
        split = next((name for name in _SPLIT_WORDS if _is_split(relative.as_posix(), name)), "train")
        files.setdefault(split, []).append(path)
    return files
