"""Subword regularisation and BPE-dropout: other pieces for the same words in each epoch, with their words.

SentencePiece can draw pieces, too, but they differ between processes in spite of a seed, so that a resumed
run would differ. Here SentencePiece only lists the choices.
"""

import math
import random
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, pairwise

import numpy as np
import sentencepiece

from translate.text.own_tokenizers import NORMAL
from translate.text.tokenizer import SPACE, UNK, Pieces, Tokenizer, parse_model
from translate.text.words import Word, assign

SAMPLED_TYPES = ("unigram", "bpe")  # types of SentencePiece models with more than one way to cut a word
NUM_BEST = 32  # segmentations of a sentence among which a unigram model draws
UNKNOWN_PENALTY = 10.0  # below the score of the least likely piece, as in SentencePiece


def sample_corpus(
    tokenizer: Tokenizer, lines: Sequence[str], amount: float, seed: Sequence[int]
) -> list[list[int]]:
    """Ids of the lines of a corpus, in randomly drawn pieces.

    A unigram model draws one of the best segmentations by its probability to the power of ``amount`` (Kudo
    2018, 3.2). A BPE model skips each possible merge with probability ``amount`` (Provilkov et al. 2020,
    algorithm 1).

    Args:
        tokenizer: of this side, of one of ``SAMPLED_TYPES``.
        lines: as for :meth:`Tokenizer.encode_corpus`.
        amount: see above; pieces vary more with a smaller one for unigram, with a larger one for BPE.
        seed: equal numbers give equal pieces in any process.
    """
    processor = sentencepiece.SentencePieceProcessor(model_proto=tokenizer.model)
    generator = random.Random(int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0]))
    make = _unigram if tokenizer.model_type == "unigram" else _bpe
    draw = make(processor, amount, generator)
    return [draw(line) for line in lines]


def _unigram(
    processor: sentencepiece.SentencePieceProcessor, smoothing: float, generator: random.Random
) -> Callable[[str], list[int]]:
    scores = [float(processor.get_score(i)) for i in range(processor.get_piece_size())]
    scores[UNK] = min(scores) - UNKNOWN_PENALTY

    def draw(line: str) -> list[int]:
        found = processor.nbest_encode_as_ids(line, NUM_BEST)
        logs = [smoothing * sum(scores[i] for i in ids) for ids in found]
        best = max(logs, default=0.0)
        weights = list(accumulate(math.exp(log - best) for log in logs))
        return list(generator.choices(found, cum_weights=weights)[0]) if found else []

    return draw


def _bpe(
    processor: sentencepiece.SentencePieceProcessor, dropout: float, generator: random.Random
) -> Callable[[str], list[int]]:
    ids = {processor.id_to_piece(i): i for i in range(processor.get_piece_size())}
    # Earlier merges have higher scores.
    scores = {piece: float(processor.get_score(i)) for piece, i in ids.items()}
    parsed = parse_model(processor.serialized_model_proto()).pieces
    merges = {piece.piece for piece in parsed if piece.type == NORMAL}

    def cut(word: str) -> list[str]:
        pieces = list(word)
        while True:
            kept = [
                (scores[merged], -index)
                for index, merged in enumerate(map("".join, pairwise(pieces)))
                if merged in scores and generator.random() >= dropout
            ]
            if not kept:
                return pieces
            index = -max(kept)[1]
            pieces[index : index + 2] = [pieces[index] + pieces[index + 1]]

    def draw(line: str) -> list[int]:
        drawn: list[int] = []
        for word in _words(processor.encode_as_pieces(line)):
            # A word with unknown characters, with bytes instead of them, or with a tag is not cut again.
            pieces = cut("".join(word)) if merges.issuperset(word) else word
            drawn += [ids.get(piece, UNK) for piece in pieces]
        return drawn

    return draw


def _words(pieces: Sequence[str]) -> Iterator[list[str]]:
    """The pieces of each word; a word begins with a space."""
    word: list[str] = []
    for piece in pieces:
        if piece.startswith(SPACE) and word:
            yield word
            word = []
        word.append(piece)
    if word:
        yield word


def encode_spans(
    tokenizer: Tokenizer, text: str, words: list[Word], ids: Sequence[int] | None = None
) -> Pieces:
    """Pieces of a line of a corpus whose words are known already.

    Args:
        tokenizer: of this side.
        text: one sentence of a corpus.
        words: in their order, with their places in ``text``.
        ids: other pieces of the same text, such as sampled ones. Where their offsets are not known, since the
            vocabulary lacks characters of the text, the likeliest pieces are given.
    """
    chosen, offsets = tokenizer.encode_places(text)
    spelt = tokenizer.pieces
    if ids is not None and (others := offsets_of(spelt(chosen), offsets, spelt(ids))):
        chosen, offsets = list(ids), others
    owners, further = assign(offsets, words)
    return Pieces(chosen, owners, words, further)


def offsets_of(
    known: Sequence[str], offsets: Sequence[tuple[int, int]], pieces: Sequence[str]
) -> list[tuple[int, int]] | None:
    """The offsets of the pieces of one segmentation in the text, from those of another one.

    Args:
        known: pieces of the text, as SentencePiece writes them.
        offsets: their places in the text.
        pieces: other pieces of the same text.

    Returns:
        The places of ``pieces``; ``None`` if both do not spell the same, as unknown pieces do not.
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
