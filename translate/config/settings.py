"""All sections of a configuration, and the check that refuses a wrong one before anything is read."""

from collections.abc import Mapping
from dataclasses import dataclass, is_dataclass
from typing import TYPE_CHECKING, Any, get_type_hints

from translate.config.data import DataConfig, TokenizerConfig
from translate.config.declare import Fraction, Positive, Shift, declared, plain, to_section
from translate.config.files import YAML
from translate.config.messages import named_elsewhere, show
from translate.config.names import did_you_mean, nearest, shorten
from translate.config.search import SearchConfig
from translate.config.targets import check_target, import_plugin
from translate.config.training import RuntimeConfig, TrainingConfig
from translate.errors import UserError

if TYPE_CHECKING:
    from omegaconf import DictConfig


@declared("alignment/calibrated.yaml")
class AlignmentConfig:
    """The attention that alignments show. Calibration searches for the settings that are null."""

    calibration_pairs: Positive = YAML
    layer: int | None = YAML
    heads: list[int] | None = YAML
    shift: Shift | None = YAML
    threshold: Fraction | None = YAML


@declared("config.yaml", "run")
class RunConfig:
    """The name of the run and its folder."""

    name: str
    directory: str
    overwrite: bool = YAML
    plugins: list[str] = YAML

    def __post_init__(self) -> None:
        if not self.name or ".." in self.name.split("/"):  # runs/../x would lie beside the runs
            raise ValueError(f"name: expected a name, got {shorten(self.name)!r}; run.directory is a path")


# The open sections: their keys are the parameters of the class that `_target_` names, without these, which
# the program gives.
TARGETS: dict[str, tuple[str, ...]] = {
    "model": ("source_vocabulary", "target_vocabulary", "attention"),
    "optimizer": ("params",),
    "schedule": (),
}


@dataclass(frozen=True)
class Settings:
    """A checked configuration: the closed sections as dataclasses, the open ones as plain values."""

    data: DataConfig
    tokenizer: TokenizerConfig
    training: TrainingConfig
    runtime: RuntimeConfig
    search: SearchConfig
    alignment: AlignmentConfig
    run: RunConfig
    model: dict[str, Any]
    optimizer: dict[str, Any]
    schedule: dict[str, Any]


# The closed sections: their keys are the fields of a dataclass.
SECTIONS: dict[str, type] = {
    name: hint
    for name, hint in get_type_hints(Settings).items()
    if isinstance(hint, type) and is_dataclass(hint)
}


def check_config(config: "DictConfig | Mapping[str, Any]") -> Settings:
    """Check every section; raises ``UserError`` with the path, the value and the nearest valid name.

    The closed sections come first: the classes of the open ones import torch, which takes a second.
    """
    values = plain(config)
    check_section_names(values)
    missing = [name for name in (*SECTIONS, *TARGETS) if name not in values]
    if missing:
        raise UserError(f"the configuration has no section {missing[0]}")
    sections: dict[str, Any] = {
        name: to_section(values[name], section, name) for name, section in SECTIONS.items()
    }
    for name in sections["run"].plugins:
        import_plugin(name)
    for name, provided in TARGETS.items():
        check_target(values[name], name, sections["run"].plugins, provided)
    return Settings(**sections, **{name: values[name] for name in TARGETS})


def check_section_names(values: Mapping[str, Any]) -> None:
    """Raise ``UserError`` for a top-level key that is no section, or a section that holds no keys."""
    known = (*SECTIONS, *TARGETS)
    for key, value in values.items():
        if key not in known:
            near = named_elsewhere(str(key)) or nearest(str(key), known)
            raise UserError(f"{shorten(str(key))}: unknown section{did_you_mean(near)}")
        if not isinstance(value, Mapping):
            raise UserError(f"{key}: expected a section of keys and values, got {show(value)}")
