"""Reads a clone of a hub repository: data files in folders, configs in the front matter of README.md."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]

from translate.config.data import DataConfig
from translate.corpora.local_files import split_of_table
from translate.corpora.split import RawCorpus, Split
from translate.corpora.tables import SUFFIXES, is_table
from translate.errors import UserError

_EDGE = r"[-._ 0-9/]"
_SPLIT_WORDS = {
    "train": re.compile(rf"(^|{_EDGE})(train|training)({_EDGE}|$)", re.IGNORECASE),
    "validation": re.compile(rf"(^|{_EDGE})(validation|valid|val|dev)({_EDGE}|$)", re.IGNORECASE),
    "test": re.compile(rf"(^|{_EDGE})(test|testing|eval|evaluation)({_EDGE}|$)", re.IGNORECASE),
}


def candidate_names(template: str | None, source_language: str, target_language: str) -> list[str]:
    """``template`` for this direction and for the other: pairs are often stored under only one of them."""
    if template is None:
        return []
    pairs = ((source_language, target_language), (target_language, source_language))
    return list(dict.fromkeys(template.format(source=source, target=target) for source, target in pairs))


def load_clone(root: Path, data: DataConfig, source_language: str, target_language: str) -> RawCorpus:
    """Read a clone of a hub repository; raises ``UserError`` if the pair or its training data is missing."""
    wanted = candidate_names(data.hub.config or data.hub.directory, source_language, target_language)
    files = _from_readme(root, wanted) or _from_folders(root, wanted)
    splits: dict[str, Split] = {}
    for name in ("train", "validation", "test"):
        stored = getattr(data.hub.splits, name)
        paths = files.get(stored) or next((files[split] for split in files if _is_split(split, name)), [])
        if paths:
            parts = [split_of_table(path, data, source_language, target_language) for path in paths]
            source = [sentence for part in parts for sentence in part.source]
            target = [sentence for part in parts for sentence in part.target]
            splits[name] = Split(source, target)
    if "train" not in splits:
        raise UserError(
            f"{root}: no training data for {source_language}-{target_language}; "
            f"expected train.{source_language} and train.{target_language}, "
            f"or the hub's layout with {', '.join(SUFFIXES)} files"
        )
    return RawCorpus(source_language, target_language, splits)


def _is_split(stored: str, name: str) -> bool:
    return _SPLIT_WORDS[name].search(stored) is not None


def _from_readme(root: Path, wanted: Sequence[str]) -> dict[str, list[Path]]:
    """The data files by split that README.md declares for the wanted config; empty if it declares none."""
    configs = [c for c in _front_matter(root / "README.md").get("configs") or [] if "data_files" in c]
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
        raise UserError(f"{root}: no config {' or '.join(wanted)}; README.md lists {', '.join(names)}")
    base = root / str(chosen.get("data_dir") or "")
    files = {split: _expand(base, patterns) for split, patterns in _data_files(chosen["data_files"]).items()}
    return {split: paths for split, paths in files.items() if paths}


def _front_matter(readme: Path) -> Mapping[str, Any]:
    if not readme.is_file():
        return {}
    text = readme.read_text(encoding="utf-8", errors="replace")
    parts = re.split(r"^---[ \t]*$", text, maxsplit=2, flags=re.MULTILINE)
    if len(parts) < 3 or parts[0].strip():
        return {}
    try:
        values = yaml.safe_load(parts[1])
    except yaml.YAMLError as error:
        raise UserError(f"{readme}: the YAML between the '---' lines is not valid") from error
    return values if isinstance(values, dict) else {}


def _data_files(declared: Any) -> dict[str, list[str]]:
    """Patterns by split, from any form of a card: a pattern, a list, a mapping, or a list of mappings."""
    if isinstance(declared, Mapping):
        return {str(split): _listed(patterns) for split, patterns in declared.items()}
    files: dict[str, list[str]] = {}
    for entry in _listed(declared):
        split, patterns = (entry["split"], entry["path"]) if isinstance(entry, Mapping) else ("train", entry)
        files.setdefault(str(split), []).extend(_listed(patterns))
    return files


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _expand(base: Path, patterns: Iterable[str]) -> list[Path]:
    return sorted({path for pattern in patterns for path in base.glob(pattern) if is_table(path)})


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
