"""What the server and a process that translates tell each other, and the connection between them."""

import pickle
import socket
import struct
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from translate.config.search import SearchConfig
from translate.errors import UserError
from translate.search import Request
from translate.serve.batch.handing import Handed
from translate.text.markup import Marked
from translate.text.tokenizer import Pieces
from translate.translation import TranslateOptions, Translation

HEAD = struct.Struct("!Q")  # the bytes of a message, before it


class Begin(NamedTuple):
    """The models, by name."""

    models: Handed
    threads: int  # of torch
    path: list[str]  # of modules, where plugins may have added to it


@dataclass(frozen=True)
class Shape:
    """How the sentences of a call are searched and completed; see ``TranslationCall``."""

    model: str
    config: SearchConfig
    options: TranslateOptions  # without prefix, constraints and context
    bulk: bool
    growing: bool


class Part(NamedTuple):
    """Sentences of a call for one process, which knows them by their place among these."""

    number: int
    shape: Shape
    pieces: Sequence[Pieces]
    others: Sequence[Sequence[Sequence[int]]]  # for each further model, ids of each sentence
    requests: Sequence[Request]
    marked: Sequence[Marked]  # none where no markup is carried
    arrived: Sequence[float]  # seconds, of a clock that processes share


class Cancel(NamedTuple):
    """Nobody waits for a part any more."""

    number: int


class Calculate(NamedTuple):
    """A function of a translator to compute without a search."""

    number: int
    model: str
    cost: int
    function: Any
    arguments: tuple[Any, ...]


class Ready(NamedTuple):
    """The models are loaded."""


class Done(NamedTuple):
    """A translation is complete: of the sentence at a place in the part."""

    number: int
    place: int
    result: Translation
    unmet: int  # 1 if its constraints could not be met


class Grown(NamedTuple):
    """The pieces of the best hypothesis so far."""

    number: int
    place: int
    ids: list[int]


class Failed(NamedTuple):
    """No further translation of a part comes."""

    number: int
    error: Exception


class Calculated(NamedTuple):
    """The result of a function, or what it raised."""

    number: int
    result: Any
    error: BaseException | None


class Counted(NamedTuple):
    """A call of a method of the server's metrics."""

    method: str
    arguments: tuple[Any, ...]


Event = Ready | Done | Grown | Failed | Calculated | Counted


class Channel:
    """One end of a connection between two processes of ours, on which objects travel.

    Args:
        connection: to the other process.
    """

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._stream = connection.makefile("rb")
        self._sending = threading.Lock()

    def send(self, message: Any) -> None:
        """Send an object; waits while the other process is behind.

        Raises:
            OSError: if there is no other process any more.
        """
        content = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
        with self._sending:
            self._connection.sendall(HEAD.pack(len(content)) + content)

    def receive(self) -> Any:
        """The next object.

        Raises:
            EOFError, OSError: if there is no other process any more.
        """
        (size,) = HEAD.unpack(self._read(HEAD.size))
        return pickle.loads(self._read(size))

    def close(self) -> None:
        """End the connection; both processes see it."""
        try:
            self._connection.shutdown(socket.SHUT_RDWR)
        except OSError:  # the other process has ended
            return

    def _read(self, size: int) -> bytes:
        found = self._stream.read(size)
        if len(found) < size:
            raise EOFError
        return found


def sendable(error: BaseException) -> Exception:
    """The error as another process can read it: the user's as they are, others by their text."""
    if type(error) is UserError:
        return error
    return RuntimeError(f"{type(error).__name__}: {error}")
