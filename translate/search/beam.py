"""One step of a beam: the tokens that may follow, the best candidates, the hypotheses that end or go on.

A beam of 1 is greedy search. Shapes: B sentences, W hypotheses of each, N = B W, C candidates of a sentence,
V vocabulary, T tokens so far.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from translate.config.search import SearchConfig
from translate.models.seq2seq import rows_of
from translate.search.sources import Request
from translate.text.tokenizer import BOS, EOS, PAD

IMPOSSIBLE = float("-inf")
GROUPS = 128  # of the vocabulary: the square root of V / 2 or so is best
LARGE = 100_000  # scores of a batch from which groups are faster


class Hypothesis(NamedTuple):
    """One translation as ids, without begin and end of sentence."""

    ids: list[int]
    score: float  # natural log-probability, normalised by the length with the end of sentence
    weights: Tensor | None = None  # (T + 1, H, S) of the recorded heads; row t predicts piece t


class Finished(NamedTuple):
    """A sentence whose search is over."""

    key: Any
    hypotheses: list[Hypothesis]  # best first, samples in the order of their draw; none if none ended


@dataclass
class SearchedSentence:
    """A sentence in the running batch.

    Attributes:
        key: the caller's name of it.
        request: see :class:`Request`.
        ids: the source for the first model, with the end of sentence.
        lengths: source pieces for every model, with the end of sentence.
        shortest, longest: limits of the translation's length, with the end of sentence.
        length: tokens of its hypotheses so far, with the begin of sentence.
        ended: hypotheses that have ended, each with its number among the W.
        numbers: random numbers for samples, (W, longest).
    """

    key: Any
    request: Request
    ids: Sequence[int]
    lengths: Sequence[int]
    shortest: int
    longest: int
    length: int = 1
    ended: list[tuple[int, Hypothesis]] = field(default_factory=list)
    numbers: np.ndarray | None = None


class Candidates(NamedTuple):
    """Continuations of a sentence's hypotheses, best first; missing ones have a score of -inf."""

    scores: Tensor  # (B, C)
    origins: Tensor  # (B, C) the hypothesis that each continues
    tokens: Tensor  # (B, C)


