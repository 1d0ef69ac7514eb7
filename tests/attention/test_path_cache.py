"""Hypotheses that share a cache, part, are given up and leave, against each path attended to as a whole."""

import pytest
import torch
from test_oracles import SELVES, self_attention

from translate.attention import LayerCache, MultiHead

WIDTH, SENTENCES, LENGTH, LAYERS = 3, 2, 37, 2


@pytest.mark.parametrize("key", [key for key in SELVES if key not in ("linear", "delta")])
def test_paths_equal_whole_sequences(key: str) -> None:
    mechanism = self_attention(key, causal=True)[0].eval()
    assert isinstance(mechanism, MultiHead)
    generator = torch.Generator().manual_seed(1)
    like = torch.zeros(1, dtype=torch.float64)
    paths = mechanism.start_paths(LAYERS, SENTENCES, like)
    assert paths is not None
    read = torch.empty(SENTENCES, 0, 11, dtype=torch.float64)  # (N, T, D) what each hypothesis has read
    width, sentences = 1, SENTENCES
    for place in range(LENGTH):
        new = torch.randn(sentences * width, 1, 11, dtype=torch.float64, generator=generator)
        read = torch.cat([read, new], dim=1)
        paths.extend()
        for layer in range(LAYERS):  # layers do not mix
            step, _ = mechanism.step_self(new * (layer + 1), LayerCache(paths, layer), place)
            whole = mechanism.attend_self(read * (layer + 1))[:, -1:]
            assert torch.allclose(step, whole, atol=1e-10)
        if place == 0:
            paths.widen(WIDTH)
            read, width = read.repeat_interleave(WIDTH, 0), WIDTH
        origins = torch.randint(0, width, (sentences, width), generator=generator)
        rows = (origins + torch.arange(sentences).unsqueeze(1) * width).flatten()
        paths.reorder(rows)
        read = read[rows]
        if place == 20:
            kept = torch.tensor([1])
            rows = torch.arange(width) + width
            paths.keep(kept, rows)
            read, sentences = read[rows], 1


@pytest.mark.parametrize("key", ["linear", "delta"])
def test_what_has_no_places_has_no_paths(key: str) -> None:
    mechanism = self_attention(key, causal=True)[0]
    assert isinstance(mechanism, MultiHead)
    assert mechanism.start_paths(1, 1, torch.zeros(1)) is None
