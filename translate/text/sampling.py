"""Other pieces of the same words in each epoch: subword regularisation and BPE-dropout."""

import threading
from collections.abc import Sequence

import numpy as np
import sentencepiece

from translate.text.tokenizer import Tokenizer

SAMPLED_TYPES = ("unigram", "bpe")  # of SentencePiece models, which know more than one way to cut a word


def sample_corpus(
    tokenizer: Tokenizer, lines: Sequence[str], amount: float, seed: Sequence[int]
) -> list[list[int]]:
    """Ids of the lines of a corpus, in pieces that are drawn.

    A unigram model draws a segmentation by its probability to the power of ``amount`` (Kudo 2018, 3.2, over
    all segmentations); a BPE model leaves out each merge with probability ``amount`` (Provilkov et al. 2020).

    Args:
        tokenizer: of this side.
        lines: as :meth:`Tokenizer.encode_corpus` takes them.
        amount: see above; smaller is more various for unigram, larger for BPE.
        seed: the same numbers give the same pieces.
    """
    found: list[list[int]] = []

    def draw() -> None:
        processor = sentencepiece.SentencePieceProcessor(model_proto=tokenizer.model)
        for line in lines:
            found.append(list(processor.encode(line, enable_sampling=True, nbest_size=-1, alpha=amount)))

    # SentencePiece has a generator for each thread, which begins where the seed says: hence a thread.
    sentencepiece.set_random_generator_seed(int(np.random.SeedSequence(seed).generate_state(1)[0]))
    thread = threading.Thread(target=draw, name="pieces")
    thread.start()
    thread.join()
    if len(found) != len(lines):
        raise RuntimeError("SentencePiece failed to draw pieces")
    return found
