"""Translations drawn at random, and the one of them that agrees best with all others.

Shapes: B sentences, W samples of each, N = B W, V vocabulary, K tokens that may be drawn.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import chain

import numpy as np
import torch
from torch import Tensor

from translate.config.search import SearchConfig
from translate.search.beam import (
    IMPOSSIBLE,
    Beam,
    Candidates,
    Chosen,
    Hypothesis,
    SearchedSentence,
    best_candidates,
    forbid,
)
from translate.text.tokenizer import EOS

ORDERS = 6  # characters of the longest n-grams
RECALL_WEIGHT = 2.0  # beta of chrF2


class Draw(Beam):
    """Continue each sample with a token drawn at random.

    The random numbers of a sentence depend on the seed and on its pieces alone, not on its batch: the same
    sentence gives the same samples. Scores are those of the model, whatever the temperature.

    Args:
        config: see :class:`SearchConfig`; its beam is not read.
        width: W.
    """

    reorders = False

    def choose(
        self,
        log_probabilities: Tensor,
        scores: Tensor,
        ids: Tensor,
        sentences: Sequence[SearchedSentence | None],
        find: Callable[[Tensor, Tensor, int], Candidates] = best_candidates,
    ) -> Chosen:
        """Draw the next tokens; see :meth:`Beam.choose`."""
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
            # The patches of a picture are lists of numbers, some of them negative.
            ids = [value & 0xFFFFFFFF for piece in sentence.ids for value in np.ravel(piece).tolist()]
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


def expected_chrf(texts: Sequence[str]) -> np.ndarray:
    """The mean chrF2 (0 to 100) of each text against all of them, itself included: (number of texts,).

    It chooses by minimum Bayes risk (Kumar and Byrne 2004): samples approximate the model's distribution, and
    a sample's score is its mean chrF against all of them (Eikema and Aziz 2020). Computed as sacrebleu does
    for a sentence: Popovic 2015, without white space and without the orders that a text is too short for.
    """
    unique = list(dict.fromkeys(texts))
    counts = Counter(texts)
    share = np.array([counts[text] for text in unique]) / len(texts)
    scores = dict(zip(unique, _chrf(unique) @ share, strict=True))
    return np.array([scores[text] for text in texts])


def _chrf(texts: Sequence[str]) -> np.ndarray:
    """chrF2 of each text (row) against each as its reference (column)."""
    size = len(texts)
    precision, recall, orders = np.zeros((size, size)), np.zeros((size, size)), np.zeros((size, size))
    squeezed = ["".join(text.split()) for text in texts]
    for order in range(1, ORDERS + 1):
        counts = _counts(squeezed, order)  # (texts, n-grams)
        totals = counts.sum(1)
        matches = np.stack([np.minimum(row, counts).sum(1) for row in counts])
        both = (totals[:, None] > 0) & (totals[None, :] > 0)
        floor = np.maximum(totals, 1)
        precision += both * matches / floor[:, None]
        recall += both * matches / floor[None, :]
        orders += both
    orders = np.maximum(orders, 1)
    precision, recall, factor = precision / orders, recall / orders, RECALL_WEIGHT**2
    below = factor * precision + recall
    score = (1 + factor) * precision * recall / np.where(below > 0, below, 1.0)
    return 100 * np.asarray(score)


def _counts(texts: Sequence[str], order: int) -> np.ndarray:
    grams = [[text[start : start + order] for start in range(len(text) - order + 1)] for text in texts]
    columns = {gram: column for column, gram in enumerate({*chain.from_iterable(grams)})}
    counts = np.zeros((len(texts), len(columns)), dtype=np.int32)
    for row, own in zip(counts, grams, strict=True):
        np.add.at(row, np.array([columns[gram] for gram in own], dtype=np.intp), 1)
    return counts
