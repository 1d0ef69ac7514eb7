"""Tiny models of every kind with tokenizers, ready to export."""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from tests.tiny_models import CASES, attention, tiny_model
from translate.alignment.alignment import AlignmentChoice
from translate.config.data import TokenizerConfig
from translate.config.search import SearchConfig
from translate.export.contents import Contents
from translate.models import Transformer
from translate.runs.run_directory import RunDirectory
from translate.text.tokenizer import BOS, TokenizerPair
from translate.translation import Translation

SOURCES = [
    "I love you .",
    "the cats sleep on the old bed .",
    "",
    "look for it !",
    "it rains again , and the man who laughs sleeps on the bed .",
    "you",
]
TARGETS = ["je t' aime .", "les chats dorment sur le lit .", "", "cherchez -le !", "il pleut", "l' homme"]
SEARCH = SearchConfig(beam_size=4, max_length_ratio=1.0, max_length_extra=3, batch_size=3)
# Sizes as other engines have them: one number of heads everywhere.
SIZES: dict[str, Any] = {
    "width": 12,
    "feedforward_size": 17,
    "num_heads": 3,
    "encoder_layers": 2,
    "decoder_layers": 3,
    "dropout": 0.3,
    "tie": "all",
}


def tokenizers(*, shared: bool = True) -> TokenizerPair:
    config = TokenizerConfig(vocabulary_size=45, shared=shared)
    return TokenizerPair.train(SOURCES * 5, TARGETS * 5, config, tokenised=True)[0]


def of_case(name: str) -> Contents:
    """A model of ``tiny_models``."""
    pair = tokenizers()
    sizes: dict[str, Any] = {"source_vocabulary": len(pair.source), "target_vocabulary": len(pair.target)}
    model = tiny_model(name, torch.float32, **sizes)
    return Contents(
        model, pair, SEARCH, AlignmentChoice(0, (0,), 0), ("en", "fr"), directory=RunDirectory(Path("none"))
    )


def of_transformer(**options: Any) -> Contents:
    """A Transformer with one number of heads, and ``options``."""
    name = "export"
    sizes = {**SIZES, **options}
    pair = tokenizers(shared=sizes["tie"] == "all")

    def build(source_vocabulary: int, target_vocabulary: int) -> Transformer:
        return Transformer(
            source_vocabulary, target_vocabulary, attention("multi_head", num_heads=3), **sizes
        )

    CASES[name] = build
    try:
        model = tiny_model(
            name, torch.float32, source_vocabulary=len(pair.source), target_vocabulary=len(pair.target)
        )
    finally:
        del CASES[name]
    return Contents(
        model, pair, SEARCH, AlignmentChoice(1, (0, 1), 0), ("en", "fr"), directory=RunDirectory(Path("none"))
    )


def teacher_forced(contents: Contents, source: list[int], target: list[int]) -> Tensor:
    """Log-probabilities (T + 1, V) of the next piece after begin of sentence and each target piece."""
    with torch.no_grad():
        hidden = contents.model(torch.tensor([source]), None, torch.tensor([[BOS, *target]]))
        return torch.log_softmax(contents.model.logits(hidden), -1)[0]


def translations(contents: Contents) -> list[Translation]:
    """The translations of ``SOURCES`` by the run itself."""
    return contents.translate(SOURCES)
