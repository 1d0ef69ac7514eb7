"""The running batch of a search: sentences enter, step and leave, all at their own lengths.

Shapes: B slots, W hypotheses of a sentence, N = B W, C candidates of a sentence, V vocabulary, T tokens so
far with the begin of sentence.
"""

from collections.abc import Collection, Sequence
from typing import Any

import torch
from torch import Tensor

from translate.attention.memory import put_rows
from translate.config.search import SearchConfig
from translate.search.beam import (
    IMPOSSIBLE,
    Beam,
    Candidates,
    Chosen,
    Finished,
    Hypothesis,
    SearchedSentence,
    best_candidates,
)
from translate.search.constraints import Constraints
from translate.search.decoders import Decoders, Record
from translate.search.sources import SentenceGroup, most_sentences
from translate.text.documents import own_start
from translate.text.tokenizer import BOS, PAD

ENTER = 16  # sentences enter when one slot in this many is free
SHRINK = 8  # a batch is copied without its free slots when they are one in this many


def begin_sentences(group: SentenceGroup, config: SearchConfig) -> list[SearchedSentence]:
    """The sentences of a group with their limits, before the first step."""
    lengths = list(zip(*(reader.lengths for reader in group.readers), strict=True))
    sentences = []
    for row, (key, request, ids) in enumerate(
        zip(group.keys, group.requests, group.readers[0].source.tolist(), strict=True)
    ):
        length = lengths[row][0]
        previous = own_start(ids[:length]) if BOS in ids else 0
        own = length - previous  # limits follow the sentence, not those before it
        # A request is fulfilled even where that takes more pieces than a limit allows.
        longest = max(config.longest(own), request.length + 1)
        longest = min(reader.model.within_positions(longest) for reader in group.readers)
        shortest = min(config.shortest(own), longest)
        sentences.append(SearchedSentence(key, request, ids[:length], lengths[row], shortest, longest))
    return sentences


