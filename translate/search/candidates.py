"""The best continuations of a batch of hypotheses.

Shapes: B sentences, W hypotheses of each, N = B W, C candidates a sentence, V vocabulary.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from translate.search.rules import IMPOSSIBLE
from translate.text.tokenizer import EOS

GROUPS = 128  # of the vocabulary: the square root of V / 2 or so is best
LARGE = 100_000  # scores of a batch from which groups are faster


class Candidates(NamedTuple):
    """Continuations of a sentence's hypotheses, best first; missing ones have a score of -inf."""

    scores: Tensor  # (B, C)
    origins: Tensor  # (B, C) the hypothesis that each continues
    tokens: Tensor  # (B, C)


def best_candidates(log_probabilities: Tensor, scores: Tensor, count: int) -> Candidates:
    """The ``count`` (C) best continuations of each sentence, or as many as there are.

    torch's top-k keeps a heap over all W V scores. Here the C groups with the largest maxima are found first;
    they hold the best C scores.

    Args:
        log_probabilities: (N, V).
        scores: (B, W) of the hypotheses so far.
        count: C.
    """
    (batch, width), vocabulary = scores.shape, log_probabilities.shape[1]
    count = min(count, width * vocabulary)
    if batch * width * vocabulary < LARGE or vocabulary < GROUPS or count > GROUPS // 2:
        totals = scores.unsqueeze(2) + log_probabilities.view(batch, width, vocabulary)
        best, cells = totals.flatten(1).topk(count, dim=1)
        return Candidates(best, cells // vocabulary, cells % vocabulary)
    depth, rest = divmod(vocabulary, GROUPS)
    # Group g is the columns g, g + GROUPS, g + 2 GROUPS ...
    maxima = log_probabilities[:, : depth * GROUPS].unflatten(1, (depth, GROUPS)).amax(1)  # (N, GROUPS)
    if rest:
        maxima[:, :rest] = torch.maximum(maxima[:, :rest], log_probabilities[:, depth * GROUPS :])
    totals = (maxima.view(batch, width, GROUPS) + scores.unsqueeze(2)).flatten(1)
    groups = totals.topk(count, dim=1, sorted=False).indices  # (B, C)
    origins, columns = groups // GROUPS, groups % GROUPS
    steps = torch.arange(0, vocabulary, GROUPS, device=scores.device)
    tokens = (columns.unsqueeze(2) + steps).clamp_max(vocabulary - 1)  # (B, C, depth + 1)
    cells = (origins * vocabulary).unsqueeze(2) + tokens
    found = log_probabilities.view(batch, -1).gather(1, cells.flatten(1)).view_as(tokens)
    if rest:
        found[:, :, -1].masked_fill_(columns >= rest, IMPOSSIBLE)  # these were clamped
    found = (found + scores.gather(1, origins).unsqueeze(2)).flatten(1)
    best, order = found.topk(count, dim=1)
    cells = cells.flatten(1).gather(1, order)
    return Candidates(best, cells // vocabulary, cells % vocabulary)


def going_on(candidates: Candidates, width: int) -> Candidates:
    """The first ``width`` candidates that do not end; where there are fewer, missing ones follow."""
    ended = candidates.tokens == EOS
    ranks = torch.arange(ended.shape[1], device=ended.device) + ended.shape[1] * ended
    order = ranks.topk(min(width, ended.shape[1]), dim=1, largest=False).indices
    scores = candidates.scores.masked_fill(ended, IMPOSSIBLE).gather(1, order)
    origins, tokens = candidates.origins.gather(1, order), candidates.tokens.gather(1, order)
    missing = width - scores.shape[1]
    if missing > 0:
        scores = torch.nn.functional.pad(scores, (0, missing), value=IMPOSSIBLE)
        origins, tokens = (torch.nn.functional.pad(each, (0, missing)) for each in (origins, tokens))
    return Candidates(scores, origins, tokens)
