"""The settings of a parallel corpus: what ``conf/data/*.yaml`` may say."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

from translate.config.names import did_you_mean, nearest
from translate.errors import UserError

KINDS = ("grammar", "files", "hub")
SPLITS = ("train", "validation", "test")

# Settings that only some kinds of corpus read; given to another kind they are refused, never ignored.
_READ_BY: dict[str, tuple[str, ...]] = {
    "num_train": ("grammar",),
    "num_validation": ("grammar",),
    "num_test": ("grammar",),
    "path": ("files", "hub"),
    "test_name": ("files", "hub"),
    "source_field": ("files", "hub"),
    "target_field": ("files", "hub"),
    "validation_pairs": ("files", "hub"),
    "test_pairs": ("files", "hub"),
    "hub": ("hub",),
}


@dataclass
class FileSplit:
    """The files of one split; ``source`` alone may be one table (TSV, JSONL, parquet) with both sides."""

    source: str | None = None
    target: str | None = None
    gold: str | None = None  # gold links, one Pharaoh line a pair: "0-0 1p2"


@dataclass
class HubSplits:
    """What the hub calls each split; null where the repository has none."""

    train: str | None = "train"
    validation: str | None = "validation"
    test: str | None = "test"


@dataclass
class HubConfig:
    """Where a corpus lies on the hub; ``{source}``, ``{target}``, ``{language}`` stand for language codes."""

    repository: str | None = None
    revision: str = "main"  # a commit, or the name of a branch that may move
    config: str | None = None  # for example "{source}-{target}"; the reverse is tried too
    directory: str | None = None  # a folder of the repository, instead of a named config
    column: str = "translation.{language}"  # the column of one language, dotted when nested
    splits: HubSplits = field(default_factory=HubSplits)


@dataclass
class DataConfig:
    """One corpus. The defaults are neutral; every real value stands in ``conf/data``."""

    name: str = ""
    kind: str = "files"  # grammar, files or hub
    path: str | None = None  # a local directory that replaces the hub
    source_language: str | None = None
    target_language: str | None = None
    tokenised: bool = False  # words are separated by white space already
    train: FileSplit = field(default_factory=FileSplit)
    validation: FileSplit = field(default_factory=FileSplit)
    test: FileSplit = field(default_factory=FileSplit)
    source_field: str | None = None  # column of a table; default: the language code
    target_field: str | None = None
    test_name: str | None = None  # which test files of a directory, for example test_2016_flickr
    hub: HubConfig = field(default_factory=HubConfig)
    max_length: int | None = 200  # words; longer training pairs are dropped
    max_length_ratio: float | None = 9.0  # longer side / shorter side, in words
    drop_duplicates: bool = False
    drop_identical: bool = False  # source equal to target
    max_train_pairs: int | None = None  # counted after filtering
    validation_pairs: int = 0  # held out of train if there is no validation split
    test_pairs: int = 0
    num_train: int = 0  # pairs that the grammar generates
    num_validation: int = 0
    num_test: int = 0
    seed: int = 1  # of the grammar and of what is held out


def data_config(values: Mapping[str, Any]) -> DataConfig:
    """Build a :class:`DataConfig` from nested mappings, for example a resolved YAML section.

    Raises ``UserError`` for an unknown key, with its path and the nearest valid one.
    """
    config: DataConfig = _build(DataConfig, values, "data")
    return config


def _build(schema: type, values: Mapping[str, Any], where: str) -> Any:
    known = {f.name: f for f in fields(schema)}
    arguments: dict[str, Any] = {}
    for key, value in values.items():
        if key not in known:
            raise UserError(f"{where}.{key}: no such setting{did_you_mean(nearest(str(key), known))}")
        default = known[key].default_factory
        if isinstance(default, type) and is_dataclass(default):
            if not isinstance(value, Mapping):
                raise UserError(f"{where}.{key}: a section is expected, got {value!r}")
            value = _build(default, value, f"{where}.{key}")
        arguments[key] = value
    return schema(**arguments)


def check(data: DataConfig) -> None:
    """Raise ``UserError`` for values out of range and settings that this kind of corpus would not read."""
    if data.kind not in KINDS:
        hint = did_you_mean(nearest(data.kind, KINDS))
        raise UserError(f"data.kind={data.kind}: expected one of {', '.join(KINDS)}{hint}")
    _check_settings_are_read(data)
    for name in ("max_length", "max_length_ratio", "max_train_pairs"):
        value = getattr(data, name)
        if value is not None and value < 1:
            raise UserError(f"data.{name}={value}: expected at least 1, or null for no limit")
    for name in ("validation_pairs", "test_pairs", "num_train", "num_validation", "num_test"):
        if getattr(data, name) < 0:
            raise UserError(f"data.{name}={getattr(data, name)}: expected 0 or more")
    same = data.source_language is not None and data.source_language == data.target_language
    if same and (data.kind == "hub" or data.path is not None):
        raise UserError(
            f"data.source_language and data.target_language are both {data.source_language!r}; "
            f"expected two languages"
        )


def _check_settings_are_read(data: DataConfig) -> None:
    neutral = DataConfig()
    for name, kinds in _READ_BY.items():
        if data.kind not in kinds and getattr(data, name) != getattr(neutral, name):
            raise UserError(
                f"data.{name} has no effect on the corpus {data.name!r}; "
                f"it is for the kinds {' and '.join(kinds)}"
            )
    for split in SPLITS:
        files: FileSplit = getattr(data, split)
        for part in ("source", "target", "gold"):
            if getattr(files, part) is None:
                continue
            from_files = data.kind == "files" and data.path is None
            if data.kind == "grammar" or (part != "gold" and not from_files):
                when = "with data.path" if data.kind == "files" else f"on the corpus {data.name!r}"
                raise UserError(f"data.{split}.{part} has no effect {when}; use data=files without data.path")
