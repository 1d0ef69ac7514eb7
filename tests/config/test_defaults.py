"""A class that `_target_` names has no default of its own for an option whose value stands in conf/."""

import inspect
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from translate.config import config_directory
from translate.config.listing import merged
from translate.config.targets import PACKAGE, options_of

# TODO: these signatures still have a default of their own; delete an entry with its default.
DIFFERENT = {
    "attention.ALiBi": {"num_heads"},
    "attention.Delta": {"num_heads"},
    "attention.GroupedQuery": {"num_heads", "num_key_value_heads"},
    "attention.Linear": {"num_heads"},
    "attention.MultiHead": {"num_heads"},
    "attention.RelativeBias": {"num_heads"},
    "attention.SlidingWindow": {"num_heads"},
    "models.BahdanauRNN": {"embedding_size", "encoder_size", "decoder_size", "dropout", "tie"},
    "models.LuongRNN": {"embedding_size", "encoder_size", "decoder_size", "dropout", "tie"},
    "models.Transformer": {"width", "feedforward_size", "dropout"},
    "training.muon.Muon": {"lr", "weight_decay"},
    "training.optimizer.InverseSquareRoot": {"warmup"},
}
REPEATED = {
    "models.BahdanauRNN": {"encoder_layers", "readout", "teacher_forcing", "word_in_query"},
    "models.LuongRNN": {"input_feeding", "num_layers", "teacher_forcing"},
    "models.Transformer": {
        *("encoder_layers", "decoder_layers", "num_heads", "max_length", "tie", "positions"),
        *("norm", "pre_norm", "feedforward", "feedforward_dropout"),
    },
    "training.muon.Muon": {"betas", "eps", "momentum"},
    "training.optimizer.Constant": {"warmup"},
    "training.optimizer.Cosine": {"minimum", "warmup"},
    "training.optimizer.Halving": {"decay", "epochs", "warmup"},
    "training.optimizer.Linear": {"minimum", "warmup"},
    "training.optimizer.Plateau": {"decay", "minimum", "patience", "warmup"},
}
# `translate.attention.create(name, query_size=, key_size=)` needs no conf/: a mechanism may repeat a value.
CREATED_BY_NAME = "attention."
FILES = sorted(
    file.relative_to(config_directory()).as_posix()
    for folder in ("model", "optimizer", "schedule")
    for file in (config_directory() / folder).rglob("*.yaml")
)


def nodes(values: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The `_target_` nodes of a file that name a class of the package, nested ones too."""
    if str(values.get("_target_", "")).startswith(f"{PACKAGE}."):
        yield values
    for value in values.values():
        if isinstance(value, Mapping):
            yield from nodes(value)


def second_defaults(*, equal: bool) -> dict[str, set[str]]:
    """By class the options whose default in the signature is equal, or not, to the value of a file."""
    found: dict[str, set[str]] = {}
    for node in (node for file in FILES for node in nodes(merged(file))):
        for name, (_, default) in options_of(node["_target_"]).items():
            value = tuple(node[name]) if isinstance(node.get(name), list) else node.get(name)
            if name not in node or default is inspect.Parameter.empty or "${" in str(value):
                continue
            if (default == value) == equal:
                found.setdefault(node["_target_"].removeprefix(f"{PACKAGE}."), set()).add(name)
    return found


def unlisted(found: Mapping[str, set[str]], listed: Mapping[str, set[str]]) -> dict[str, set[str]]:
    new = {target: names - listed.get(target, set()) for target, names in found.items()}
    return {target: names for target, names in new.items() if names}


def test_no_signature_has_another_default_than_the_file() -> None:
    assert unlisted(second_defaults(equal=False), DIFFERENT) == {}


def test_no_signature_repeats_the_default_of_the_file() -> None:
    found = second_defaults(equal=True)
    found = {target: names for target, names in found.items() if not target.startswith(CREATED_BY_NAME)}
    assert unlisted(found, REPEATED) == {}


def test_a_planted_default_is_found() -> None:
    found = second_defaults(equal=False) | second_defaults(equal=True)
    assert "warmup" in found["training.optimizer.InverseSquareRoot"] or not DIFFERENT
    assert unlisted({"models.A": {"width", "depth"}}, {"models.A": {"width"}}) == {"models.A": {"depth"}}


@pytest.mark.parametrize("file", FILES)
def test_every_option_of_a_file_belongs_to_its_class(file: str) -> None:
    for node in nodes(merged(file)):
        unknown = node.keys() - options_of(node["_target_"]).keys() - {"_target_", "_partial_", "name"}
        assert unknown == set()
