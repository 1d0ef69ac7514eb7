"""Subword tokenizers by SentencePiece, which also tell the word of each piece."""

import io
import itertools
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import sentencepiece

from translate.config.data import TAG, TokenizerConfig
from translate.errors import UserError
from translate.text.bounded import read_bounded, read_json
from translate.text.lines import evenly
from translate.text.words import NO_WORD as NO_WORD
from translate.text.words import (
    UNSPACED,
    Word,
    assign,
    joined_words,
    split_tagged,
    split_words,
    whitespace_words,
)

PAD, UNK, BOS, EOS = 0, 1, 2, 3
_WORD_PART = re.compile(rf"(?![{UNSPACED}])\w")
MODEL_TYPES = {1: "unigram", 2: "bpe", 3: "word", 4: "char"}  # by SentencePiece's number
UNKNOWN = "⁇"  # the text of an unknown piece
SPACE = "\u2581"  # how SentencePiece writes the space before a word
LONGEST_PIECE = 16  # characters of a piece at most, SentencePiece's default
WORDS_A_PIECE = 4  # on average at most, in scripts whose characters are words
MAX_TRAINING_SENTENCES = 5_000_000
MAX_TRAINING_CHARACTERS = 1 << 24  # of a corpus; SentencePiece takes about 25 bytes of memory for one
MAX_MODEL_BYTES = 1 << 28  # of a SentencePiece model that is read


class Pieces(NamedTuple):
    """A sentence in pieces: ``ids[i]`` belongs to ``words[piece_words[i]]``, or to no word if that is -1.

    If characters are words, a piece may cover several; ``further`` holds the others as (piece, word). With a
    picture, its patches come first; each is a piece of bytes, and a word.
    """

    ids: list[int]
    piece_words: list[int]
    words: list[Word]
    further: tuple[tuple[int, int], ...] = ()
    picture: Any = None  # translate.corpora.images.patches.Image

    def after(self, before: "Pieces") -> "Pieces":
        """These pieces behind others, whose words come first."""
        start, first = len(before.ids), len(before.words)
        owners = (word if word == NO_WORD else word + first for word in self.piece_words)
        further = ((piece + start, word + first) for piece, word in self.further)
        return Pieces(
            [*before.ids, *self.ids],
            [*before.piece_words, *owners],
            [*before.words, *self.words],
            (*before.further, *further),
            before.picture,
        )

    def cut(self, length: int) -> "Pieces":
        """The first ``length`` pieces and their words, at most ``WORDS_A_PIECE`` times as many."""
        most = length * WORDS_A_PIECE  # an unknown piece may cover any number
        if len(self.ids) <= length and len(self.words) <= most:
            return self
        owners = self.piece_words[:length]
        further = [(piece, word) for piece, word in self.further if piece < length]
        last = max([*owners, *(word for _, word in further)], default=NO_WORD)
        words = self.words[: min(last + 1, most)]
        return Pieces(
            self.ids[:length],
            [word if word < len(words) else NO_WORD for word in owners],
            words,
            tuple((piece, word) for piece, word in further if word < len(words)),
            self.picture,
        )


