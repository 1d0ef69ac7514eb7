"""The service behind every API: translations and alignments by the models of a server, within its limits."""

import asyncio
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TypeVar

import torch

from translate.errors import UserError
from translate.serve.calls import ServedCall
from translate.serve.catalogue import Catalogue, Served
from translate.serve.engine import Engine
from translate.serve.limits import ServiceLimits, needed_bytes
from translate.serve.monitoring import Log, Metrics
from translate.serve.store import Store
from translate.serve.web.keys import Keys
from translate.serve.web.requests import RefusalError
from translate.text.documents import previous_sentences
from translate.translation import TranslateOptions, Translation
from translate.translation_call import TranslationCall

Result = TypeVar("Result")

MAX_GLOSSARIES = 1_000
SMALL = 2_000  # characters that are cut into pieces on the event loop itself


def context_of(served: Served, texts: Iterable[Sequence[str]]) -> list[list[str]] | None:
    """The previous sentences of each sentence of several texts, each of which is a document.

    ``None`` if the run reads no previous sentences.
    """
    most = served.translator.most_context
    return [before for text in texts for before in previous_sentences(text, most)] if most else None


@dataclass
class Service:
    """The state of a server.

    Attributes:
        catalogue: the models.
        limits: of requests.
        keys: of clients.
        log: of events.
        folder: for files of clients, shared by all workers.
    """

    catalogue: Catalogue
    limits: ServiceLimits
    keys: Keys
    log: Log
    folder: Path

    def __post_init__(self) -> None:
        self.metrics = Metrics()
        self.engine = Engine(torch.get_num_threads(), self.limits.queue, self.metrics)
        self.documents = Store(self.folder / "documents", most_bytes=max(1 << 26, 8 * self.limits.file))
        self.glossaries = Store(self.folder / "glossaries", MAX_GLOSSARIES + 1, 1 << 30, math.inf)
        self.running = 0  # requests without an answer
        self.metrics.running.set_function(lambda: self.running)
        self.background: set[asyncio.Task[None]] = set()  # documents, translated after the answer

    def check_texts(self, texts: list[str], phrases: Sequence[str] = ()) -> list[str]:
        """The texts of a request; raises :class:`RefusalError` if they are too many or too long.

        Args:
            phrases: that are read again with each text.
        """
        if len(texts) > self.limits.texts:
            raise RefusalError(
                413, f"{len(texts):,} texts; expected at most {self.limits.texts:,} in one request"
            )
        self.check_size(sum(map(len, texts)) + len(texts) * sum(map(len, phrases)), self.limits.characters)
        return texts

    def check_size(self, characters: int, most: int) -> None:
        """Raise :class:`RefusalError` for more characters than one request may have."""
        if characters > most:
            raise RefusalError(413, f"{characters:,} characters; expected at most {most:,} in one request")

    def check_memory(self, needed: int) -> None:
        """Raise :class:`RefusalError` for a request that may need more bytes than one may have."""
        if needed > self.limits.memory:
            raise RefusalError(
                413,
                f"this request may need {needed / 2**20:,.1f} MiB of memory; expected at most "
                f"{self.limits.memory / 2**20:,.1f}: send less text at a time, or split it into sentences",
            )

    async def begin(
        self, served: Served, sentences: Sequence[str], options: TranslateOptions
    ) -> TranslationCall:
        """The sentences in pieces.

        Raises:
            RefusalError: for what is impossible, such as a prefix that the vocabulary does not have, and for
                what may need too much memory.
        """
        if options.beam_size is not None and not 1 <= options.beam_size <= self.limits.beam:
            raise RefusalError(400, f"beam_size: expected 1 to {self.limits.beam}, got {options.beam_size}")
        translator = replace(served.translator, warnings=Counter())
        if translator.search.sample:
            options = replace(options, search=replace(translator.search, sample=False))
        begin = partial(translator.begin, sentences, options=options)
        with refusing():
            phrases = chain(options.prefix or (), *(options.constraints or ()))
            small = sum(map(len, chain(sentences, phrases))) <= SMALL
            call = begin() if small else await asyncio.to_thread(begin)
        pieces = [
            (len(attempts[0].pieces.ids) + 1, max(each.request.length for each in attempts) + 1)
            for attempts in call.attempts
        ]
        self.check_memory(
            needed_bytes(
                [(source, max(least, call.config.longest(source))) for source, least in pieces if source > 1],
                answers=options.n_best,
                hypotheses=call.config.beam_size,
                cached=call.models[0].cached_numbers,
                heads=len(call.choice.heads) if call.record else 0,
                shown=options.alignments,
            )
        )
        return call

    async def search(self, served: Served, call: TranslationCall) -> list[Translation]:
        """All translations, in order; sentences leave the batch if nobody waits for them any more.

        Raises:
            RefusalError: if the queue is full, or the server stops.
        """
        queued = ServedCall(served.name, call)
        with refusing():
            self.engine.submit(queued)
            try:
                return await asyncio.wrap_future(queued.future)
            finally:
                self.engine.cancel(queued)

    async def calculate(self, cost: int, function: Callable[[], Result]) -> Result:
        """The result of a function that computes, in turn with the batches.

        Args:
            cost: pieces that it reads.
            function: what is computed.

        Raises:
            RefusalError: if the queue is full, or for what is impossible.
        """
        with refusing():
            return await asyncio.to_thread(self.engine.calculate, cost, function)


@contextmanager
def refusing() -> Iterator[None]:
    """Turn errors of the user into a :class:`RefusalError`."""
    try:
        yield
    except UserError as error:
        raise RefusalError(400, str(error)) from error
