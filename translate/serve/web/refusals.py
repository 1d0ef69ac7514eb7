"""Requests that are refused: the reason, which each API tells in its own form."""

from dataclasses import dataclass, field

CODES = {
    400: "bad_request",
    401: "wrong_key",
    403: "wrong_key",
    404: "not_found",
    405: "wrong_method",
    408: "too_slow",
    411: "no_length",
    413: "too_large",
    415: "wrong_type",
    429: "busy",
    431: "too_large",
    500: "internal",
    503: "unavailable",
}


@dataclass(eq=False)
class RefusalError(Exception):
    """A request that gets no answer.

    Attributes:
        status: of HTTP.
        message: one sentence: what came, what was expected.
        retry_after: seconds, if the client may try again.
        headers: more of them.
        close: whether the connection ends, since the rest of the request is not read.
    """

    status: int
    message: str
    retry_after: int | None = None
    headers: dict[str, str] = field(default_factory=dict)
    close: bool = False

    @property
    def code(self) -> str:
        """A word for programs."""
        return CODES.get(self.status, "error")

    def all_headers(self) -> dict[str, str]:
        """The headers of the answer."""
        found = dict(self.headers)
        if self.retry_after is not None:
            found["Retry-After"] = str(self.retry_after)
        if self.close:
            found["Connection"] = "close"
        return found
