"""A call as the event loop sees it: translations arrive from the workers' threads."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from typing import NamedTuple

from translate.translation import Translation, TranslationCall


class Growth(NamedTuple):
    """What is known of a translation so far."""

    sentence: int  # its index
    ids: Sequence[int]  # pieces


class Arrived(NamedTuple):
    """A translation that is complete."""

    sentence: int  # its index
    result: Translation


class Pending:
    """Receives the translations of a call.

    Args:
        work: of the call.
        missing: indexes of the sentences that are not blank.
    """

    def __init__(self, work: TranslationCall, missing: set[int]) -> None:
        self.results = work.blank()
        self._loop = asyncio.get_running_loop()
        self._missing = missing
        self._error: Exception | None = None
        self._growth: Growth | None = None
        self._changed = asyncio.Event()

    def receive(self, index: int, result: Translation) -> None:
        """Called by a worker."""
        self._soon(self._received, index, result)

    def fail(self, error: Exception) -> None:
        """Called by a worker."""
        self._soon(self._failed, error)

    def grow(self, index: int, ids: Sequence[int]) -> None:
        """Called by a worker; a reader that is slow sees only the newest."""
        self._soon(self._grown, Growth(index, ids))

    async def all(self) -> list[Translation]:
        """All translations, in order.

        Raises:
            Exception: the error that ended the call.
        """
        while self._missing and self._error is None:
            self._changed.clear()
            await self._changed.wait()
        if self._error is not None:
            raise self._error
        return self.results

    async def events(self) -> AsyncIterator[Growth | Arrived]:
        """The translations in order, as soon as those before are there, and how the next one grows."""
        index = 0
        while index < len(self.results):
            if self._error is not None:
                raise self._error
            if index not in self._missing:
                yield Arrived(index, self.results[index])
                index += 1
                continue
            growth, self._growth = self._growth, None
            if growth is not None and growth.sentence == index:
                yield growth
                continue
            self._changed.clear()
            await self._changed.wait()

    def _soon(self, function: object, *arguments: object) -> None:
        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(function, *arguments)  # type: ignore[arg-type]

    def _received(self, index: int, result: Translation) -> None:
        self.results[index] = result
        self._missing.discard(index)
        self._changed.set()

    def _failed(self, error: Exception) -> None:
        self._error = error
        self._changed.set()

    def _grown(self, growth: Growth) -> None:
        self._growth = growth
        self._changed.set()
