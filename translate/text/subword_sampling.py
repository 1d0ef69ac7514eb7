"""Other pieces of the same words in each epoch: subword regularisation and BPE-dropout.

SentencePiece draws pieces, too, but even seeded it draws others in another process, so a resumed run would
not go on as it was. Here SentencePiece only says what there is to choose from.
"""

import math
import random
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, pairwise

import numpy as np
import sentencepiece

from translate.text.tokenizer import UNK, Tokenizer

SAMPLED_TYPES = ("unigram", "bpe")  # of SentencePiece models, which know more than one way to cut a word
NUM_BEST = 32  # segmentations of a sentence that a unigram model chooses from
UNKNOWN_PENALTY = 10.0  # below the least likely piece, as SentencePiece has it
SPACE = "▁"  # begins a word


def sample_corpus(
    tokenizer: Tokenizer, lines: Sequence[str], model_type: str, amount: float, seed: Sequence[int]
) -> list[list[int]]:
    """Ids of the lines of a corpus, in pieces that are drawn.

    A unigram model draws one of the best segmentations by its probability to the power of ``amount`` (Kudo
    2018, 3.2); a BPE model leaves out each merge with probability ``amount`` whenever it could be made
    (Provilkov et al. 2020, algorithm 1).

    Args:
        tokenizer: of this side.
        lines: as :meth:`Tokenizer.encode_corpus` takes them.
        model_type: of the tokenizer, one of ``SAMPLED_TYPES``.
        amount: see above; smaller is more various for unigram, larger for BPE.
        seed: the same numbers give the same pieces, in any process.
    """
    processor = sentencepiece.SentencePieceProcessor(model_proto=tokenizer.model)
    generator = random.Random(int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0]))
    make = _unigram if model_type == "unigram" else _bpe
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
        weights = list(accumulate(math.exp(each - best) for each in logs))
        return list(generator.choices(found, cum_weights=weights)[0]) if found else []

    return draw


def _bpe(
    processor: sentencepiece.SentencePieceProcessor, dropout: float, generator: random.Random
) -> Callable[[str], list[int]]:
    ids = {processor.id_to_piece(i): i for i in range(processor.get_piece_size())}
    scores = {
        piece: float(processor.get_score(i)) for piece, i in ids.items()
    }  # the earlier merge the higher

    def cut(word: str) -> list[str]:
        pieces = list(word)
        while True:
            kept = [
                (scores[merged], -place)
                for place, merged in enumerate(map("".join, pairwise(pieces)))
                if merged in scores and generator.random() >= dropout
            ]
            if not kept:
                return pieces
            place = -max(kept)[1]
            pieces[place : place + 2] = [pieces[place] + pieces[place + 1]]

    def draw(line: str) -> list[int]:
        drawn: list[int] = []
        for word in _words(processor.encode_as_pieces(line)):
            # A word with unknown characters, or bytes in their place, stays as it is.
            known = all(piece in ids and not processor.is_byte(ids[piece]) for piece in word)
            pieces = cut("".join(word)) if known else word
            drawn += [ids.get(piece, UNK) for piece in pieces]
        return drawn

    return draw


def _words(pieces: Sequence[str]) -> Iterator[list[str]]:
    """The pieces of each word; one begins with a space."""
    word: list[str] = []
    for piece in pieces:
        if piece.startswith(SPACE) and word:
            yield word
            word = []
        word.append(piece)
    if word:
        yield word
