"""Lines of a stream in blocks: large where much is there, small where somebody waits for an answer."""

import queue
import threading
from collections.abc import Iterable, Iterator

FIRST_BLOCK, LARGEST_BLOCK = 64, 1024  # lines; blocks double, so that the first answer comes soon
WAIT = 0.05  # seconds that a line waits for others to come with it


class _Failure:
    def __init__(self, error: BaseException) -> None:
        self.error = error


def gather(lines: Iterable[str], *, largest: int = LARGEST_BLOCK, wait: float = WAIT) -> Iterator[list[str]]:
    """Blocks of lines, in order.

    A thread reads ahead, at most two blocks. A block is given away when it is full, when the stream has
    ended, or when no line came for ``wait`` seconds. What ``lines`` raises is raised after the lines before.

    Args:
        lines: such as the lines of standard input, which may never end.
        largest: most lines of a block.
        wait: seconds.
    """
    held: queue.Queue[str | _Failure | None] = queue.Queue(maxsize=2 * largest)

    def read() -> None:
        try:
            for line in lines:
                held.put(line)
        except BaseException as error:
            held.put(_Failure(error))
        else:
            held.put(None)

    threading.Thread(target=read, name="reader", daemon=True).start()
    size = min(FIRST_BLOCK, largest)
    block: list[str] = []
    while True:
        try:
            line = held.get(timeout=wait) if block else held.get()
        except queue.Empty:
            yield block
            block = []
            continue
        if isinstance(line, str):
            block.append(line)
            if len(block) < size:
                continue
            size = min(2 * size, largest)
        if block:
            yield block
            block = []
        if isinstance(line, _Failure):
            raise line.error
        if line is None:
            return