class Tokenizer:
    """A SentencePiece model; ids 0 to 3 are padding, unknown, begin and end of sentence.

    Args:
        model: the serialised SentencePiece model.
        tokenised: whether the corpus is white-space tokenised, so that a user's text must first be split into
            words (*I love you.* becomes *I love you .*).
    """

    reads = "text"  # another class reads pictures

    def __init__(self, model: bytes, *, tokenised: bool = False) -> None:
        if not model:  # SentencePiece would accept it as a model without pieces
            raise ValueError("the SentencePiece model is empty")
        self.model = model
        self.tokenised = tokenised
        self._processor = sentencepiece.SentencePieceProcessor(model_proto=model)

    def __len__(self) -> int:
        return int(self._processor.get_piece_size())

    @cached_property
    def model_type(self) -> str:
        """The kind of the model, as ``tokenizer.model_type`` names it."""
        return MODEL_TYPES[parse_model(self.model).trainer_spec.model_type]

    @cached_property
    def tags(self) -> tuple[str, ...]:
        """The tags before sentences, such as ``<own>`` or ``>>fra<<``; they are the first pieces."""
        others = (i for i in range(EOS + 1, len(self)) if not self._processor.is_byte(i))
        pieces = (self._processor.id_to_piece(i).removeprefix(SPACE) for i in others)
        return tuple(itertools.takewhile(TAG.fullmatch, pieces))

    def encode(self, text: str) -> list[int]:
        """Ids of the pieces of ``text``, without begin and end of sentence."""
        return list(self._processor.encode(self.prepare(text)))

    def encode_all(self, texts: Sequence[str]) -> list[list[int]]:
        """Ids of the pieces of many texts, several times as fast as one by one."""
        if len(texts) == 1:  # for a list, SentencePiece starts threads
            return [self.encode(texts[0])]
        return list(self._processor.encode([self.prepare(text) for text in texts], num_threads=1))

    def encode_corpus(self, lines: Sequence[str]) -> list[list[int]]:
        """Ids of the lines of a corpus, which is split into words already if it is ``tokenised``."""
        return list(self._processor.encode(list(lines)))

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ``ids`` as :func:`one_line`; padding, begin and end of sentence are skipped."""
        return one_line(self._processor.decode([int(i) for i in ids if i not in (PAD, BOS, EOS)]))

    def decode_all(self, sentences: Sequence[Sequence[int]]) -> list[str]:
        """The texts of many sentences, several times as fast as one by one."""
        if len(sentences) == 1:
            return [self.decode(sentences[0])]
        kept = [[i for i in ids if i not in (PAD, BOS, EOS)] for ids in sentences]
        return [one_line(text) for text in self._processor.decode(kept, num_threads=1)]

    @cached_property
    def all_pieces(self) -> list[str]:
        """The text of every piece, in the order of their ids."""
        return [str(self._processor.id_to_piece(i)) for i in range(len(self))]

    @cached_property
    def inner(self) -> list[int]:
        """The pieces that go on with a word: they begin with a letter or a digit, in a script with spaces."""
        return [i for i, piece in enumerate(self.all_pieces) if i > EOS and _WORD_PART.match(piece)]

    def pieces(self, ids: Iterable[int]) -> list[str]:
        """The text of each piece, as SentencePiece writes it."""
        return [self.all_pieces[i] for i in ids]

    def only_unknown(self, ids: Sequence[int]) -> bool:
        """Whether all pieces are unknown or white space."""
        return all(i == UNK or piece == SPACE for i, piece in zip(ids, self.pieces(ids), strict=True))

    def ids(self, pieces: Sequence[str]) -> list[int]:
        """The inverse of :meth:`pieces`; other texts become the unknown piece."""
        return [int(self._processor.piece_to_id(piece)) for piece in pieces]

    def unknown_share(self, lines: Sequence[str]) -> float:
        """The share of the characters of a corpus, white space aside, that become unknown pieces."""
        found = self._processor.encode(list(lines), return_type="offset_mapping")
        spans = [span for line in found for i, span in zip(line["ids"], line["offsets"]) if i == UNK]
        return sum(end - begin for begin, end in spans) / max(1, sum(len("".join(x.split())) for x in lines))

    def encode_places(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        """Ids of the pieces of a corpus line, and the (start, end) of each in it."""
        found = self._processor.encode(text, return_type="offset_mapping")
        return list(found["ids"]), found["offsets"]

    def encode_words(self, text: str, *, whitespace: bool = False) -> Pieces:
        """Pieces of ``text`` with the word of each; offsets of the words are into ``text``.

        Args:
            text: one sentence.
            whitespace: split words only at white space, as gold links count them.
        """
        words = whitespace_words(text) if whitespace else split_tagged(text, self.tags, self._whole)
        if self.tokenised:
            prepared = " ".join([word.text for word in words])
            spans = words if prepared == text else joined_words(word.text for word in words)
        else:
            prepared, spans = text, words
        ids, offsets = self.encode_places(prepared)
        owners, further = assign(offsets, spans)
        return Pieces(ids, owners, words, further)

    def decode_words(self, ids: Sequence[int]) -> tuple[str, Pieces]:
        """The text of ``ids`` as :func:`one_line`, and the word of each piece in it."""
        found = self._processor.decode([int(i) for i in ids], return_type="offset_mapping")
        text, offsets = _collapsed(found["text"], found["offsets"])
        words = whitespace_words(text) if self.tokenised else split_words(text)
        owners, further = assign(offsets, words)
        return text, Pieces(list(ids), owners, words, further)

    @cached_property
    def _whole(self) -> frozenset[str]:
        """The words that are one piece, which a tokenised corpus may have written otherwise than we split."""
        return frozenset(piece[1:] for piece in self.all_pieces if self.tokenised and piece.startswith(SPACE))

    def prepare(self, text: str) -> str:
        """The text as the model's corpus has it: its words between spaces, if it is tokenised."""
        if not self.tokenised:
            return text
        return " ".join(word.text for word in split_tagged(text, self.tags, self._whole))


def parse_model(content: bytes) -> Any:
    """The message ``ModelProto`` of a SentencePiece model; raises ``ValueError`` for other bytes."""
    from google.protobuf.message import DecodeError  # comes with tensorboard
    from sentencepiece import sentencepiece_model_pb2

    messages: Any = sentencepiece_model_pb2
    try:
        return messages.ModelProto.FromString(content)
    except DecodeError as error:
        raise ValueError(str(error)) from error


def one_line(text: str) -> str:
    """``text`` on one line: runs of white space become one space, and its ends are stripped."""
    return " ".join(text.split())


