"""The limits of a server, and the memory that a request may need, which is known before it is searched."""

from collections.abc import Iterable
from dataclasses import dataclass

NUMBER = 4  # bytes
WEIGHT = 64  # bytes of one that an answer lists: a number of Python in a list, and its text
PIECE, PIECE_WITH_WORDS = 64, 512  # bytes of a piece; with the words, offsets and links of an answer


@dataclass(frozen=True)
class ServiceLimits:
    """The limits of a server; all are finite, and a refusal names the one that it is about.

    Attributes:
        characters: of all texts of one request.
        texts: of one request.
        memory: bytes that one request may need; see :func:`needed_bytes`.
        body: bytes of a request, but for files.
        file: bytes of a document.
        queue: source pieces that wait or run.
        requests: at a time.
        beam: hypotheses of a sentence.
        seconds: in which the body of a request must arrive.
    """

    characters: int = 100_000
    texts: int = 1_000
    memory: int = 512 << 20
    body: int = 1 << 20
    file: int = 10 << 20
    queue: int = 100_000
    requests: int = 2_000
    beam: int = 16
    seconds: float = 30.0


def needed_bytes(
    lengths: Iterable[tuple[int, int]],
    *,
    answers: int = 1,
    hypotheses: int = 1,
    cached: int = 0,
    heads: int = 0,
    shown: bool = True,
) -> int:
    """The memory that a request may need, if every translation becomes as long as it may.

    Each sentence leaves its weights and its pieces in the answer. While a sentence is searched, the decoder
    keeps numbers of each hypothesis, and each hypothesis records weights. Sentences that run together are
    bounded by the search, so the largest one counts.

    Args:
        lengths: source and target pieces of each sentence.
        answers: texts of each sentence in the answer.
        hypotheses: of a sentence in the search.
        cached: numbers that the decoder keeps of each piece of a hypothesis.
        heads: whose weights are recorded, if only to carry markup over.
        shown: whether the answer lists words and weights.
    """
    answer = search = 0
    weight, piece = (WEIGHT, PIECE_WITH_WORDS) if shown else (NUMBER if heads else 0, PIECE)
    for source, target in lengths:
        answer += weight * source * target + piece * (source + answers * target)
        search = max(search, NUMBER * hypotheses * target * (cached + heads * source))
    return answer + search
