"""Source lines with pictures as ids: patches first, then the pieces of the sentence."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from translate.config.names import shorten
from translate.corpora.images.line import split_line
from translate.corpora.images.patches import cell_size, names, piece_cells
from translate.corpora.images.picture_reader import PictureReader
from translate.errors import LineError, UserError
from translate.text.tokenizer import NO_WORD, Pieces, Tokenizer
from translate.text.words import Word


class PictureSources(NamedTuple):
    """The sources of a corpus, whose rows are made when they are asked for."""

    pictures: Sequence[str | None]
    ids: Sequence[Sequence[int]]  # of the sentences
    lengths: np.ndarray  # patches and pieces of each source
    reader: PictureReader

    def row(self, index: int) -> np.ndarray:
        """The cells of a source (S, C), without the end of sentence."""
        pieces = piece_cells(self.ids[index], cell_size(self.reader.patch_size))
        picture = self.pictures[index]
        return pieces if picture is None else np.concatenate([self.reader.read(picture).cells(), pieces])

    @property
    def num_rows(self) -> int:
        return len(self.lengths)

    def lengths_of(self, rows: np.ndarray) -> np.ndarray:
        """The lengths of some rows."""
        return np.asarray(self.lengths[rows])

    def __len__(self) -> int:
        return len(self.lengths)


class PictureTokenizer(Tokenizer):
    """Reads lines such as `![](photo.png) A sentence.`; each patch counts as a word, before the text's.

    Args:
        text: the tokenizer of the sentences.
        reads: ``picture`` or ``both``.
        reader: gives the picture that a line names.
    """

    def __init__(self, text: Tokenizer, reads: str, reader: PictureReader) -> None:
        super().__init__(text.model, tokenised=text.tokenised)
        self.reads = reads
        self.reader = reader

    def encode(self, text: str) -> list[int]:
        return self.encode_words(text).ids

    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        return [self.encode_words(text).ids for text in texts]

    def encode_words(self, text: str, *, whitespace: bool = False) -> Pieces:
        name, sentence, start = self.parts(text)
        found = super().encode_words(sentence, whitespace=whitespace)
        if start:
            moved = [Word(word.text, word.start + start, word.end + start) for word in found.words]
            found = found._replace(words=moved)
        if name is None:
            return found
        try:
            picture = self.reader.read(name)
        except UserError as error:
            if split_line(text).picture is not None:
                raise LineError(str(error)) from error
            raise LineError(f"{error}; this run describes pictures, and reads no sentences") from None
        count = len(picture)
        patches = [Word(each, 0, 0) for each in names(picture.rows, picture.columns)]
        return Pieces(
            [*picture.ids(), *found.ids],  # type: ignore[list-item]
            [*range(count), *(word if word == NO_WORD else word + count for word in found.piece_words)],
            [*patches, *found.words],
            tuple((piece + count, word + count) for piece, word in found.further),
            picture,
        )

    def encode_sources(self, lines: Sequence[str]) -> PictureSources:
        """The lines of a corpus, whose pictures are read when a batch needs them."""
        parts = [self.parts(line) for line in lines]
        ids = super().encode_corpus([part[1] for part in parts])
        lengths = [
            len(pieces) + (0 if part[0] is None else self.reader.count(part[0]))
            for part, pieces in zip(parts, ids, strict=True)
        ]
        pictures = [part[0] for part in parts]
        return PictureSources(pictures, ids, np.array(lengths, np.int64), self.reader)

    def parts(self, line: str) -> tuple[str | None, str, int]:
        """Picture, sentence and its start; raises :class:`LineError` for what the model does not read."""
        name, sentence, start = split_line(line)
        if self.reads == "picture" and name is None and sentence.strip():
            name, sentence = sentence.strip(), ""  # a plain line is the name of a picture
        if self.reads == "picture" and sentence.strip():
            raise LineError(
                "this run describes pictures (data.read=picture) and reads no sentence: leave out "
                f"{shorten(sentence.strip(), 60)!r} beside {shorten(str(name), 100)}"
            )
        return name, sentence, start

    def only_unknown(self, ids: Sequence[int]) -> bool:
        return super().only_unknown([each for each in ids if isinstance(each, int)])


def sentences_of(lines: Sequence[str]) -> list[str]:
    """The sentences of source lines, without their pictures."""
    return [split_line(line).sentence for line in lines]