def _collapsed(text: str, offsets: list[tuple[int, int]]) -> tuple[str, list[tuple[int, int]]]:
    """``text`` as :func:`one_line`, and the ``offsets`` of its pieces in the new text."""
    line = one_line(text)
    if line == text:
        return line, offsets
    positions, length = [], 0
    for position, character in enumerate(text):
        positions.append(min(length, len(line)))
        leading = length == 0 or text[position - 1].isspace()
        length += not (character.isspace() and leading)
    positions.append(len(line))
    return line, [(positions[begin], positions[end]) for begin, end in offsets]


def train_tokenizer(
    sentences: Iterable[str], config: TokenizerConfig, *, tokenised: bool = False, symbols: Sequence[str] = ()
) -> Tokenizer:
    """Train SentencePiece on ``sentences``; a vocabulary too large for them shrinks.

    Every one of the ``symbols`` is one piece.
    """
    texts = [one_line(text) for text in itertools.islice(sentences, MAX_TRAINING_SENTENCES)]
    texts = [text for text in texts if text]
    if not texts:
        raise UserError("tokenizer: there are no sentences to train it on")
    try:
        model = _train(texts, config, config.vocabulary_size, symbols)
    except (RuntimeError, ValueError) as error:
        limit = re.search(r"value <= (\d+)", str(error))
        if least := re.search(r"smaller than required_chars\. \d+ vs (\d+)", str(error)):
            raise UserError(
                f"tokenizer.vocabulary_size: {config.vocabulary_size} pieces are fewer than the {least[1]} "
                "characters of the text; raise it, or lower tokenizer.character_coverage"
            ) from error
        if limit is None:
            raise UserError(f"tokenizer: SentencePiece says: {error}") from error
        model = _train(texts, config, int(limit.group(1)), symbols)
    return Tokenizer(model, tokenised=tokenised)


def _train(texts: list[str], config: TokenizerConfig, size: int, symbols: Sequence[str]) -> bytes:
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts),
        model_writer=model,
        model_type=config.model_type,
        vocab_size=size,
        character_coverage=config.character_coverage,
        byte_fallback=config.byte_fallback,
        normalization_rule_name=config.normalization,
        max_sentence_length=65_536,  # bytes; SentencePiece silently skips longer lines
        pad_id=PAD,
        unk_id=UNK,
        unk_surface=UNKNOWN,  # the default has spaces around it
        bos_id=BOS,
        eos_id=EOS,
        user_defined_symbols=list(symbols),
        num_threads=2,  # fixed, so that the model does not depend on the machine
        minloglevel=2,
    )
    return model.getvalue()


@dataclass(frozen=True)
class TokenizerPair:
    """The tokenizers of both sides; the same object if the vocabulary is shared."""

    source: Tokenizer
    target: Tokenizer

    @property
    def shared(self) -> bool:
        return self.source is self.target

    def save(self, directory: str | Path) -> None:
        """Write the models and ``tokenizer.json`` into ``directory``."""
        directory = Path(directory)
        directory.mkdir(parents=True, exist_ok=True)
        sides = {"shared": self.source} if self.shared else {"source": self.source, "target": self.target}
        for name, tokenizer in sides.items():
            (directory / f"{name}.model").write_bytes(tokenizer.model)
        description = {"shared": self.shared, "tokenised": self.source.tokenised}
        (directory / "tokenizer.json").write_text(json.dumps(description, indent=2) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, directory: str | Path) -> "TokenizerPair":
        """Read the files of :meth:`save`; raises :class:`UserError` if one is missing or damaged."""
        directory = Path(directory)
        try:
            description = read_json(directory / "tokenizer.json", root=directory)
            names = ["shared"] if description["shared"] else ["source", "target"]
            files = [directory / f"{name}.model" for name in names]
            models = [read_bounded(file, root=directory, limit=MAX_MODEL_BYTES) for file in files]
            sides = [Tokenizer(model, tokenised=description["tokenised"]) for model in models]
        except FileNotFoundError as error:
            raise UserError(f"{error.filename}: no such file of a run; has it been trained?") from error
        except (OSError, ValueError, KeyError, TypeError, RuntimeError) as error:
            raise UserError(f"{directory}: not a tokenizer directory ({error})") from error
        return cls(sides[0], sides[-1])

    @classmethod
    def train(
        cls,
        source: Sequence[str],
        target: Sequence[str],
        config: TokenizerConfig,
        *,
        tokenised: bool = False,
        symbols: Sequence[str] = (),
    ) -> tuple["TokenizerPair", list[str]]:
        """Train on both sides of a corpus; returns the tokenizers and messages for the user.

        Of a large corpus, sentences are taken at equal distances. The ``symbols`` are pieces of both sides.
        """
        sides = [evenly(side, MAX_TRAINING_CHARACTERS // 2) for side in (source, target)]
        together = [itertools.chain(*sides)] if config.shared else sides
        trained = [train_tokenizer(lines, config, tokenised=tokenised, symbols=symbols) for lines in together]
        wanted = config.vocabulary_size
        messages = [
            f"vocabulary: {len(found):,} pieces; the corpus has no more of the {wanted:,}"
            for found in trained
            if len(found) != wanted
        ]
        return cls(trained[0], trained[-1]), messages
