"""Answers that nobody reads: how much of them waits in all, and whose connection is cut."""

import socket
from collections.abc import Callable
from dataclasses import replace

from tests.serve.client import Client, eventually
from tests.serve.conftest import LIMITS

ANSWERS = 400


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
