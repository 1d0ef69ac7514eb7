"""Previous sentences of a document before a sentence, in one source: Tiedemann and Scherrer 2017, 2.

The begin of sentence, which stands in no other source, separates them: ``x1 <s> x2 <s> x3`` is the sentence
x3 after x1 and x2. No text can hold it, and every tokenizer has it.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, islice, repeat
from typing import NamedTuple

from translate.config.data import DataConfig
from translate.text.tokenizer import BOS, NO_WORD, Pieces


class ContextSize(NamedTuple):
    """Limits of the text of a document that is read before a sentence.

    Attributes:
        sentences: most previous sentences; 0 for none.
        pieces: most pieces of them, each with its separator. Sentences further away are left out.
    """

    sentences: int = 0
    pieces: int = 256

    @classmethod
    def of(cls, data: DataConfig) -> "ContextSize":
        """The limits of the settings of a corpus."""
        return cls(data.context_sentences, data.context_pieces)

    def nearest(self, lengths: Iterable[int]) -> int:
        """How many previous sentences are read.

        Args:
            lengths: pieces of each, the nearest one first.
        """
        totals = accumulate(length + 1 for length in islice(lengths, self.sentences))
        return sum(total <= self.pieces for total in totals)


ALONE = ContextSize()  # a sentence is read without those before it


def join_sentences(previous: Iterable[Iterable[int]], ids: Iterable[int]) -> list[int]:
    """The ids of a sentence with those before it, the nearest last."""
    return [*(piece for sentence in previous for piece in (*sentence, BOS)), *ids]


def own_start(ids: Sequence[int]) -> int:
    """The index at which the sentence itself begins in the ids of a source."""
    backwards = list(ids)[::-1]
    return len(backwards) - backwards.index(BOS) if BOS in backwards else 0


def in_context(pieces: Pieces, previous: Sequence[Sequence[int]]) -> Pieces:
    """A sentence with those before it; their pieces belong to no word. A blank one stays blank."""
    if not previous or not pieces.ids:
        return pieces
    ids = join_sentences(previous, ())
    return pieces.after(Pieces(ids, [NO_WORD] * len(ids), []))


def as_one(sentences: Sequence[Pieces]) -> Pieces:
    """The sentences of a document as one source whose words are those of all, in their order."""
    found, separator = Pieces([], [], []), Pieces([BOS], [NO_WORD], [])
    for number, sentence in enumerate(sentences):
        found = sentence.after(separator.after(found) if number else found)
    return found


def previous_sentences(
    sentences: Iterable[str], most: int, documents: Iterable[object] | None = None
) -> Iterator[list[str]]:
    """The previous sentences of every sentence's document, the nearest last.

    Args:
        sentences: in their order; a blank one ends a document.
        most: how many are wanted.
        documents: the sentences' documents, of which a new id begins another; ``None`` for a single one.
    """
    before: deque[str] = deque(maxlen=most)
    last: object = None
    for sentence, document in zip(sentences, repeat(None) if documents is None else documents):
        if document != last:
            before.clear()
        last = document
        yield list(before)
        if sentence.strip():
            before.append(sentence)
        else:
            before.clear()
