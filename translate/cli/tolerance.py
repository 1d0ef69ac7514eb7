"""One row for each line, also for a line whose translation fails."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from translate.config.names import shorten
from translate.errors import LineError, UserError

Line = TypeVar("Line")
Result = TypeVar("Result")


@dataclass
class Tolerant(Generic[Line, Result]):
    """Translates blocks of lines. If a block fails, its halves are tried: only the line at fault is lost.

    Attributes:
        translate: gives one result for each line of a block.
        show: the row of a line and its result, which is ``None`` if the line failed.
        warnings: counts that ``translate`` adds to; those of a failed block are taken back.
        stream: whether the lines are many, so that a :class:`LineError` costs its line alone.
        failures: number of lines that failed.
        first: the first of their errors.
    """

    translate: Callable[[list[Line]], list[Result]]
    show: Callable[[Line, Result | None], str]
    warnings: Counter[str]
    stream: bool = False
    failures: int = 0
    first: str = ""

    def rows(self, block: list[Line]) -> Iterator[str]:
        """One row for each line of the block, in order.

        Raises:
            UserError: for settings that are impossible, which is no line's fault; and for that of one of few
                lines.
        """
        for line, result in zip(block, self._results(block), strict=True):
            try:
                row = self.show(line, result)
            except Exception as error:
                self._count(error)
                row = self.show(line, None)
            yield row

    def _results(self, block: list[Line]) -> list[Result | None]:
        before = self.warnings.copy()
        try:
            return [*self.translate(block)]
        except UserError as error:
            if not (self.stream and isinstance(error, LineError)):
                raise
            self._take_back(before)
            if len(block) == 1:
                self._count(error)
                return [None]
        except Exception as error:  # a bug of ours, or no memory for so many lines
            self._take_back(before)
            if len(block) == 1:
                self._count(error)
                return [None]
        # Not inside the handler: the traceback holds the tensors of the block.
        half = len(block) // 2
        return self._results(block[:half]) + self._results(block[half:])

    def _take_back(self, before: Counter[str]) -> None:
        self.warnings.clear()
        self.warnings.update(before)

    def _count(self, error: Exception) -> None:
        self.failures += 1
        kind = "" if isinstance(error, UserError) else f"{type(error).__name__}: "
        self.first = self.first or shorten(f"{kind}{error}", 200)
