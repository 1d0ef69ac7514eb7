"""A batch of a beam search on its way.

Shapes: B sentences still searched, W beam, N = B W hypotheses, C candidates a sentence, V vocabulary,
T pieces so far and begin of sentence, H heads, S source pieces.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from translate.attention.memory import join_rows
from translate.config.search import SearchConfig
from translate.search.candidates import Candidates, best_candidates, going_on
from translate.search.constraints import Constraints
from translate.search.hypothesis import Hypothesis, Request
from translate.search.progress import Progress, Reader, rows_of
from translate.search.rules import IMPOSSIBLE, Rules
from translate.text.tokenizer import BOS, EOS

MAX_NOTED = 1 << 24  # weights of all hypotheses of a batch: 64 MiB, which each step copies
SHRINK = 8  # the batch shrinks when one in so many sentences is done: to copy the others costs something, too


def limits(readers: Sequence[Reader], config: SearchConfig, requests: Sequence[Request]) -> Rules:
    """The rules of a batch."""
    places = [r.model.max_target_length for r in readers if r.model.max_target_length is not None]
    first = readers[0]
    return Rules(config, first.lengths, min(places, default=None), requests, first.source.device)


class BatchSearch:
    """The hypotheses of a batch that go on, and what has ended.

    Attributes:
        finished: of each sentence that the search began with; once it has joined another, of those that then
            went on. The inner lists stay the same.
        owners: the batch of each of these sentences.
    """

    def __init__(
        self,
        readers: Sequence[Reader],
        config: SearchConfig,
        requests: Sequence[Request],
        layer: int | None,
        owner: int = 0,
    ) -> None:
        first, count, device = readers[0], len(requests), readers[0].source.device
        self.config = config
        self.width = 1  # until the first pieces are known
        self.rules = limits(readers, config, requests)
        self.constraints = Constraints(requests, device) if any(r.phrases for r in requests) else None
        rows = max(self.rules.longest) * first.source.numel() * config.beam_size
        noted = layer is not None and rows * first.model.num_attention_heads <= MAX_NOTED
        self.progress = Progress(readers, layer if noted else None)
        self.weights: Tensor | None = None  # (B, W, T, H, S)
        self.sentences = list(range(count))  # in `finished`, of each place of the batch
        self.done: set[int] = set()  # places of the batch that wait to be removed
        self.scores = torch.zeros(count, 1, device=device)  # (B, W); -inf where there is no hypothesis
        self.ids = torch.full((count, 1, 1), BOS, device=device)  # (B, W, T)
        self.finished: list[list[Hypothesis]] = [[] for _ in range(count)]
        self.owners = [owner] * count
        self.full = count  # sentences that the batch had when it had most

    @property
    def searched(self) -> bool:
        return len(self.done) < len(self.sentences)

    @property
    def length(self) -> int:
        """T."""
        return self.ids.shape[2]

    @property
    def num_live(self) -> int:
        return len(self.sentences) - len(self.done)

    @property
    def num_source_places(self) -> int:
        """S of the first model."""
        return self.progress.num_source_places

    @property
    def live_owners(self) -> set[int]:
        """The batches that have sentences which are not done."""
        live = (sentence for place, sentence in enumerate(self.sentences) if place not in self.done)
        return {self.owners[sentence] for sentence in live}

    @property
    def joinable(self) -> bool:
        """Whether the search could go on together with another."""
        return self.length > 1 and self.constraints is None and self.progress.joinable

    def join(self, other: "BatchSearch") -> None:
        """Go on with what is left of ``other``, which is as long and notes weights if this one does."""
        for each in (self, other):
            each._remove_done()
        left = [(each, sentence) for each in (self, other) for sentence in each.sentences]
        finished = [each.finished[sentence] for each, sentence in left]
        self.owners = [each.owners[sentence] for each, sentence in left]
        self.finished, self.sentences = finished, list(range(len(finished)))
        self.full = max(self.full, other.full)
        self.scores, self.ids = join_rows((self.scores, self.ids), (other.scores, other.ids))
        self.weights = join_rows(self.weights, other.weights)
        self.rules.join(other.rules)
        self.progress.join(other.progress)

    def step(self) -> None:
        log_probabilities = self.progress.log_probabilities(self.ids[:, :, -1].flatten())
        self._note()
        self.scores = self.scores.to(log_probabilities.dtype)
        self.rules.apply(log_probabilities, self.ids)
        candidates = self._candidates(log_probabilities)
        self._collect(candidates)
        if self.searched:
            self._continue(candidates)
            self._shrink()

    def _note(self) -> None:
        """Keep the weights of this step, if they are wanted."""
        if self.progress.weights is not None:
            new = self.progress.weights.transpose(1, 2).unsqueeze(2)  # (B, W, 1, H, S)
            self.weights = new if self.weights is None else torch.cat([self.weights, new], dim=2)

    def _candidates(self, log_probabilities: Tensor) -> Candidates:
        """Twice the beam, so that a full beam is left whatever ends; for a beam of one, one is enough."""
        beam = self.config.beam_size
        count = 2 * beam if beam > 1 else 1
        if self.constraints is None:
            return best_candidates(log_probabilities, self.scores, count)
        return self.constraints.candidates(log_probabilities, self.scores, count)

    def _collect(self, candidates: Candidates) -> None:
        """Note the candidates that end and are among the first W, and the sentences that are done."""
        width = self.config.beam_size
        ends = (candidates.tokens[:, :width] == EOS) & (candidates.scores[:, :width] > IMPOSSIBLE)
        rows, ranks = ends.nonzero(as_tuple=True)  # a GPU synchronises here, once a step
        length = self.ids.shape[2]  # begin of sentence is counted for the end of sentence
        places = rows.tolist()
        if places:
            ids = self.ids[rows, candidates.origins[rows, ranks], 1:].tolist()
            scores = candidates.scores[rows, ranks].tolist()
            noted: Any = [None] * len(places)
            if self.weights is not None:
                noted = self.weights[rows, candidates.origins[rows, ranks]].unbind(0)
            for place, pieces, score, weights in zip(places, ids, scores, noted, strict=True):
                found = Hypothesis(pieces, score, self.config.normalise(score, length), weights)
                self.finished[self.sentences[place]].append(found)
        full = {place for place in places if len(self.finished[self.sentences[place]]) >= width}
        late = {place for place, limit in enumerate(self.rules.longest) if length >= limit}
        self.done |= full | late

    def _continue(self, candidates: Candidates) -> None:
        """Go on with the first W candidates that do not end."""
        beam = self.config.beam_size
        chosen = going_on(candidates, beam) if beam > 1 else candidates
        if self.constraints is not None:
            self.constraints.advance(chosen)
        before = self.ids.gather(1, chosen.origins.unsqueeze(2).expand(-1, -1, self.ids.shape[2]))
        self.ids = torch.cat([before, chosen.tokens.unsqueeze(2)], dim=2)
        self.scores = chosen.scores
        places = torch.arange(len(self.scores), device=self.scores.device).unsqueeze(1)
        if self.weights is not None and beam > 1:
            self.weights = self.weights[places, chosen.origins]
        if self.width < beam:
            self.progress.widen(beam)
            self.width = beam
        elif beam > 1:
            self.progress.reorder((places * beam + chosen.origins).flatten())

    def _shrink(self) -> None:
        """Remove the sentences that are done, if they are many; else leave them without hypotheses."""
        if not self.done:
            return
        if len(self.done) * SHRINK < len(self.sentences):
            self.scores[list(self.done)] = IMPOSSIBLE
        else:
            self._remove_done()

    def _remove_done(self) -> None:
        if not self.done:
            return
        kept = [place for place in range(len(self.sentences)) if place not in self.done]
        rows = torch.tensor(kept, device=self.ids.device)
        self.sentences = [self.sentences[place] for place in kept]
        self.done = set()
        self.scores, self.ids = self.scores[rows], self.ids[rows]
        if self.weights is not None:
            self.weights = self.weights[rows]
        self.progress.keep(rows, rows_of(rows, self.width))
        self.rules.keep(kept, rows)
        if self.constraints is not None:
            self.constraints.keep(rows)
