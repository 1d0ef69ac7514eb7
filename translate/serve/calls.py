"""Calls: the sentences of requests, on their way through a running batch and back to the event loop."""

import time
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field

from translate.config.search import SearchConfig
from translate.search.decoders import Record
from translate.translation import Translation
from translate.translation_call import Attempt, TranslationCall

BULK_SENTENCES, BULK_PIECES = 16, 1024  # a call with more of either is a document


@dataclass(frozen=True)
class LaneKey:
    """The properties that sentences must share to run in one batch."""

    model: str
    settings: tuple[object, ...]  # of the search
    config: SearchConfig = field(compare=False)  # the same
    record: Record | None  # the attention that hypotheses carry
    constrained: bool  # whether sentences have phrases to contain
    bulk: bool  # whether they belong to documents
    engine: str  # torch or ctranslate2


@dataclass(eq=False)
class ServedCall:
    """The sentences of one request.

    Attributes:
        model: the name of its run or ensemble.
        translation: the sentences as the models read them, and all that their translation needs.
        results: of the sentences that are done; empty ones for the others.
        future: all results, or the error that has ended the call.
        cancelled: whether nobody waits for the rest any more.
    """

    model: str
    translation: TranslationCall
    future: "Future[list[Translation]]" = field(default_factory=Future)
    cancelled: bool = False

    def __post_init__(self) -> None:
        self.results = self.translation.blank()

    def jobs(self) -> "list[QueuedSentence]":
        """The sentences that are not blank, as the queue takes them."""
        present = self.translation.present
        return [QueuedSentence(self, index) for index, attempt in enumerate(present) if attempt.pieces.ids]

    def lane(self, jobs: "Sequence[QueuedSentence]") -> LaneKey:
        """The batch in which the jobs of this call run."""
        call = self.translation
        bulk = len(jobs) > BULK_SENTENCES or sum(job.cost for job in jobs) > BULK_PIECES
        constrained = any(job.attempt.request.phrases for job in jobs)
        engine = "torch" if call.engine is None else call.engine.name
        settings = tuple(vars(call.config).values())
        return LaneKey(self.model, settings, call.config, call.record, constrained, bulk, engine)


@dataclass(eq=False)
class QueuedSentence:
    """A sentence of a call.

    Attributes:
        call: the call that it belongs to.
        index: its place in the call.
        arrived: when it came, in seconds of a monotonic clock.
        cost: source pieces, with the end of sentence.
        failures: how often its batch has failed.
    """

    call: ServedCall
    index: int
    arrived: float = field(default_factory=time.monotonic)
    failures: int = 0

    def __post_init__(self) -> None:
        self.cost = len(self.attempt.pieces.ids) + 1

    @property
    def attempt(self) -> Attempt:
        """As the sentence is read now."""
        return self.call.translation.attempts[self.index][0]
