"""What every API does: translations and alignments by the models of the server, within its limits."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from translate.errors import UserError
from translate.serve.batch.calls import Calculation, ServedCall
from translate.serve.batch.engine import BusyError, Engine, LostError, StoppedError
from translate.serve.batch.pending import Pending
from translate.serve.catalogue import Catalogue, Served
from translate.serve.limits import ServiceLimits
from translate.serve.metrics import Metrics
from translate.serve.web.keys import Keys
from translate.serve.web.logs import Log
from translate.serve.web.refusals import RefusalError
from translate.text.documents import previous_sentences
from translate.translation import Translation, TranslationCall

Result = TypeVar("Result")

SMALL = 2_000  # characters that are cut into pieces on the event loop itself
LOADING, READY, RESTARTING, DRAINING = "loading", "ready", "restarting", "draining"


@dataclass(frozen=True)
class Wish:
    """How sentences are to be translated.

    Attributes:
        beam_size: the run's own by default.
        n_best: number of texts that a translation lists.
        alignments: whether translations carry their alignments.
        prefixes: the beginning of each translation, or of none.
        constraints: phrases that each translation must contain.
        markup: carry tags over by the alignment.
        context: the previous sentences of each sentence's text, see :func:`context_of`.
    """

    beam_size: int | None = None
    n_best: int = 1
    alignments: bool = False
    prefixes: Sequence[str] | None = None
    constraints: Sequence[Sequence[str]] | None = None
    markup: bool = False
    context: Sequence[Sequence[str]] | None = None


def context_of(served: Served, texts: Iterable[Sequence[str]]) -> list[list[str]] | None:
    """The previous sentences of each sentence of several texts, each of which is a document.

    ``None`` if the run reads no previous sentences.
    """
    most = served.translator.context.sentences
    return [before for text in texts for before in previous_sentences(text, most)] if most else None


@dataclass
class Service:
    """The state of a server.

    Attributes:
        engine: that searches.
        limits: of requests.
        metrics: that count.
        keys: of clients.
        log: of events.
        catalogue: the models; empty while they are loaded.
        state: loading, ready or draining.
        running: requests without an answer.
    """

    engine: Engine
    limits: ServiceLimits
    metrics: Metrics
    keys: Keys
    log: Log
    catalogue: Catalogue = field(default_factory=lambda: Catalogue(()))
    state: str = LOADING
    running: int = 0

    @property
    def condition(self) -> str:
        """The state, or ``restarting`` while nobody is there to translate."""
        return RESTARTING if self.state == READY and not self.engine.works else self.state

    def check_ready(self) -> None:
        """Raise :class:`RefusalError` unless the server takes requests."""
        if self.state != READY:
            what = "the models are being loaded" if self.state == LOADING else "the server stops"
            raise RefusalError(503, f"{what}; try again in a moment", retry_after=2)

    def check_texts(self, texts: Sequence[object]) -> list[str]:
        """The texts of a request, if they are within the limits.

        Raises:
            RefusalError: if they are none, too many, too long, or hold halves of characters.
        """
        if len(texts) > self.limits.texts:
            raise RefusalError(
                413, f"{len(texts):,} texts; expected at most {self.limits.texts:,} in one request"
            )
        found: list[str] = []
        for number, text in enumerate(texts, 1):
            if not isinstance(text, str):
                raise RefusalError(400, f"text {number} is no string")
            if not text.isascii() and any("\ud800" <= each <= "\udfff" for each in text):
                raise RefusalError(400, f"text {number} has half of a character (a lone surrogate)")
            found.append(text)
        self.check_size(sum(map(len, found)), self.limits.characters)
        return found

    def check_size(self, characters: int, most: int) -> None:
        """Raise :class:`RefusalError` for more characters than one request may have."""
        if characters > most:
            raise RefusalError(413, f"{characters:,} characters; expected at most {most:,} in one request")

    async def begin(
        self, served: Served, sentences: Sequence[str], wish: Wish
    ) -> tuple[TranslationCall, Counter[str]]:
        """The sentences in pieces, and counts of those that were cut or unknown.

        Raises:
            RefusalError: for what is impossible, such as a prefix that the vocabulary does not have.
        """
        if wish.beam_size is not None and not 1 <= wish.beam_size <= self.limits.beam:
            raise RefusalError(400, f"beam_size: expected 1 to {self.limits.beam}, got {wish.beam_size}")
        translator = replace(served.translator, warnings=Counter())
        search = replace(translator.search, sample=False) if translator.search.sample else None

        def begin() -> TranslationCall:
            return translator.begin(
                sentences,
                beam_size=wish.beam_size,
                n_best=wish.n_best,
                alignments=wish.alignments,
                search=search,
                prefix=wish.prefixes,
                constraints=wish.constraints,
                markup=wish.markup,
                context=wish.context,
            )

        small = sum(map(len, sentences)) <= SMALL
        try:
            work = begin() if small else await asyncio.to_thread(begin)
        except UserError as error:
            raise RefusalError(400, str(error)) from error
        return work, translator.warnings

    @asynccontextmanager
    async def call(
        self, served: Served, work: TranslationCall, warnings: Counter[str], *, growing: bool = False
    ) -> AsyncIterator[Pending]:
        """Sentences on their way through the batch; they leave it when the block ends.

        Raises:
            RefusalError: if the queue is full, or the server stops.
        """
        missing = {index for index, each in enumerate(work.pieces) if each.ids}
        pending = Pending(work, missing)
        call = ServedCall(served.name, work, pending, growing, warnings=warnings)
        with refusing():
            self.engine.submit(call)
            try:
                yield pending
            finally:
                self.engine.cancel(call)

    async def translate(
        self, served: Served, sentences: Sequence[str], wish: Wish
    ) -> tuple[list[Translation], Counter[str]]:
        """All translations, and counts of what was cut or could not be met."""
        work, warnings = await self.begin(served, sentences, wish)
        async with self.call(served, work, warnings) as pending:
            return await pending.all(), warnings

    async def calculate(
        self, served: Served, cost: int, function: Callable[..., Result], *arguments: Any
    ) -> Result:
        """The result of a function that computes, in turn with the batches.

        Args:
            served: its model.
            cost: pieces that it reads.
            function, arguments: as those of :class:`Calculation`.

        Raises:
            RefusalError: if the queue is full, or for what is impossible.
        """
        wanted = Calculation(served.name, served.translator, cost, function, arguments)
        with refusing():
            try:
                return await asyncio.wrap_future(self.engine.calculate(wanted))
            except UserError as error:
                raise RefusalError(400, str(error)) from error


@contextmanager
def refusing() -> Iterator[None]:
    """Turn what the engine raises into a :class:`RefusalError`."""
    try:
        yield
    except BusyError as error:
        raise RefusalError(429, str(error), retry_after=error.retry_after) from error
    except StoppedError as error:
        raise RefusalError(503, "the server stops; try again later", retry_after=2) from error
    except LostError as error:
        raise RefusalError(500, str(error)) from error
