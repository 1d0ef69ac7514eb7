"""Sections that the tests declare, with every kind of field."""

from pathlib import Path
from typing import Annotated, Literal

from annotated_types import Ge, Gt, Le

from translate.config.declare import YAML, declared

FILE = str(Path(__file__).with_name("outer.yaml"))


@declared(FILE, "inner")
class Inner:
    ratio: float = YAML
    names: list[str] = YAML


@declared(FILE)
class Outer:
    steps: int
    name: str = YAML
    limit: float | None = YAML
    score: Literal["bleu", "loss"] = YAML
    on: bool = YAML
    inner: Inner = YAML
    sizes: dict[str, int] = YAML
    width: Annotated[int, Ge(2), Le(7)] = YAML
    rate: Annotated[float, Gt(0)] = YAML

    def __post_init__(self) -> None:
        if self.steps == 13:
            raise ValueError("steps: thirteen is refused")
