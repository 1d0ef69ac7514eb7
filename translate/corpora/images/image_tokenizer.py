"""Source lines with images as ids: patches first, then the pieces of the sentence."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from translate.config.data import DataConfig
from translate.config.names import shorten
from translate.corpora.images.image_files import read_file
from translate.corpora.images.line import split_line
from translate.corpora.images.patches import Image, cell_size, names, piece_cells
from translate.corpora.images.scenes import SIDE, draw, is_scene, read_scene
from translate.errors import LineError, UserError
from translate.text.tokenizer import Pieces, Tokenizer, TokenizerPair
from translate.text.words import Word

if TYPE_CHECKING:
    from translate.corpora.images.image_store import ImageStore


@dataclass(frozen=True)
class ImageReader:
    """Gives the image that a source line names: a scene is drawn, a file is decoded.

    Attributes:
        patch_size: pixels of a patch.
        side: pixels of the longer side, to which files are resized.
        store: of a corpus, which is asked first.
    """

    patch_size: int
    side: int
    store: "ImageStore | None" = None

    def read(self, name: str) -> Image:
        """The image called ``name``; raises :class:`UserError` if it cannot be read."""
        if is_scene(name):
            return Image(draw(read_scene(name)).pixels, self.patch_size)
        if self.store is not None and name in self.store.index:
            return self.store.read(name)
        return read_file(Path(name).expanduser(), self.side, self.patch_size)

    def count(self, name: str) -> int:
        """The number of patches of an image of the corpus."""
        if is_scene(name):
            return (SIDE // self.patch_size) ** 2
        if self.store is not None and name in self.store.index:
            return self.store.count(name)
        return len(self.read(name))


class ImageSources(NamedTuple):
    """The sources of a corpus, whose rows are made when they are asked for."""

    images: Sequence[str | None]
    ids: Sequence[Sequence[int]]  # of the sentences
    lengths: np.ndarray  # patches and pieces of every source
    reader: ImageReader

    def row(self, index: int) -> np.ndarray:
        """The cells of a source (S, C), without the end of sentence."""
        pieces = piece_cells(self.ids[index], cell_size(self.reader.patch_size))
        image = self.images[index]
        return pieces if image is None else np.concatenate([self.reader.read(image).cells(), pieces])

    @property
    def num_rows(self) -> int:
        return len(self.lengths)

    def lengths_of(self, rows: np.ndarray) -> np.ndarray:
        """The lengths of some rows."""
        return np.asarray(self.lengths[rows])


class ImageTokenizer(Tokenizer):
    """Reads lines such as `![](photo.png) A sentence.`; a patch counts as a word, before the text's.

    Args:
        text: the tokenizer of the sentences.
        reads: ``picture`` or ``both``.
        reader: gives the image that a line names.
    """

    def __init__(self, text: Tokenizer, reads: str, reader: ImageReader) -> None:
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
            image = self.reader.read(name)
        except UserError as error:
            if split_line(text).image is not None:
                raise LineError(str(error)) from error
            raise LineError(f"{error}; this run describes images, and reads no sentences") from None
        patches = [Word(patch, 0, 0) for patch in names(image.rows, image.columns)]
        ids: list[Any] = image.ids()
        return found.after(Pieces(ids, [*range(len(image))], patches, picture=image))

    def encode_sources(self, lines: Sequence[str]) -> ImageSources:
        """The lines of a corpus, whose images are read when a batch needs them."""
        parts = [self.parts(line) for line in lines]
        ids = super().encode_corpus([part[1] for part in parts])
        lengths = [
            len(pieces) + (0 if part[0] is None else self.reader.count(part[0]))
            for part, pieces in zip(parts, ids, strict=True)
        ]
        images = [part[0] for part in parts]
        return ImageSources(images, ids, np.array(lengths, np.int64), self.reader)

    def parts(self, line: str) -> tuple[str | None, str, int]:
        """Image, sentence and its start; raises :class:`LineError` for what the model does not read."""
        name, sentence, start = split_line(line)
        if self.reads == "picture" and name is None and sentence.strip():
            name, sentence = sentence.strip(), ""  # a plain line is the name of an image
        if self.reads == "picture" and sentence.strip():
            raise LineError(
                "this run describes images (data.read=picture) and reads no sentence: leave out "
                f"{shorten(sentence.strip(), 60)!r} beside {shorten(str(name), 100)}"
            )
        return name, sentence, start

    def only_unknown(self, ids: Sequence[int]) -> bool:
        return super().only_unknown([piece for piece in ids if isinstance(piece, int)])


def with_images(
    tokenizers: TokenizerPair, data: DataConfig, store: "ImageStore | None" = None
) -> TokenizerPair:
    """The tokenizers of a run; the source's reads images, too, if ``data.read`` says so.

    Args:
        tokenizers: of the sentences.
        data: the settings of the run's corpus.
        store: of a corpus that is in use, whose images have been read.
    """
    if data.read == "text":
        return tokenizers
    reader = ImageReader(data.patch_size, data.picture_size, store)
    return TokenizerPair(ImageTokenizer(tokenizers.source, data.read, reader), tokenizers.target)