class RunningBatch:
    """Sentences in slots, and all that the next step needs of them.

    Tokens are aligned at the right, so that the last column holds every hypothesis' newest token, wherever
    its sentence began. A slot whose sentence has left computes nothing that is read.

    Args:
        group: the first sentences.
        config: see :class:`SearchConfig`.
        policy: how hypotheses are continued.
        record: the attention that hypotheses carry, if any.
    """

    @torch.no_grad()  # not inference_mode: a cache that the encoder fills may be needed by a training step
    def __init__(
        self, group: SentenceGroup, config: SearchConfig, policy: Beam, record: Record | None
    ) -> None:
        count, device = len(group.keys), group.readers[0].source.device
        self.config = config
        self.policy = policy
        self.sentences: list[SearchedSentence | None] = [*begin_sentences(group, config)]
        self._find_live()
        # The longest free first: a slot's cache grows until another sentence enters.
        self.free: list[int] = []
        self.decoders = Decoders(group.readers, record)
        phrases = any(request.phrases for request in group.requests)
        self.constraints = Constraints(group.requests, device) if phrases else None
        self.scores = torch.zeros(count, 1, device=device)  # (B, W); -inf where there is no hypothesis
        self.ids = torch.full((count, 1, 1), BOS, device=device)  # (B, W, T)
        self.full = count  # the most sentences that the batch, or one that entered it, began with

    def _find_live(self) -> None:
        """Keep the sentences with their slots, and the age of the oldest: each step asks for them often."""
        self.live = [(slot, found) for slot, found in enumerate(self.sentences) if found is not None]
        # Steps that the oldest has made, and one.
        self.age = max((sentence.length for _, sentence in self.live), default=1)

    @property
    def wants_more(self) -> bool:
        """Whether enough slots are free for others to enter."""
        return (self.config.batch_size - len(self.live)) * ENTER >= self.config.batch_size

    def has_room(self, other: "RunningBatch") -> bool:
        """Whether all sentences of ``other`` may enter."""
        return self.room(other) >= len(other.live)

    def takes(self, other: "RunningBatch", *, any_age: bool) -> bool:
        """Whether sentences of ``other`` can enter now: all, or with ``any_age`` some, however young."""
        if self.decoders.width != other.decoders.width or not self.decoders.takes(other.decoders):
            return False
        if any_age:
            return other.age <= self.age and self.room(other) > 0
        return other.age == self.age > 1 and self.has_room(other)

    def room(self, other: "RunningBatch") -> int:
        """How many sentences of ``other`` may enter, whichever they are."""
        longest = max((sentence for _, sentence in other.live), key=lambda sentence: sentence.lengths[0])
        live = [sentence for _, sentence in self.live] + [longest]
        pieces = max(sentence.lengths[0] for sentence in live)
        steps = max(sentence.longest for sentence in live)
        steps *= self.policy.width
        cached = steps * self.decoders.models[0].cached_numbers
        most = most_sentences(
            self.config.batch_size, pieces, pieces * steps * self.decoders.num_recorded, cached
        )
        return most - len(live) + 1

    @torch.inference_mode()
    def step(self) -> list[Finished]:
        """Read the newest tokens and choose the next; gives the sentences that are done and leave."""
        newest, width = self.ids[:, :, -1].flatten(), self.policy.width
        log_probabilities = self.decoders.log_probabilities(newest, width, self.age)
        find = best_candidates if self.constraints is None else self.constraints.candidates
        chosen = self.policy.choose(log_probabilities, self.scores, self.ids, self.sentences, find)
        self._end(chosen)
        done = self._leave(chosen.going)
        if self.live:
            self._go_on(chosen.going)
            if done:
                self.scores[list(done)] = IMPOSSIBLE
        return [Finished(sentence.key, self.policy.finish(sentence)) for sentence in done.values()]

    @torch.inference_mode()
    def enter(self, other: "RunningBatch") -> None:
        """Move sentences of ``other``, which has made no more steps, to slots here; see :meth:`takes`."""
        moving = other.live[: self.room(other)]
        self.full = max(self.full, other.full)
        slots = [*self.free, *range(len(self.sentences), len(self.sentences) + len(moving))][: len(moving)]
        self.free = self.free[len(moving) :]
        count = max(len(self.sentences), max(slots) + 1)
        self.sentences += [None] * (count - len(self.sentences))
        for slot, (place, sentence) in zip(slots, moving, strict=True):
            self.sentences[slot], other.sentences[place] = sentence, None
        self._find_live()
        other._find_live()
        device = self.ids.device
        places = [place for place, _ in moving]
        self._put(torch.tensor(slots, device=device), other, torch.tensor(places, device=device))
        other.free += places
        other.scores[places] = IMPOSSIBLE

    @torch.inference_mode()
    def drop(self, keys: Collection[Any]) -> None:
        """Remove the sentences of these keys without a result."""
        slots = [slot for slot, sentence in self.live if sentence.key in keys]
        if not slots:
            return
        for slot in slots:
            self.sentences[slot] = None
        self._find_live()
        self.free += slots
        self.scores[slots] = IMPOSSIBLE

    def shrink(self) -> None:
        """Remove the free slots, if they are many."""
        live = [slot for slot, _ in self.live]
        if not live or (len(self.sentences) - len(live)) * SHRINK < len(self.sentences):
            return
        rows, self.free = torch.tensor(live, device=self.ids.device), []
        self.sentences = [self.sentences[slot] for slot in live]
        self._find_live()
        self.scores, self.ids = self.scores[rows], self.ids[rows]
        self.decoders.keep(rows)
        if self.constraints is not None:
            self.constraints.keep(rows)

    def _put(self, slots: Tensor, other: "RunningBatch", chosen: Tensor) -> None:
        count = len(self.sentences)
        lengths = [max(pair) for pair in zip(*(sentence.lengths for _, sentence in self.live), strict=True)]
        self.scores = put_rows(self.scores, slots, other.scores[chosen], count)
        missing = self.ids.shape[2] - other.ids.shape[2]
        new = torch.nn.functional.pad(other.ids[chosen], (missing, 0), value=PAD)
        self.ids = put_rows(self.ids, slots, new, count)
        self.decoders.put(slots, other.decoders, chosen, count, lengths)
        if self.constraints is not None or other.constraints is not None:
            device, width = self.ids.device, self.policy.width
            own = self.constraints or Constraints.none(count, width, device)
            more = other.constraints or Constraints.none(len(other.sentences), width, device)
            self.constraints = own.put(slots, more, chosen, count)

    def _end(self, chosen: Chosen) -> None:
        """Add the hypotheses that end to their sentences."""
        slots = chosen.slots.tolist()  # a GPU synchronises here, once a step
        if not slots:
            return
        ids = self.ids[chosen.slots, chosen.origins].tolist()
        sentences = [self.sentences[slot] for slot in slots]
        lengths = [sentence.length for sentence in sentences if sentence is not None]
        weights: Sequence[Tensor | None] = [None] * len(slots)
        if self.decoders.recorder is not None:
            sources = [sentence.lengths[0] for sentence in sentences if sentence is not None]
            weights = self.decoders.recorder.read(chosen.slots, chosen.origins, lengths, sources)
        scores, numbers = chosen.scores.tolist(), chosen.numbers.tolist()
        for sentence, number, pieces, score, found in zip(
            sentences, numbers, ids, scores, weights, strict=True
        ):
            assert sentence is not None
            # The begin of sentence stands for the end of sentence in the length.
            normalised = self.config.normalise(score, sentence.length)
            pieces = pieces[len(pieces) - sentence.length + 1 :]
            sentence.ended.append((number, Hypothesis(pieces, normalised, found)))

    def _leave(self, going: Candidates) -> dict[int, SearchedSentence]:
        """Free the slots of the sentences that are done: W hypotheses have ended, or the limit is reached.

        With ``stop=beaten``, one that goes on must not be better, at its present length, than the worst of
        the best W that have ended. ``generate`` of transformers ends by this rule unless
        ``early_stopping=True``.
        """
        full = {slot for slot, sentence in self.live if len(sentence.ended) >= self.policy.width}
        if full and self.config.stop == "beaten" and self.policy.width > 1:
            best = going.scores.amax(1).tolist()  # a GPU synchronises here, too
            for slot, sentence in self.live:
                if slot in full:
                    sentence.ended = self.policy.best(sentence)
                    worst = sentence.ended[-1][1].score
                    if self.config.normalise(best[slot], sentence.length) > worst:
                        full.remove(slot)
        done = {
            slot: sentence
            for slot, sentence in self.live
            if slot in full or sentence.length >= sentence.longest
        }
        for slot in done:
            self.sentences[slot] = None
        self.free += done
        for slot, sentence in self.live:
            if slot not in done:
                sentence.length += 1
        self._find_live()
        return done

    def _go_on(self, going: Candidates) -> None:
        """Continue with the hypotheses that have not ended."""
        width = self.policy.width
        if self.constraints is not None:
            self.constraints.advance(going)
        before = self.ids[:, :, max(0, self.ids.shape[2] - self.age + 1) :]
        if width > 1:
            before = before.gather(1, going.origins.unsqueeze(2).expand(-1, -1, before.shape[2]))
        self.ids = torch.cat([before, going.tokens.unsqueeze(2)], dim=2)
        self.scores = going.scores
        if self.decoders.recorder is not None and width > 1:
            self.decoders.recorder.reorder(going.origins)
        if self.decoders.width < width:
            self.decoders.widen(width)
        elif width > 1 and self.policy.reorders:
            self.decoders.reorder(going.origins)