def best_candidates(log_probabilities: Tensor, scores: Tensor, count: int) -> Candidates:
    """The ``count`` (C) best continuations of each sentence, or all if there are fewer.

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
        origins = torch.nn.functional.pad(origins, (0, missing))
        tokens = torch.nn.functional.pad(tokens, (0, missing))
    return Candidates(scores, origins, tokens)


def forbid(
    log_probabilities: Tensor, ids: Tensor, sentences: Sequence[SearchedSentence | None], config: SearchConfig
) -> None:
    """Write -inf over the tokens that may not follow.

    Args:
        log_probabilities: (N, V), changed in place.
        ids: (B, W, T), each sentence's from the begin of sentence on, with padding before it.
        sentences: one for every of the B rows, or ``None``.
        config: see :class:`SearchConfig`.
    """
    width, device = ids.shape[1], ids.device
    live = [(slot, sentence) for slot, sentence in enumerate(sentences) if sentence is not None]
    prefixed = [
        (slot, sentence.request.prefix[sentence.length - 1])
        for slot, sentence in live
        if sentence.length <= len(sentence.request.prefix)
    ]
    early = [slot for slot, sentence in live if sentence.length < sentence.shortest]
    late = [slot for slot, sentence in live if sentence.length >= sentence.longest]

    def rows(slots: Sequence[int]) -> Tensor:
        return rows_of(torch.tensor(slots, device=device), width)

    if prefixed:  # a prefix is allowed, whatever else forbids it
        required = rows([slot for slot, _ in prefixed])
        tokens = torch.tensor([token for _, token in prefixed], device=device).repeat_interleave(width)
        kept = log_probabilities[required, tokens]
    log_probabilities[:, PAD] = IMPOSSIBLE
    log_probabilities[:, BOS] = IMPOSSIBLE
    if config.no_repeat_ngram and ids.shape[2] > config.no_repeat_ngram:
        _forbid_repetition(log_probabilities, ids.flatten(0, 1), config.no_repeat_ngram)
    if early:
        log_probabilities[rows(early), EOS] = IMPOSSIBLE
    if late:
        ending = rows(late)
        ends = log_probabilities[ending, EOS]
        log_probabilities[ending] = IMPOSSIBLE
        log_probabilities[ending, EOS] = ends
    if prefixed:
        log_probabilities[required] = IMPOSSIBLE
        log_probabilities[required, tokens] = kept


def _forbid_repetition(log_probabilities: Tensor, ids: Tensor, size: int) -> None:
    """Forbid the last token of every n-gram of ``size`` whose beginning the ids (N, T) end with."""
    windows = ids.unfold(1, size, 1)  # (N, T - size + 1, size)
    last = ids[:, ids.shape[1] - size + 1 :].unsqueeze(1)
    rows, starts = (windows[:, :, : size - 1] == last).all(2).nonzero(as_tuple=True)
    log_probabilities[rows, windows[rows, starts, -1]] = IMPOSSIBLE


class Chosen(NamedTuple):
    """The outcome of a step: hypotheses that end, and those that go on."""

    slots: Tensor  # (K,) the sentence of each that ends
    origins: Tensor  # (K,) the hypothesis it ends
    scores: Tensor  # (K,) log-probabilities
    numbers: Tensor  # (K,) its number among the W, which orders samples
    going: Candidates  # (B, W); a score of -inf where there is none


class Beam:
    """Continue the best hypotheses of each sentence, until as many have ended as the beam is wide, or longer.

    Args:
        config: see :class:`SearchConfig`.
        width: W; the beam of ``config`` by default.
    """

    reorders = True  # a hypothesis may continue another one of its sentence

    def __init__(self, config: SearchConfig, width: int | None = None) -> None:
        self.config = config
        self.width = config.beam_size if width is None else width

    def choose(
        self,
        log_probabilities: Tensor,
        scores: Tensor,
        ids: Tensor,
        sentences: Sequence[SearchedSentence | None],
        find: Callable[[Tensor, Tensor, int], Candidates] = best_candidates,
    ) -> Chosen:
        """The outcome of a step. Candidates that end and are among the first W end a hypothesis.

        Args:
            log_probabilities: (N, V) of the next tokens, which may be changed.
            scores: (B, W or 1) of the hypotheses so far.
            ids: (B, W or 1, T) of the hypotheses so far.
            sentences: one for every of the B rows, or ``None``.
            find: the best candidates; those that obey constraints if there are some.
        """
        forbid(log_probabilities, ids, sentences, self.config)
        scores = scores.to(log_probabilities.dtype)
        # Twice the beam, so that a full beam is left whatever ends; for a beam of one, one is enough.
        count = 2 * self.width if self.width > 1 else 1
        candidates = find(log_probabilities, scores, count)
        first = candidates.scores[:, : self.width]
        ends = (candidates.tokens[:, : self.width] == EOS) & (first > IMPOSSIBLE)
        slots, ranks = ends.nonzero(as_tuple=True)
        going = going_on(candidates, self.width) if self.width > 1 else candidates
        return Chosen(slots, candidates.origins[slots, ranks], first[slots, ranks], ranks, going)

    def best(self, sentence: SearchedSentence) -> list[tuple[int, Hypothesis]]:
        """The best W hypotheses of a sentence that have ended, best first, each with its number."""
        return sorted(sentence.ended, key=lambda ended: -ended[1].score)[: self.width]

    def finish(self, sentence: SearchedSentence) -> list[Hypothesis]:
        """The best W hypotheses of a sentence that is done, best first."""
        return [hypothesis for _, hypothesis in self.best(sentence)]
