"""Answers that nobody reads: how much of them waits in all, and whose connection is cut."""

import socket
from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.serve.client import Client, eventually
from tests.serve.conftest import LIMITS
from translate.serve.web.server import Unread

ANSWERS = 400


class Transport:
    """Holds what was written."""

    def __init__(self, size: int) -> None:
        self.size, self.aborted = size, False

    def get_write_buffer_size(self) -> int:
        return 0 if self.aborted else self.size

    def abort(self) -> None:
        self.aborted = True


def waiting(most: int, sizes: list[int]) -> tuple[Unread, list[Transport]]:
    unread, transports = Unread(most), [Transport(size) for size in sizes]
    for each in transports:
        unread.add(each)  # type: ignore[arg-type]
    return unread, transports


@pytest.mark.parametrize(
    ("sizes", "cut"),
    [
        ([40, 60], []),
        ([40, 61], [0]),
        ([20, 30, 40, 50], [0, 1]),
        ([20, 30, 10, 90], [0, 1]),
        ([500], []),  # larger than the bound, but alone
        ([20, 500], [0]),
    ],
)
def test_the_oldest_are_cut_until_the_rest_is_within_the_bound(sizes: list[int], cut: list[int]) -> None:
    unread, transports = waiting(100, sizes)
    assert [index for index, each in enumerate(transports) if each.aborted] == cut
    assert unread.bytes == sum(size for index, size in enumerate(sizes) if index not in cut)


def test_a_reader_that_catches_up_is_forgotten() -> None:
    unread, transports = waiting(100, [40, 50])
    unread.remove(transports[0])  # type: ignore[arg-type]
    unread.remove(transports[0])  # type: ignore[arg-type]
    last = Transport(50)
    unread.add(last)  # type: ignore[arg-type]
    assert unread.bytes == 100
    assert not any(each.aborted for each in [*transports, last])


def silent(client: Client) -> socket.socket:
    """Asks for more than sockets hold, in one go, and reads nothing."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.settimeout(60)
    connection.connect(("127.0.0.1", client.port))
    request = b"GET /spec HTTP/1.1\r\nHost: a\r\n%s\r\n"
    connection.sendall(request % b"" * (ANSWERS - 1) + request % b"Connection: close\r\n")
    return connection


def read_all(connection: socket.socket) -> int:
    """How many answers come, to the end of the connection."""
    received = bytearray()
    try:
        while part := connection.recv(1 << 16):
            received += part
    except ConnectionResetError:
        pass
    connection.close()
    return received.count(b"HTTP/1.1 200 OK")


def test_silent_readers_are_cut_and_others_are_not(serve: Callable[..., Client]) -> None:
    """Each leaves at least a part of an answer unread; together that is more than the bound."""
    client = serve(limits=replace(LIMITS, unread=1))
    connections: list[socket.socket] = []
    seen: set[object] = set()

    def all_wait() -> bool:
        seen.update(client.unread._waiting)
        return len(seen) == len(connections)

    for _ in range(3):
        connections.append(silent(client))
        eventually(all_wait, "an answer that waits")
    assert client.ask("GET", "/health").status == 200
    assert read_all(connections.pop()) == ANSWERS
    assert all(read_all(each) < ANSWERS for each in connections)


def test_within_the_bound_all_are_read_to_the_end(serve: Callable[..., Client]) -> None:
    client = serve()
    connections = [silent(client) for _ in range(3)]
    eventually(lambda: client.service.running == 3, "answers that wait")
    assert [read_all(each) for each in connections] == [ANSWERS] * 3
