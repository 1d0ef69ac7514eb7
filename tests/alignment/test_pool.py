import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from translate.alignment.pairs import piece_to_word, pool_source, pool_target, renormalise


def pool_words(weights, target_piece_words, source_piece_words, num_target_words, num_source_words):
    """Oracle: plain loops in float64 over one sentence; weights (H, T, S) -> (target words, source words)."""
    words = np.zeros((num_target_words, num_source_words))
    for word in range(num_target_words):
        rows = [t for t, owner in enumerate(target_piece_words) if owner == word]
        for t in rows:
            heads = np.zeros(num_source_words)
            for head in weights:
                row = np.zeros(num_source_words)
                for s, owner in enumerate(source_piece_words):
                    if owner >= 0:
                        row[owner] += head[t, s]
                heads += row / row.sum() if row.sum() > 0 else 0
            words[word] += heads / heads.sum() if heads.sum() > 0 else 0
        if words[word].sum() > 0:
            words[word] /= words[word].sum()
    return words


@given(st.integers(0, 2**32 - 1))
def test_batch_equals_loops(seed):
    rng = np.random.default_rng(seed)
    H, T, S = 3, 7, 5
    pairs = []
    for _ in range(2):
        target_words = rng.integers(-1, 4, T - rng.integers(3))
        source_words = rng.integers(-1, 3, S - rng.integers(3))
        weights = rng.random((H, T, S)).astype(np.float32)
        weights[rng.random((H, T)) < 0.3, :] = 0
        pairs.append((weights, target_words.tolist(), source_words.tolist()))
    batch = torch.from_numpy(np.stack([weights for weights, _, _ in pairs]))
    width_s, width_t = max(len(s) for _, _, s in pairs), max(len(t) for _, t, _ in pairs)
    heads = pool_source(
        batch[:, :, :width_t, :width_s], piece_to_word([s for _, _, s in pairs], [], 3, "cpu")
    )
    pooled = pool_target(
        renormalise(heads.mean(1, keepdim=True)), piece_to_word([t for _, t, _ in pairs], [], 4, "cpu")
    )
    assert pooled.shape == (2, 1, 4, 3)
    for result, (weights, target_words, source_words) in zip(pooled[:, 0], pairs):
        seen = weights[:, : len(target_words), : len(source_words)]
        expected = pool_words(seen, target_words, source_words, 4, 3)
        np.testing.assert_allclose(result, expected, atol=1e-6)
