"""How much of a source the attention of a translation leaves out, to choose between translations."""

from collections.abc import Sequence

import numpy as np
import torch

from translate.alignment.choice import AlignmentChoice
from translate.alignment.extract import align
from translate.alignment.forced import EncodedPair
from translate.models.seq2seq import Seq2Seq
from translate.text.tokenizer import EOS, NO_WORD

LEAST = 1e-6  # attention that a source piece has, so that its logarithm is finite


def coverage(
    model: Seq2Seq,
    sources: Sequence[Sequence[int]],
    targets: Sequence[Sequence[int]],
    choice: AlignmentChoice,
    *,
    batch_size: int = 64,
    device: torch.device | str = "cpu",
) -> list[float]:
    """sum_j log(min(sum_i a_ij, 1)) of each pair, 0 where all is covered: Wu et al. 2016, eq. 14.

    a_ij is the chosen attention of target piece i to source piece j. Deviation: the end of sentence is left
    out of both, and the rows are normalised without it.

    Args:
        sources: ids without the end of sentence.
        targets: ids without begin and end of sentence.
    """
    pairs = [
        EncodedPair(
            [*source, EOS],
            target,
            [*range(len(source)), NO_WORD],
            range(len(target)),
            [""] * len(source),
            [""] * len(target),
        )
        for source, target in zip(sources, targets, strict=True)
    ]
    aligned = align(model, pairs, choice, batch_size=batch_size, device=device)
    return [float(np.log(each.weights.sum(0).clip(LEAST, 1.0)).sum()) for each in aligned]
