"""Phrases that must appear in a translation: dynamic beam allocation, Post and Vilar 2018, in batches.

A bank holds the hypotheses that have met equally many pieces of the phrases. Candidates are taken from the
banks in turn, the fullest first, so that every bank with candidates gets its share of the beam.

Shapes: B sentences, W hypotheses of each, N = B W, V vocabulary, P pieces of all phrases of a sentence,
C candidates, M candidates before the choice.
"""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.functional import pad

from translate.attention.memory import put_rows
from translate.search.beam import IMPOSSIBLE, Candidates, best_candidates
from translate.search.sources import Request
from translate.text.tokenizer import EOS

NONE = -1
OF_SENTENCES = ("pieces", "phrases", "words", "met", "last", "closed")  # tensors with a row for each


class Constraints:
    """The pieces of the phrases that each hypothesis has met.

    A hypothesis that breaks off a phrase must begin it again, as in the paper, and none goes on with the last
    word of a phrase.

    Args:
        requests: one for every sentence; their prefixes are not read.
        device: of the scores.
    """

    def __init__(self, requests: Sequence[Request], device: torch.device) -> None:
        width = max(sum(map(len, request.phrases)) for request in requests)
        pieces, phrases = [], []
        for request in requests:
            flat = [(piece, n) for n, phrase in enumerate(request.phrases) for piece in phrase]
            flat += [(NONE, NONE)] * (width - len(flat))
            pieces.append([piece for piece, _ in flat])
            phrases.append([n for _, n in flat])
        inner = max((request.inner for request in requests), key=len)
        self.inner = torch.tensor(inner, dtype=torch.int64, device=device)  # pieces that go on with a word
        self.words = torch.tensor([[bool(request.inner)] for request in requests], device=device)  # (B, 1)
        self.pieces = torch.tensor(pieces, dtype=torch.int64, device=device)  # (B, P)
        # (B, P) which phrase each piece belongs to
        self.phrases = torch.tensor(phrases, dtype=torch.int64, device=device)
        self.met = (self.pieces == NONE).unsqueeze(1)  # (B, W, P)
        # (B, W) piece met last, inside a phrase
        self.last = torch.full((len(requests), 1), NONE, device=device)
        self.closed = torch.zeros_like(self.last, dtype=torch.bool)  # (B, W) whether a phrase has just ended

    @property
    def first(self) -> Tensor:
        """Whether each piece begins a phrase: (B, P)."""
        before = pad(self.phrases[:, :-1], (1, 0), value=NONE)
        return (self.phrases != before) & (self.pieces != NONE)

    def candidates(self, log_probabilities: Tensor, scores: Tensor, count: int) -> Candidates:
        """The ``count`` (C) continuations, in the order of their choice.

        Among: the best of all, every wanted piece of each hypothesis, and the best piece of each hypothesis.
        """
        batch, width = scores.shape
        by_hypothesis = log_probabilities.view(batch, width, -1)
        by_hypothesis[..., EOS].masked_fill_(~self.met.all(2), IMPOSSIBLE)
        by_hypothesis[self.closed] = by_hypothesis[self.closed].index_fill(1, self.inner, IMPOSSIBLE)
        best = best_candidates(log_probabilities, scores, count)
        single, single_tokens = by_hypothesis.max(2)  # (B, W)
        wanted = self._wanted()
        pieces = self.pieces.clamp_min(0).unsqueeze(1).expand(-1, width, -1)  # (B, W, P)
        gains = by_hypothesis.gather(2, pieces).masked_fill(~wanted, IMPOSSIBLE)
        origins = torch.arange(width, device=scores.device).expand(batch, -1)
        among = Candidates(
            torch.cat([best.scores, scores + single, (scores.unsqueeze(2) + gains).flatten(1)], 1),
            torch.cat([best.origins, origins, origins.unsqueeze(2).expand_as(pieces).flatten(1)], 1),
            torch.cat([best.tokens, single_tokens, pieces.flatten(1)], 1),
        )
        return self._choose(_once(among, by_hypothesis.shape[2]), count)

    def advance(self, chosen: Candidates) -> None:
        """Continue with the chosen hypotheses."""
        self.met, self.last, self.closed = self._after(chosen)

    @classmethod
    def none(cls, sentences: int, width: int, device: torch.device) -> "Constraints":
        """The state of sentences that ask for no phrase, with ``width`` hypotheses each."""
        none = cls([Request()] * sentences, device)
        none.met = none.met.expand(-1, width, -1)
        none.last, none.closed = (state.expand(-1, width) for state in (none.last, none.closed))
        return none

    def put(self, slots: Tensor, other: "Constraints", chosen: Tensor, count: int) -> "Constraints":
        """Replace the sentences in ``slots`` by the ``chosen`` of ``other``: then there are ``count``."""
        size = max(self.pieces.shape[1], other.pieces.shape[1])
        for constraints in (self, other):
            missing = (0, size - constraints.pieces.shape[1])
            constraints.pieces, constraints.phrases = (
                pad(tensor, missing, value=NONE) for tensor in (constraints.pieces, constraints.phrases)
            )
            constraints.met = pad(constraints.met, missing, value=True)
        self.inner = max(self.inner, other.inner, key=len)
        for name in OF_SENTENCES:
            new = getattr(other, name)[chosen]
            setattr(self, name, put_rows(getattr(self, name), slots, new, count))
        return self

    def keep(self, sentences: Tensor) -> None:
        """Keep the sentences at these indexes."""
        for name in OF_SENTENCES:
            setattr(self, name, getattr(self, name)[sentences])

    def _wanted(self) -> Tensor:
        """The pieces that would meet something: the next of a phrase, else the first of any: (B, W, P)."""
        inside = (self.last != NONE).unsqueeze(2)
        following = torch.arange(self.pieces.shape[1], device=self.pieces.device) == (
            self.last + 1
        ).unsqueeze(2)
        return torch.where(inside, following, self.first.unsqueeze(1) & ~self.met)

    def _after(self, candidates: Candidates) -> tuple[Tensor, Tensor, Tensor]:
        """The pieces met (B, M, P) with a candidate, the last of them, and whether its word ends (B, M)."""
        size = self.pieces.shape[1]
        places = torch.arange(size, device=self.pieces.device)
        origins = candidates.origins
        met = self.met.gather(1, origins.unsqueeze(2).expand(-1, -1, size))
        last = self.last.gather(1, origins)
        equal = self.pieces.unsqueeze(1) == candidates.tokens.unsqueeze(2)  # (B, M, P)
        goes_on = equal & (places == (last + 1).unsqueeze(2)) & (last != NONE).unsqueeze(2)
        broken = (last != NONE) & ~goes_on.any(2)
        phrase = self.phrases.gather(1, last.clamp_min(0)).unsqueeze(2)  # (B, M, 1)
        met = met & ~(broken.unsqueeze(2) & (self.phrases.unsqueeze(1) == phrase))
        begins = equal & self.first.unsqueeze(1) & ~met & ~goes_on.any(2, keepdim=True)
        begins = begins & (begins.cumsum(2) == 1)  # of two phrases that begin alike, the first
        now = goes_on | begins
        met = met | now
        place = torch.where(now.any(2), now.int().argmax(2), NONE)
        # Inside a phrase as long as its next piece is of the same.
        following = pad(self.phrases[:, 1:], (0, 1), value=NONE)
        here, there = (tensor.gather(1, place.clamp_min(0)) for tensor in (self.phrases, following))
        inside, ended = (place != NONE) & (here == there), (place != NONE) & (here != there)
        return met, torch.where(inside, place, NONE), ended & self.words

    def _choose(self, among: Candidates, count: int) -> Candidates:
        """The first ``count``, bank after bank in turn, the fullest bank first."""
        scores, order = among.scores.sort(dim=1, descending=True)
        ordered = Candidates(scores, among.origins.gather(1, order), among.tokens.gather(1, order))
        banks = self._after(ordered)[0].sum(2)  # (B, M)
        size = self.pieces.shape[1] + 1
        of_bank = torch.nn.functional.one_hot(banks, size).cumsum(1)  # (B, M, P + 1)
        ranks = of_bank.gather(2, banks.unsqueeze(2)).squeeze(2)  # in its bank, from 1
        keys = ranks * size + (size - 1 - banks)
        keys = keys.masked_fill(scores == IMPOSSIBLE, torch.iinfo(keys.dtype).max)
        places = keys.argsort(dim=1, stable=True)[:, :count]
        return Candidates(*(tensor.gather(1, places) for tensor in ordered))


def _once(among: Candidates, vocabulary: int) -> Candidates:
    """Give a score of -inf to all but the best of equal candidates."""
    order = among.scores.argsort(dim=1, descending=True)
    scores, origins, tokens = (tensor.gather(1, order) for tensor in among)
    places, order = (origins * vocabulary + tokens).sort(dim=1, stable=True)
    scores, origins, tokens = (tensor.gather(1, order) for tensor in (scores, origins, tokens))
    again = pad(places[:, 1:] == places[:, :-1], (1, 0))
    return Candidates(scores.masked_fill(again, IMPOSSIBLE), origins, tokens)
