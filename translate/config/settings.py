"""The closed sections of a configuration, and the check that stops a wrong one before anything is read."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from omegaconf import DictConfig

from translate.config import check_target, nearest, to_schema
from translate.config.alignment import AlignmentConfig
from translate.config.data import DataConfig
from translate.config.schema import plain
from translate.config.search import SearchConfig
from translate.config.tokenizer import TokenizerConfig
from translate.config.training import RuntimeConfig, TrainingConfig
from translate.errors import UserError


@dataclass
class RunConfig:
    """What the run is called, and where it is kept."""

    name: str
    directory: str
    overwrite: bool = False
    plugins: list[str] = field(default_factory=list)


SCHEMAS: dict[str, type] = {
    "data": DataConfig,
    "tokenizer": TokenizerConfig,
    "training": TrainingConfig,
    "runtime": RuntimeConfig,
    "search": SearchConfig,
    "alignment": AlignmentConfig,
    "run": RunConfig,
}
# Open families, with what the builder gives their classes beside the configuration.
TARGETS: dict[str, tuple[str, ...]] = {
    "model": ("source_vocabulary", "target_vocabulary", "attention"),
    "optimizer": ("params",),
    "schedule": (),
}


@dataclass(frozen=True)
class Settings:
    """A checked configuration: the closed sections as dataclasses, the open ones as they were written."""

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


def check_config(config: DictConfig | Mapping[str, Any]) -> Settings:
    """Check every section; raises :class:`UserError` with the path, what came and the nearest valid name."""
    values = plain(config)
    known = [*SCHEMAS, *TARGETS]
    for key in values:
        if key not in known:
            guess = nearest(str(key), known)
            raise UserError(f"{key}: unknown key" + (f"; did you mean {guess}?" if guess else ""))
    missing = [name for name in known if name not in values]
    if missing:
        raise UserError(f"the configuration has no section {missing[0]}")
    sections: dict[str, Any] = {
        name: to_schema(values[name], schema, name) for name, schema in SCHEMAS.items()
    }
    plugins = sections["run"].plugins
    for name, provided in TARGETS.items():
        check_target(values[name], name, plugins, provided)
    return Settings(**sections, **{name: values[name] for name in TARGETS})
