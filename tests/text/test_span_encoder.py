"""The places in the text of pieces that SentencePiece did not choose itself."""

import pytest

from translate.config.data import TokenizerConfig
from translate.text.subword_sampling import encode_spans, offsets_of, sample_corpus
from translate.text.tokenizer import Tokenizer, train_tokenizer
from translate.text.words import split_words

LINES = [
    f"the {a} {b} doesn't stop at the {c}, ever."
    for a in ("old", "tall", "redder", "smallest")
    for b in ("house", "gardener", "horses")
    for c in ("river", "mountain", "neighbourhood")
]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return train_tokenizer(LINES * 3, TokenizerConfig(vocabulary_size=120))


def test_places_of_other_pieces() -> None:
    known, offsets = ["▁the", "▁old", "s"], [(0, 3), (3, 7), (7, 8)]
    assert offsets_of(known, offsets, known) == offsets
    found = offsets_of(known, offsets, ["▁", "t", "he", "▁ol", "ds"])
    assert found == [(0, 0), (0, 1), (1, 3), (3, 6), (6, 8)]
    assert offsets_of(known, offsets, ["▁the", "▁new", "s"]) is None
    # "ﬁ" is normalised to two characters, whose pieces both stand on it.
    assert offsets_of(["▁ﬁ".replace("ﬁ", "fi"), "t"], [(0, 1), (1, 2)], ["▁f", "it"]) == [(0, 1), (0, 2)]


def test_sampled_pieces_spell_their_words(tokenizer: Tokenizer) -> None:
    """Without normalisation the pieces of a word, joined, are the word: an oracle that needs no offsets."""
    seen = set()
    for seed in range(6):
        for line, ids in zip(LINES, sample_corpus(tokenizer, LINES, 0.1, [seed]), strict=True):
            words = split_words(line)
            pieces = encode_spans(tokenizer, line, words, ids)
            assert pieces.ids == ids
            seen.add((line, tuple(ids)))
            texts = tokenizer.pieces(ids)
            for number, word in enumerate(words):
                own = [t for t, owner in zip(texts, pieces.piece_words, strict=True) if owner == number]
                spelt = "".join(own).replace("▁", "")
                # A piece over two words belongs to one of them, and names the other.
                shared = {word_ for _, word_ in pieces.further}
                shared |= {pieces.piece_words[piece] for piece, _ in pieces.further}
                assert spelt == word.text or number in shared, (spelt, word)
    assert len(seen) > len(LINES)


def test_the_likeliest_pieces_where_places_cannot_be_told(tokenizer: Tokenizer) -> None:
    line = "the ☃ house"
    likeliest = tokenizer.encode_words(line)
    assert encode_spans(tokenizer, line, split_words(line), [5, 6]) == likeliest
    assert encode_spans(tokenizer, line, split_words(line)) == likeliest
