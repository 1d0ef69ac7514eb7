"""Calls and their sentences, on the way through the running batch."""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from translate.config.search import SearchConfig
from translate.search import Record, Request
from translate.translation import Translation, TranslationCall
from translate.translator import Translator

Result = TypeVar("Result")

BULK_SENTENCES, BULK_PIECES = 16, 1024  # a call with more of either is a document


class Receiver(Protocol):
    """Where the outcome of a call goes; workers call it from their threads."""

    def receive(self, index: int, result: Translation) -> None:
        """The translation of a sentence."""

    def fail(self, error: Exception) -> None:
        """No further translation comes."""

    def grow(self, index: int, ids: Sequence[int]) -> None:
        """The pieces of the best hypothesis so far; only where the call asks for them."""


@dataclass(frozen=True)
class LaneKey:
    """What sentences must share to run in one batch."""

    model: str
    settings: tuple[object, ...]  # of the search
    config: SearchConfig = field(compare=False)  # the same
    record: Record | None  # the attention that hypotheses carry
    constrained: bool  # whether sentences have phrases to contain
    bulk: bool  # whether they belong to documents
    engine: str  # that searches: torch or ctranslate2


@dataclass(eq=False)
class ServedCall:
    """The sentences of one request.

    Attributes:
        model: the name of its run or ensemble.
        work: the sentences, and how their translations are completed.
        receiver: gets the translations.
        growing: whether the receiver wants to see translations grow.
        cancelled: whether nobody waits for the rest any more.
        warnings: counts of sentences that were cut, or whose constraints could not be met.
        bulk: whether it belongs to a document; its size says so by default.
        arrived: when each sentence has come, in seconds of a monotonic clock; now by default.
    """

    model: str
    work: TranslationCall
    receiver: Receiver
    growing: bool = False
    cancelled: bool = False
    warnings: Counter[str] = field(default_factory=Counter)
    bulk: bool | None = None
    arrived: Sequence[float] | None = None

    def jobs(self) -> "list[QueuedSentence]":
        """A job for each sentence that is not blank."""
        pieces = self.work.pieces
        times = self.arrived or [time.monotonic()] * len(pieces)
        return [QueuedSentence(self, i, arrived=times[i]) for i, each in enumerate(pieces) if each.ids]

    def lane(self, jobs: "Sequence[QueuedSentence]") -> LaneKey:
        """The batch in which the jobs of this call run."""
        batch = self.work
        bulk = self.bulk
        if bulk is None:
            bulk = len(jobs) > BULK_SENTENCES or sum(job.cost for job in jobs) > BULK_PIECES
        constrained = any(request.phrases for request in batch.requests)
        settings = tuple(vars(batch.config).values())
        # Only our own search shows how a translation grows.
        engine = "torch" if batch.engine is None or self.growing else batch.engine.name
        return LaneKey(self.model, settings, batch.config, batch.record, constrained, bulk, engine)


@dataclass(eq=False)
class QueuedSentence:
    """A sentence of a call.

    Attributes:
        call: that it belongs to.
        index: in the call.
        arrived: seconds, of a monotonic clock.
        turn: when it is its turn: its virtual start time in the queue.
        met: whether its constraints still hold; without a hypothesis that meets them it runs again without.
        failures: how often its batch has failed.
    """

    call: ServedCall
    index: int
    arrived: float
    turn: float = 0.0
    met: bool = True
    failures: int = 0

    @property
    def cost(self) -> int:
        """Source pieces, with the end of sentence."""
        return len(self.call.work.pieces[self.index].ids) + 1

    @property
    def request(self) -> Request:
        """What the translation must have."""
        request = self.call.work.requests[self.index]
        return request if self.met else Request(request.prefix)

    def ids(self) -> list[Sequence[int]]:
        """The sentence as each model of the ensemble reads it."""
        sources = self.call.work
        return [sources.pieces[self.index].ids, *(other[self.index] for other in sources.others)]

    def held(self, record: Record | None) -> tuple[int, int]:
        """Weights that it may record, and numbers that its decoder may keep."""
        batch = self.call.work
        steps = batch.config.longest(self.cost) * batch.config.beam_size
        heads = 0 if record is None or record.heads is None else len(record.heads)
        return self.cost * steps * heads, steps * batch.models[0].cached_numbers


@dataclass(frozen=True)
class Calculation(Generic[Result]):
    """What is computed with a model but without a search.

    Attributes:
        model: the name of its run or ensemble.
        translator: of that name.
        cost: pieces that it reads.
        function: of a module, so that another process finds it, too; its first argument is the translator.
        arguments: its others.
    """

    model: str
    translator: Translator
    cost: int
    function: Callable[..., Result]
    arguments: tuple[Any, ...]

    def run(self) -> Result:
        """The result."""
        return self.function(self.translator, *self.arguments)
