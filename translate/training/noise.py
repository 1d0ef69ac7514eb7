"""Word dropout: now and then the model reads the unknown piece in the place of a word's."""

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from translate.corpora.batching import Batch
from translate.text.tokenizer import BOS, EOS, PAD, UNK

SPECIAL = (PAD, BOS, EOS)


def drop_words(batch: Batch, probability: float, generator: np.random.Generator) -> Batch:
    """Replace pieces that the model reads, on both sides, by ``<unk>``; what it is to say stays.

    Iyyer et al. 2015 drop the words of a bag; here their places stay.

    Args:
        batch: on the CPU; it is not changed.
        probability: that a piece is replaced. Padding, begin and end of sentence never are.
        generator: decides which.
    """

    def noisy(ids: Tensor) -> Tensor:
        chosen = torch.from_numpy(generator.random(ids.shape, dtype=np.float32) < probability)
        for special in SPECIAL:
            chosen &= ids != special
        return ids.masked_fill(chosen, UNK)

    return replace(batch, source=noisy(batch.source), target_in=noisy(batch.target_in))
