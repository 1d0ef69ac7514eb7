"""Pieces of words that somebody else found, also of pieces that SentencePiece would not have chosen."""

from collections.abc import Sequence

import sentencepiece

from translate.text.tokenizer import Pieces, Tokenizer
from translate.text.words import Word, assign

SPACE = "\u2581"  # how SentencePiece writes the space before a word


class SpanEncoder:
    """Encodes lines of a corpus whose words are known already.

    Args:
        tokenizer: of this side.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self._processor = sentencepiece.SentencePieceProcessor(model_proto=tokenizer.model)

    def encode(self, text: str, words: list[Word], ids: Sequence[int] | None = None) -> Pieces:
        """Pieces of ``text`` with the word of each.

        Args:
            text: one sentence of a corpus.
            words: in their order, with their places in ``text``.
            ids: other pieces of the same text, such as sampled ones. If their places cannot be told, since
                the vocabulary lacks characters of the text, the likeliest pieces are given.
        """
        found = self._processor.encode(text, return_type="offset_mapping")
        chosen, offsets = list(found["ids"]), found["offsets"]
        spelt = self.tokenizer.pieces
        if ids is not None and (others := offsets_of(spelt(chosen), offsets, spelt(ids))):
            chosen, offsets = list(ids), others
        owners, further = assign(offsets, words)
        return Pieces(chosen, owners, words, further)


def offsets_of(
    known: Sequence[str], offsets: Sequence[tuple[int, int]], pieces: Sequence[str]
) -> list[tuple[int, int]] | None:
    """Where the pieces of one segmentation stand in the text, from the places of another one.

    Args:
        known: pieces of the text, as SentencePiece writes them.
        offsets: the place of each of them in the text.
        pieces: other pieces of the same text.

    Returns:
        The place of each of ``pieces``; ``None`` if both do not spell the same, as unknown pieces do not.
    """
    if "".join(known) != "".join(pieces):
        return None
    starts, ends = [], []  # in the text, of each character of the pieces
    for piece, (begin, end) in zip(known, offsets, strict=True):
        size = len(piece)
        if piece.startswith(SPACE) and size - 1 == end - begin:  # the space is none of the text
            places = [(begin, begin), *((at, at + 1) for at in range(begin, end))]
        elif size == end - begin:
            places = [(at, at + 1) for at in range(begin, end)]
        else:  # normalised to fewer or more characters
            places = [(begin, end)] * size
        starts += [first for first, _ in places]
        ends += [last for _, last in places]
    found, position = [], 0
    for piece in pieces:
        last = position + len(piece)
        found.append((starts[position], max(ends[position:last])) if piece else (0, 0))
        position = last
    return found
