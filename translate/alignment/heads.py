"""The attention of every layer and head for one pair, between words."""

import numpy as np
import torch

from translate.alignment.extract import EncodedPair, evaluation_mode, pair_batches, shift_rows
from translate.alignment.pool import pool_source, pool_target
from translate.models.seq2seq import Seq2Seq


def attention_heads(
    model: Seq2Seq, pair: EncodedPair, shift: int, *, device: torch.device | str = "cpu"
) -> np.ndarray:
    """Attention between words of each layer and head, by teacher forcing.

    Args:
        shift: 0 takes the row that predicts a target piece, 1 the row that has it as input.
    Returns:
        (layers, heads, T words, S words) float32; a row sums to 1, or is zero.
    """
    with evaluation_mode(model):
        (batch,) = pair_batches([pair], 1, device)
        layers = model.forced_weights(
            batch.source, batch.source_mask, batch.target_in, range(model.num_attention_layers)
        )
        words = [
            pool_target(shift_rows(pool_source(weights, batch.source_words), shift), batch.target_words)
            for weights in layers
        ]
    return torch.cat(words).cpu().numpy()
