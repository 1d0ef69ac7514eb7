"""The limits of a server; each is finite, and told to whoever meets it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ServiceLimits:
    """What a server takes at most.

    Attributes:
        characters: of all texts of one request.
        texts: of one request.
        body: bytes of a request, but for files.
        file: bytes of a document.
        queue: source pieces that wait or run.
        requests: at a time.
        beam: hypotheses of a sentence.
        unread: bytes of answers that clients have not read yet.
        seconds: in which the body of a request must arrive.
    """

    characters: int = 100_000
    texts: int = 1_000
    body: int = 1 << 20
    file: int = 10 << 20
    queue: int = 100_000
    requests: int = 2_000
    beam: int = 16
    unread: int = 64 << 20
    seconds: float = 30.0
