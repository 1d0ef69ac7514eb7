"""Each backend learns to copy, and to look at what it copies."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from tests.one_batch import beam_search
from tests.tiny_models import attention, padded
from translate.config.search import SearchConfig
from translate.models import BahdanauRNN, LuongRNN, Seq2Seq, Transformer

VOCABULARY = 13
SIZES: Any = {"embedding_size": 32, "encoder_size": 16, "decoder_size": 32, "dropout": 0.0, "tie": "all"}
ATTENTIVE: Any = {"width": 32, "feedforward_size": 64, "num_heads": 2, "dropout": 0.0}
ONE_LAYER: Any = {"encoder_layers": 1, "decoder_layers": 1}
BACKENDS: dict[
    str, tuple[Callable[[], Seq2Seq], float]
] = {  # and the share of words it must look straight at
    # It asks with the state before the step, and finds the word before, whose annotation knows the next.
    "bahdanau": (lambda: BahdanauRNN(VOCABULARY, VOCABULARY, attention("additive"), **SIZES), 0.4),
    "luong": (lambda: LuongRNN(VOCABULARY, VOCABULARY, attention("general"), **SIZES), 0.85),
    "transformer": (
        lambda: Transformer(
            VOCABULARY, VOCABULARY, attention("multi_head", num_heads=1), **ATTENTIVE, **ONE_LAYER
        ),
        0.85,
    ),
}


def sentences(count: int, seed: int) -> list[list[int]]:
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.randint(3, 8, (count,), generator=generator).tolist()
    return [torch.randint(4, VOCABULARY, (n,), generator=generator).tolist() for n in lengths]


def train(model: Seq2Seq) -> None:
    optimizer = torch.optim.Adam(model.parameters(), 0.01)
    for step in range(200):
        batch = sentences(32, 1000 + step)
        source, mask = padded([[*words, 3] for words in batch])
        target_in, _ = padded([[2, *words] for words in batch])
        loss = F.cross_entropy(model.logits(model(source, mask, target_in))[mask], source[mask])
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()


@pytest.mark.slow
@pytest.mark.parametrize("name", BACKENDS)
def test_copying_is_learnt_along_the_diagonal(name: str) -> None:
    build, share = BACKENDS[name]
    torch.manual_seed(1)
    model = build()
    train(model.train())
    model.eval()
    unseen = sentences(64, 1)
    source, mask = padded([[*words, 3] for words in unseen])
    found = [best[0].ids for best in beam_search(model, source, mask, SearchConfig(beam_size=2))]
    assert sum(ids == words for ids, words in zip(found, unseen, strict=True)) >= 45
    target_in, _ = padded([[2, *words] for words in unseen])
    with torch.no_grad():
        (weights,) = model.forced_weights(source, mask, target_in, [0])
    looks = weights.mean(1).argmax(-1)  # (B, T)
    shifts = [int(looks[i, t]) - t for i, words in enumerate(unseen) for t in range(len(words))]
    assert sum(shift == 0 for shift in shifts) >= share * len(shifts)
    assert sum(shift in (-1, 0) for shift in shifts) >= 0.9 * len(shifts)
