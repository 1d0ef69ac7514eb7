"""The recipes of other toolkits in docs/coming-from.md: as many parameters as theirs, and they train."""

import re
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from tests.docs.examples import ROOT
from translate.config.composer import compose
from translate.config.settings import check_config
from translate.runs.load import build_model

PAGE = (ROOT / "docs" / "coming-from.md").read_text(encoding="utf-8")
BASE = re.findall(r"model\.[\w.]+=\S+", PAGE[PAGE.index("translate train") : PAGE.index("Their recipes")])
ROWS = re.findall(r"^\| ([\w -]+) `[^|]*\| ([^|]*) \| ([\d,]+)[^|]* \| ([\d,]+) \|$", PAGE, re.MULTILINE)
# What their own files and sources say; `tables` of numbers for pieces that are not shared.
THEIRS: dict[str, dict[str, Any]] = {
    "JoeyNMT": {"last_norms": True},
    "OpenNMT-py": {"last_norms": True, "tables": 3, "attention_bias": False, "output_bias": True},
    "fairseq": {"inner": 1024, "pieces": 10_000, "tables": 2},
    "Marian": {"output_bias": True},
    "Hugging Face": {"pieces": 58_101, "output_bias": True},
}


def parameters(
    inner: int = 2048,
    pieces: int = 32_000,
    tables: int = 1,
    last_norms: bool = False,
    attention_bias: bool = True,
    output_bias: bool = False,
) -> int:
    """Of a Transformer of width 512 with 6 layers a side (Vaswani et al. 2017, 3)."""
    width, layers, norm = 512, 6, 2 * 512
    attention = 4 * width * (width + attention_bias)
    feedforward = 2 * width * inner + inner + width
    encoder, decoder = attention + feedforward + 2 * norm, 2 * attention + feedforward + 3 * norm
    return layers * (encoder + decoder) + 2 * norm * last_norms + pieces * (width * tables + output_bias)


@pytest.mark.slow
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_a_recipe_has_the_size_of_theirs_and_trains(row: tuple[str, ...]) -> None:
    overrides = re.findall(r"[\w.]+=\w+", row[1])
    pieces, said = (int(number.replace(",", "")) for number in row[2:])
    files = ["data=files", "data.train.source=a", "data.train.target=b", "model=transformer"]
    settings = check_config(compose([*files, *BASE, *overrides]))
    torch.manual_seed(1)
    model = build_model(settings.model, (pieces, pieces), ()).eval()
    assert model.num_parameters() == said == parameters(**THEIRS[row[0]])
    optimizer, losses = torch.optim.SGD(model.parameters(), lr=0.01), []
    source, target = torch.randint(5, pieces, (2, 7)), torch.randint(5, pieces, (2, 5))
    for _ in range(2):
        logits = model.logits(model(source, None, target[:, :-1]))
        loss = F.cross_entropy(logits.flatten(0, 1), target[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[1] < losses[0]


def test_every_toolkit_has_a_recipe_and_marian_s_is_that_of_transformers() -> None:
    assert {name for name, *_ in ROWS} == set(THEIRS)
    library = pytest.importorskip("transformers")
    sizes = {"d_model": 512, "encoder_layers": 6, "decoder_layers": 6, "vocab_size": 58_101}
    inner = {"encoder_ffn_dim": 2048, "decoder_ffn_dim": 2048}
    heads = {"encoder_attention_heads": 8, "decoder_attention_heads": 8}
    with torch.device("meta"):
        model = library.MarianMTModel(library.MarianConfig(**sizes, **inner, **heads))
    trained = sum(weight.numel() for weight in model.parameters() if weight.requires_grad)
    assert trained + model.final_logits_bias.numel() == parameters(**THEIRS["Hugging Face"])
