"""Shared by the tests of corpora: the settings of conf/data, and the message of a refusal."""

import gzip
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

from translate.config.data import data_config
from translate.corpora.corpus import load_corpus
from translate.errors import UserError

REPOSITORY = Path(__file__).parents[2]
CONF = REPOSITORY / "conf" / "data"


def config(name: str) -> dict[str, Any]:
    """A corpus of conf/data with the files it stands on, as Hydra would merge them."""
    values: dict[str, Any] = yaml.safe_load((CONF / f"{name}.yaml").read_text(encoding="utf-8"))
    merged: dict[str, Any] = {}
    for base in values.pop("defaults", []):
        if base != "_self_":
            merged = _merge(merged, config(base))
    return _merge(merged, values)


def _merge(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    nested = {k: _merge(first[k], v) for k, v in second.items() if isinstance(v, dict) and k in first}
    return {**first, **second, **nested}


def write(path: Path, lines: list[str], ending: str = "\n") -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    content = "".join(line + ending for line in lines).encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return str(path)


def message(values: dict[str, Any]) -> str:
    with pytest.raises(UserError) as caught:
        load_corpus(data_config(values))
    assert "\n" not in str(caught.value)
    return str(caught.value)
