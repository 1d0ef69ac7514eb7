"""How much of a source the attention of a translation leaves out, to choose between translations."""

from collections.abc import Sequence

from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from translate.alignment.pool import renormalise

LEAST = 1e-6  # attention that a source piece has, so that its logarithm is finite


def coverage(weights: Sequence[Tensor], shift: int) -> list[float]:
    """sum_j log(min(sum_i a_ij, 1)) of each translation, 0 where all is covered: Wu et al. 2016, eq. 14.

    a_ij is the mean attention of target piece i to source piece j. Deviation: the end of sentence is left
    out of both, and the rows are normalised without it.

    Args:
        weights: of translations of one sentence, (T + 1, H, S) each; row t predicts target piece t, and the
            last source piece is the end of sentence.
        shift: 0 takes the row that predicts a target piece, 1 the row that has it as input.
    """
    rows = [each[1:] if shift else each[:-1] for each in weights]
    heads = pad_sequence(rows, batch_first=True)[..., :-1].float().abs()  # (translations, T, H, S - 1)
    means = renormalise(renormalise(heads).mean(2))
    return [float(value) for value in means.sum(1).clamp(LEAST, 1.0).log().sum(1).tolist()]
