"""The running batch of a search: sentences enter, step and leave, each at its own length.

Shapes: B slots, W hypotheses of a sentence, N = B W, C candidates a sentence, V vocabulary, T tokens so far
with the begin of sentence.
"""

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor

from translate.attention.memory import put_rows
from translate.config.search import SearchConfig
from translate.search.candidates import Candidates
from translate.search.constraints import Constraints
from translate.search.decoders import Decoders
from translate.search.hypothesis import Finished, Hypothesis, SearchedSentence
from translate.search.recording import Record, Recorder
from translate.search.rules import IMPOSSIBLE, begin_sentences
from translate.search.sources import SentenceGroup, most_sentences
from translate.text.tokenizer import BOS, PAD

ENTER = 16  # sentences enter when one slot in this many is free
SHRINK = 8  # a batch is copied without its free slots when they are one in this many


class Chosen(NamedTuple):
    """The outcome of a step: hypotheses that end, and those that go on."""

    slots: Tensor  # (K,) the sentence of each that ends
    origins: Tensor  # (K,) the hypothesis it ends
    scores: Tensor  # (K,) log-probabilities
    numbers: Tensor  # (K,) its number among the W, which orders samples
    going: Candidates  # (B, W); a score of -inf where there is none


class Policy(Protocol):
    """How hypotheses are continued: a beam, or random draws."""

    width: int  # W
    reorders: bool  # whether a hypothesis may continue another one of its sentence

    def choose(
        self,
        log_probabilities: Tensor,
        scores: Tensor,
        ids: Tensor,
        sentences: Sequence[SearchedSentence | None],
        constraints: Constraints | None,
    ) -> Chosen:
        """Continue hypotheses with ``scores`` (B, W or 1) and ``ids`` (B, W or 1, T) by (N, V)."""

    def finish(self, sentence: SearchedSentence) -> list[Hypothesis]:
        """The hypotheses of a sentence that is done, in the order to report them."""


class RunningBatch:
    """Sentences in slots, and all that the next step needs of them.

    Tokens are aligned at the right, so that the last column holds every hypothesis' newest token, wherever
    its sentence began. A slot whose sentence has left computes nothing that is read.

    Args:
        group: the first sentences.
        config: see :class:`SearchConfig`.
        policy: see :class:`Policy`.
        record: the attention that hypotheses carry, if any.
    """

    @torch.no_grad()  # not inference_mode: a cache that the encoder fills may be needed by a training step
    def __init__(
        self, group: SentenceGroup, config: SearchConfig, policy: Policy, record: Record | None
    ) -> None:
        count, device = len(group.keys), group.readers[0].source.device
        self.config = config
        self.policy = policy
        self.sentences: list[SearchedSentence | None] = [*begin_sentences(group, config)]
        self._find_live()
        # The longest free first: a slot's cache grows until another sentence enters.
        self.free: list[int] = []
        self.decoders = Decoders(group.readers, None if record is None else record.layer)
        self.recorder = None if record is None else Recorder(record.heads, count, device)
        phrases = any(request.phrases for request in group.requests)
        self.constraints = Constraints(group.requests, device) if phrases else None
        heads = self.decoders.models[0].num_attention_heads
        self.num_recorded = 0 if record is None else heads if record.heads is None else len(record.heads)
        self.scores = torch.zeros(count, 1, device=device)  # (B, W); -inf where there is no hypothesis
        self.ids = torch.full((count, 1, 1), BOS, device=device)  # (B, W, T)
        self.full = count  # the most sentences that the batch, or one that entered it, began with

    def _find_live(self) -> None:
        """Keep the sentences with their slots, and the age of the oldest: each step asks for them often."""
        self.live = [(slot, each) for slot, each in enumerate(self.sentences) if each is not None]
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
        most = most_sentences(self.config.batch_size, pieces, pieces * steps * self.num_recorded, cached)
        return most - len(live) + 1

    @torch.inference_mode()
    def step(self) -> list[Finished]:
        """Read the newest tokens and choose the next; gives the sentences that are done and leave."""
        log_probabilities = self.decoders.log_probabilities(self.ids[:, :, -1].flatten())
        if self.recorder is not None:
            assert self.decoders.weights is not None
            self.recorder.record(self.decoders.weights, self.policy.width, self.age - 1)
        chosen = self.policy.choose(
            log_probabilities, self.scores, self.ids, self.sentences, self.constraints
        )
        self._end(chosen)
        done = self._leave()
        if self.live:
            self._go_on(chosen.going)
            if done:
                self.scores[list(done)] = IMPOSSIBLE
        return [Finished(each.key, self.policy.finish(each)) for each in done.values()]

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
        self._put(
            torch.tensor(slots, device=device), other, torch.tensor([p for p, _ in moving], device=device)
        )

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
        self._keep(live)

    def _put(self, slots: Tensor, other: "RunningBatch", chosen: Tensor) -> None:
        count = len(self.sentences)
        lengths = [max(each) for each in zip(*(sentence.lengths for _, sentence in self.live), strict=True)]
        self.scores = put_rows(self.scores, slots, other.scores[chosen], count)
        missing = self.ids.shape[2] - other.ids.shape[2]
        new = torch.nn.functional.pad(other.ids[chosen], (missing, 0), value=PAD)
        self.ids = put_rows(self.ids, slots, new, count)
        self.decoders.put(slots, other.decoders, chosen, count, lengths)
        if self.recorder is not None:
            assert other.recorder is not None
            self.recorder.put(slots, other.recorder, chosen, count)
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
        if self.recorder is not None:
            sources = [sentence.lengths[0] for sentence in sentences if sentence is not None]
            weights = self.recorder.read(chosen.slots, chosen.origins, lengths, sources)
        scores, numbers = chosen.scores.tolist(), chosen.numbers.tolist()
        for sentence, number, pieces, score, found in zip(
            sentences, numbers, ids, scores, weights, strict=True
        ):
            assert sentence is not None
            # The begin of sentence stands for the end of sentence in the length.
            normalised = self.config.normalise(score, sentence.length)
            pieces = pieces[len(pieces) - sentence.length + 1 :]
            sentence.ended.append((number, Hypothesis(pieces, score, normalised, found)))

    def _leave(self) -> dict[int, SearchedSentence]:
        """Free the slots of the sentences that are done: W hypotheses have ended, or the limit is reached."""
        done = {
            slot: sentence
            for slot, sentence in self.live
            if len(sentence.ended) >= self.policy.width or sentence.length >= sentence.longest
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
        if self.recorder is not None and width > 1:
            self.recorder.reorder(going.origins)
        if self.decoders.width < width:
            self.decoders.widen(width)
        elif width > 1 and self.policy.reorders:
            slots = torch.arange(len(self.scores), device=self.ids.device).unsqueeze(1)
            self.decoders.reorder((slots * width + going.origins).flatten())

    def _keep(self, slots: Sequence[int]) -> None:
        rows, self.free = torch.tensor(slots, device=self.ids.device), []
        self.sentences = [self.sentences[slot] for slot in slots]
        self._find_live()
        self.scores, self.ids = self.scores[rows], self.ids[rows]
        self.decoders.keep(rows)
        if self.recorder is not None:
            self.recorder.keep(rows)
        if self.constraints is not None:
            self.constraints.keep(rows)
