"""Hypotheses that share a cache, branch and end: each equals attention to its whole path."""

import pytest
import torch

from tests.attention.test_oracles import SELVES, self_attention
from translate.attention import LayerCache, MultiHead, PathCache

WIDTH, SENTENCES, LENGTH, LAYERS = 3, 2, 37, 2


@pytest.mark.parametrize("key", [key for key in SELVES if key not in ("linear", "delta")])
def test_paths_equal_whole_sequences(key: str) -> None:
    mechanism = self_attention(key, causal=True)[0].eval()
    assert isinstance(mechanism, MultiHead)
    generator = torch.Generator().manual_seed(1)
    like = torch.zeros(1, dtype=torch.float64)
    paths = mechanism.start_paths(LAYERS, SENTENCES, like)
    assert paths is not None
    read = torch.empty(SENTENCES, 0, 11, dtype=torch.float64)  # (N, T, D)
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


@torch.no_grad()
def begun(seed: int, length: int) -> tuple[MultiHead, PathCache, torch.Tensor]:
    """An attention, its cache after ``length`` positions, and the states so far (N, T, D).

    With seed 0 every hypothesis goes on, else the first alone.
    """
    mechanism = self_attention("multi_head", causal=True)[0].eval()
    assert isinstance(mechanism, MultiHead)
    paths = mechanism.start_paths(1, SENTENCES, torch.zeros(1, dtype=torch.float64))
    assert paths is not None
    generator = torch.Generator().manual_seed(seed)
    read = torch.empty(SENTENCES, 0, 11, dtype=torch.float64)
    for place in range(length):
        new = torch.randn(len(read), 1, 11, dtype=torch.float64, generator=generator)
        read = torch.cat([read, new], dim=1)
        paths.extend()
        mechanism.step_self(new, LayerCache(paths, 0), place)
        if place == 0:
            paths.widen(WIDTH)
            read = read.repeat_interleave(WIDTH, 0)
        first = torch.arange(SENTENCES).repeat_interleave(WIDTH) * WIDTH
        rows = first if seed else torch.arange(SENTENCES * WIDTH)
        paths.reorder(rows)
        read = read[rows]
    return mechanism, paths, read


def test_what_is_on_no_path_is_thrown_away() -> None:
    parting, common = begun(0, LENGTH)[1], begun(1, LENGTH)[1]
    assert parting.num_rows == 1 + WIDTH * (LENGTH - 1)
    assert common.num_rows < 1.6 * LENGTH


@pytest.mark.slow
@pytest.mark.parametrize("key", [key for key in SELVES if key not in ("linear", "delta")])
@torch.no_grad()
def test_greedy_sentences_that_come_and_go_equal_whole_sequences(key: str) -> None:
    mechanism = self_attention(key, causal=True)[0].eval()
    assert isinstance(mechanism, MultiHead)
    like = torch.zeros(1, dtype=torch.float64)
    paths = mechanism.start_paths(1, SENTENCES, like)
    assert paths is not None
    reads = [torch.empty(1, 0, 11, dtype=torch.float64)] * SENTENCES
    for place in range(4 * LENGTH):
        if place % 5 == 4:  # the first is exchanged, then the last
            fresh = mechanism.start_paths(1, 1, like)
            assert fresh is not None
            first = torch.randn(1, 1, 11, dtype=torch.float64)
            fresh.extend()
            mechanism.step_self(first, LayerCache(fresh, 0), 0)
            slot = (place // 5 % SENTENCES) * (SENTENCES - 1)
            paths.put(torch.tensor([slot]), fresh, torch.tensor([0]), SENTENCES)
            reads[slot] = first
        new = torch.randn(SENTENCES, 1, 11, dtype=torch.float64)
        reads = [torch.cat(pair, dim=1) for pair in zip(reads, new.split(1), strict=True)]
        paths.extend()
        step, _ = mechanism.step_self(new, LayerCache(paths, 0), place)
        expected = torch.cat([mechanism.attend_self(each)[:, -1:] for each in reads])
        assert torch.allclose(step, expected, atol=1e-10)
    assert paths.length < 2 * LENGTH  # neither rows nor positions pile up
    assert paths.num_rows < 2 * LENGTH
