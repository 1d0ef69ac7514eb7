"""Translations drawn at random, from all tokens or from the likeliest ones.

Shapes: B sentences, W samples of each, N = B W, V vocabulary, K tokens that may be drawn.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from translate.config.search import SearchConfig
from translate.models import Seq2Seq
from translate.search.beam import beam_search
from translate.search.candidates import Candidates
from translate.search.constraints import Constraints
from translate.search.hypothesis import Hypothesis, SearchedSentence
from translate.search.rules import IMPOSSIBLE, forbid
from translate.search.running import Chosen
from translate.search.sources import Reader, Request
from translate.text.tokenizer import EOS


def sample(
    model: Seq2Seq,
    source: Tensor,
    source_mask: Tensor | None,
    config: SearchConfig,
    count: int,
    *,
    requests: Sequence[Request] | None = None,
    others: Sequence[Reader] = (),
) -> list[list[Hypothesis]]:
    """``count`` translations of each sentence, in the order of their draw; equal ones may occur.

    Args:
        model, source, source_mask, requests, others: as :func:`beam_search`.
        config: see :class:`SearchConfig`; the beam is not read.
        count: W.

    Raises:
        ValueError: for a request with phrases, which samples cannot fulfil.
    """
    if any(request.phrases for request in requests or ()):
        raise ValueError("phrases that must appear need a beam; samples cannot be made to have them")
    policy = Draw(config, count)
    return beam_search(model, source, source_mask, config, requests=requests, others=others, policy=policy)


class Draw:
    """Continue each sample with a token drawn at random.

    The random numbers of a sentence depend on the seed and on its pieces alone, not on its batch: the same
    sentence gives the same samples. Scores are those of the model, whatever the temperature.

    Args:
        config: see :class:`SearchConfig`; the beam is not read.
        count: W.
    """

    reorders = False

    def __init__(self, config: SearchConfig, count: int) -> None:
        self.config = config
        self.width = count

    def choose(
        self,
        log_probabilities: Tensor,
        scores: Tensor,
        ids: Tensor,
        sentences: Sequence[SearchedSentence | None],
        constraints: Constraints | None,
    ) -> Chosen:
        """See :class:`Policy`."""
        batch, width, device = len(ids), self.width, ids.device
        allowed = log_probabilities.clone()
        forbid(allowed, ids, sentences, self.config)
        origins = torch.arange(width, device=device).expand(batch, -1)
        if ids.shape[1] < width:  # the first step reads each sentence once
            origins = torch.zeros_like(origins)
            allowed, log_probabilities = (
                rows.repeat_interleave(width, 0) for rows in (allowed, log_probabilities)
            )
        numbers = np.stack([self._numbers(sentence) for sentence in sentences])  # (B, W)
        tokens = draw(allowed, torch.from_numpy(numbers).to(device).flatten(), self.config)  # (N,)
        gained = log_probabilities.gather(1, tokens.unsqueeze(1)).view(batch, width)
        tokens = tokens.view(batch, width)
        scores = scores.double().expand(-1, width)
        alive = scores > IMPOSSIBLE
        scores = torch.where(alive, scores + gained, IMPOSSIBLE)
        ended = alive & (tokens == EOS)
        slots, draws = ended.nonzero(as_tuple=True)
        going = Candidates(scores.masked_fill(ended, IMPOSSIBLE), origins, tokens)
        return Chosen(slots, origins[slots, draws], scores[slots, draws], draws, going)

    def finish(self, sentence: SearchedSentence) -> list[Hypothesis]:
        """All samples in the order of their draw."""
        return [hypothesis for _, hypothesis in sorted(sentence.ended, key=lambda pair: pair[0])]

    def _numbers(self, sentence: SearchedSentence | None) -> np.ndarray:
        """Numbers in [0, 1) of one step: (W,)."""
        if sentence is None:
            return np.zeros(self.width)
        if sentence.numbers is None:
            sentence.numbers = np.empty((self.width, sentence.longest))
            # Of a picture the patches are lists of numbers, some of them negative.
            ids = [value & 0xFFFFFFFF for each in sentence.ids for value in np.ravel(each).tolist()]
            for number in range(self.width):
                key = np.random.SeedSequence([self.config.seed, number, *ids])
                sentence.numbers[number] = np.random.Generator(np.random.PCG64(key)).random(sentence.longest)
        return sentence.numbers[:, sentence.length - 1]


def draw(log_probabilities: Tensor, numbers: Tensor, config: SearchConfig) -> Tensor:
    """One token of each row (N, V), by inverting the cumulative distribution at ``numbers`` (N,) in [0, 1).

    At the chosen temperature, it keeps the ``top_k`` likeliest tokens, and of them the fewest likeliest that
    have a probability of ``top_p`` together (Holtzman et al. 2020, 3.1).
    """
    tokens = None
    size = log_probabilities.shape[1]
    if config.top_k or config.top_p < 1:
        count = min(config.top_k, size) if config.top_k else size
        log_probabilities, tokens = log_probabilities.topk(count, dim=1)  # (N, K), likeliest first
    likely = torch.softmax(log_probabilities.double() / config.temperature, dim=1)
    if config.top_p < 1:
        before = likely.cumsum(1) - likely
        likely = likely.masked_fill(before >= config.top_p, 0.0)
    cumulated = likely.cumsum(1)
    # A token without probability adds nothing to the sum, so it is never the first above a number.
    wanted = numbers.to(cumulated.dtype).unsqueeze(1) * cumulated[:, -1:]
    ranks = torch.searchsorted(cumulated, wanted, right=True).clamp_max(cumulated.shape[1] - 1)
    return (ranks if tokens is None else tokens.gather(1, ranks)).squeeze(1)
