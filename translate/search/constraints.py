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
OF_PIECES = ("pieces", "phrases", "wishes", "initial")  # (B, P) each
OF_SENTENCES = (*OF_PIECES, "words", "met", "open", "closed", "begun")  # tensors with a row for each


class Constraints:
    """The pieces of the phrases that each hypothesis has met.

    A hypothesis that breaks off a phrase must begin it again, as in the paper, and none goes on with the last
    word of a phrase, but by a longer phrase for the same wish. The first phrase to end fulfils its wish: all
    pieces of the wish are met then.

    Args:
        requests: one for every sentence; their prefixes are not read.
        device: of the scores.
    """

    def __init__(self, requests: Sequence[Request], device: torch.device) -> None:
        width = max(sum(map(len, request.phrases)) for request in requests)
        rows = []
        for request in requests:
            wishes = request.wishes or range(len(request.phrases))
            numbered = enumerate(zip(request.phrases, wishes, strict=True))
            first = len(request.phrases) - request.initial
            flat = [(piece, n, wish, n >= first) for n, (phrase, wish) in numbered for piece in phrase]
            rows.append(flat + [(NONE, NONE, NONE, False)] * (width - len(flat)))
        table = torch.tensor(rows, dtype=torch.int64, device=device).view(len(rows), width, 4)
        inner = max((request.inner for request in requests), key=len)
        self.inner = torch.tensor(inner, dtype=torch.int64, device=device)  # pieces that go on with a word
        self.words = torch.tensor([[bool(request.inner)] for request in requests], device=device)  # (B, 1)
        # (B, P) each: the phrase that a piece belongs to, the wish that it fulfils, whether it only begins
        self.pieces, self.phrases, self.wishes, self.initial = table.unbind(2)
        self.met = (self.pieces == NONE).unsqueeze(1)  # (B, W, P)
        self.open = torch.zeros_like(self.met)  # (B, W, P) pieces met last, inside phrases of one wish
        self.closed = self.open.any(2)  # (B, W) whether a phrase has just ended
        self.begun = torch.zeros_like(self.words)  # (B, 1) whether translations have a piece

    @property
    def first(self) -> Tensor:
        """Whether each piece begins a phrase, now: (B, P)."""
        before = pad(self.phrases[:, :-1], (1, 0), value=NONE)
        return (self.phrases != before) & (self.pieces != NONE) & ~((self.initial > 0) & self.begun)

    @property
    def final(self) -> Tensor:
        """Whether each piece ends a phrase: (B, P)."""
        return self.phrases != pad(self.phrases[:, 1:], (0, 1), value=NONE)

    def candidates(self, log_probabilities: Tensor, scores: Tensor, count: int) -> Candidates:
        """The ``count`` (C) continuations, in the order of their choice.

        Among: the best of all, every wanted piece of each hypothesis, and the best piece of each hypothesis.
        """
        batch, width = scores.shape
        by_hypothesis = log_probabilities.view(batch, width, -1)
        by_hypothesis[..., EOS].masked_fill_(~self.met.all(2), IMPOSSIBLE)
        pieces = self.pieces.clamp_min(0).unsqueeze(1).expand(-1, width, -1)  # (B, W, P)
        following = by_hypothesis.gather(2, pieces).masked_fill(~_next(self.open), IMPOSSIBLE)
        by_hypothesis[self.closed] = by_hypothesis[self.closed].index_fill(1, self.inner, IMPOSSIBLE)
        by_hypothesis.scatter_reduce_(2, pieces, following, "amax")  # a longer phrase goes on
        best = best_candidates(log_probabilities, scores, count)
        single, single_tokens = by_hypothesis.max(2)  # (B, W)
        gains = by_hypothesis.gather(2, pieces).masked_fill(~self._wanted(), IMPOSSIBLE)
        origins = torch.arange(width, device=scores.device).expand(batch, -1)
        among = Candidates(
            torch.cat([best.scores, scores + single, (scores.unsqueeze(2) + gains).flatten(1)], 1),
            torch.cat([best.origins, origins, origins.unsqueeze(2).expand_as(pieces).flatten(1)], 1),
            torch.cat([best.tokens, single_tokens, pieces.flatten(1)], 1),
        )
        return self._choose(_once(among, by_hypothesis.shape[2]), count)

    def advance(self, chosen: Candidates) -> None:
        """Continue with the chosen hypotheses."""
        self.met, self.open, self.closed = self._after(chosen)
        self.begun = torch.ones_like(self.begun)

    @classmethod
    def none(cls, sentences: int, width: int, device: torch.device) -> "Constraints":
        """The state of sentences that ask for no phrase, with ``width`` hypotheses each."""
        none = cls([Request()] * sentences, device)
        none.met, none.open = (state.expand(-1, width, -1) for state in (none.met, none.open))
        none.closed = none.closed.expand(-1, width)
        return none

    def put(self, slots: Tensor, other: "Constraints", chosen: Tensor, count: int) -> "Constraints":
        """Replace the sentences in ``slots`` by the ``chosen`` of ``other``: then there are ``count``."""
        size = max(self.pieces.shape[1], other.pieces.shape[1])
        for constraints in (self, other):
            missing = (0, size - constraints.pieces.shape[1])
            for name in OF_PIECES:
                setattr(constraints, name, pad(getattr(constraints, name), missing, value=NONE))
            constraints.met = pad(constraints.met, missing, value=True)
            constraints.open = pad(constraints.open, missing, value=False)
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
        """The pieces that would meet something: the next of open phrases, else any first one: (B, W, P)."""
        inside = self.open.any(2, keepdim=True)
        return torch.where(inside, _next(self.open), self.first.unsqueeze(1) & ~self.met)

    def _after(self, candidates: Candidates) -> tuple[Tensor, Tensor, Tensor]:
        """The pieces met and open with each candidate (B, M, P), and whether a phrase ends (B, M)."""
        origins = candidates.origins.unsqueeze(2).expand(-1, -1, self.pieces.shape[1])
        met, was_open = self.met.gather(1, origins), self.open.gather(1, origins)
        equal = self.pieces.unsqueeze(1) == candidates.tokens.unsqueeze(2)  # (B, M, P)
        final = self.final.unsqueeze(1)
        goes_on = equal & _next(was_open)
        broken = self._whole(was_open & ~pad(goes_on[..., 1:], (0, 1))) & ~self._whole(met & final)
        met = met & ~broken
        begins = equal & self.first.unsqueeze(1) & ~met & ~goes_on.any(2, keepdim=True)
        # Of two wishes whose phrases begin alike, the first.
        now = goes_on | (begins & self._same_wish(begins))
        ended = now & final
        met = met | now | self._same_wish(ended)
        return met, now & ~final, ended.any(2) & self.words

    def _whole(self, marked: Tensor) -> Tensor:
        """All pieces of the phrases that have a marked piece: (B, M, P)."""
        alike = self.phrases.unsqueeze(2) == self.phrases.unsqueeze(1)  # (B, P, P)
        return marked.float() @ alike.float() > 0

    def _same_wish(self, marked: Tensor) -> Tensor:
        """All pieces of the wish that the first marked piece is of: (B, M, P)."""
        wish = self.wishes.gather(1, marked.int().argmax(2)).unsqueeze(2)
        return marked.any(2, keepdim=True) & (self.wishes.unsqueeze(1) == wish)

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


def _next(pieces: Tensor) -> Tensor:
    """The pieces after the marked ones: (B, W, P)."""
    return pad(pieces[..., :-1], (1, 0))


def _once(among: Candidates, vocabulary: int) -> Candidates:
    """Give a score of -inf to all but the best of equal candidates."""
    order = among.scores.argsort(dim=1, descending=True)
    scores, origins, tokens = (tensor.gather(1, order) for tensor in among)
    places, order = (origins * vocabulary + tokens).sort(dim=1, stable=True)
    scores, origins, tokens = (tensor.gather(1, order) for tensor in (scores, origins, tokens))
    again = pad(places[:, 1:] == places[:, :-1], (1, 0))
    return Candidates(scores.masked_fill(again, IMPOSSIBLE), origins, tokens)
