"""The ``data`` section; ``conf/data/_base.yaml`` holds defaults and meanings."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Annotated, Any, Literal

from annotated_types import Ge, Le

from translate.config.declare import Count, Positive, declared
from translate.config.files import YAML, section_of
from translate.config.messages import LARGEST
from translate.config.values import to_section

SPLITS = ("train", "validation", "test")
FILE = "data/_base.yaml"
Generated = Annotated[int, Ge(0), Le(10_000_000)]  # pairs of the grammar, which are held in memory

# Settings that only some kinds of corpus read; the other kinds refuse them.
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


@declared(FILE, "train")
class FileSplit:
    """The files of one split."""

    source: str | None = YAML
    target: str | None = YAML
    gold: str | None = YAML


@declared(FILE, "hub.splits")
class HubSplits:
    """What the hub calls each split; null for a split that the repository does not have."""

    train: str | None = YAML
    validation: str | None = YAML
    test: str | None = YAML


@declared(FILE, "hub")
class HubConfig:
    """Where a corpus lies on the hub; ``{source}``, ``{target}``, ``{language}`` stand for language codes."""

    repository: str | None = YAML
    revision: str = YAML
    config: str | None = YAML
    directory: str | None = YAML
    column: str = YAML
    splits: HubSplits = YAML


@declared(FILE)
class DataConfig:
    """One parallel corpus: where it comes from, and what is filtered from it."""

    name: str
    kind: Literal["grammar", "files", "hub"]
    path: str | None = YAML
    source_language: str | None = YAML
    target_language: str | None = YAML
    tokenised: bool = YAML
    train: FileSplit = YAML
    validation: FileSplit = YAML
    test: FileSplit = YAML
    source_field: str | None = YAML
    target_field: str | None = YAML
    test_name: str | None = YAML
    hub: HubConfig = YAML
    max_length: Positive | None = YAML
    max_length_ratio: Annotated[float, Ge(1), Le(LARGEST)] | None = YAML
    drop_duplicates: bool = YAML
    drop_identical: bool = YAML
    max_train_pairs: Positive | None = YAML
    validation_pairs: Count = YAML
    test_pairs: Count = YAML
    num_train: Generated = YAML
    num_validation: Generated = YAML
    num_test: Generated = YAML
    seed: Annotated[int, Ge(-LARGEST), Le(LARGEST)] = YAML

    def __post_init__(self) -> None:
        neutral = section_of(FILE) | {"hub": HubConfig()}
        for name, kinds in _READ_BY.items():
            if self.kind not in kinds and getattr(self, name) != neutral[name]:
                raise ValueError(
                    f"{name}: it has no effect on the corpus {self.name!r}; "
                    f"it is for the kinds {' and '.join(kinds)}"
                )
        for split in SPLITS:
            for field in fields(getattr(self, split)):
                if getattr(getattr(self, split), field.name) is not None:
                    self._check_file(f"{split}.{field.name}")
        same = self.source_language is not None and self.source_language == self.target_language
        if same and (self.kind == "hub" or self.path is not None):
            raise ValueError(
                f"target_language: expected another language than the source's, got {self.target_language!r}"
            )

    def _check_file(self, setting: str) -> None:
        """Raise ``ValueError`` if this kind of corpus reads no file of its own for ``setting``."""
        from_files = self.kind == "files" and self.path is None
        if self.kind == "grammar" or not (from_files or setting.endswith(".gold")):
            when = "with data.path" if self.kind == "files" else f"on the corpus {self.name!r}"
            raise ValueError(f"{setting}: it has no effect {when}; use data=files without data.path")


def data_config(values: Mapping[str, Any]) -> DataConfig:
    """The ``data`` section from nested mappings. Raises ``UserError`` for a wrong one, with its path."""
    return to_section(values, DataConfig, "data")
