"""Where the attention should be in training: word links spread over the pieces of the words."""

from collections.abc import Sequence

from translate.aligner.links import Links
from translate.corpora.batching import PLACE_BITS
from translate.text.tokenizer import NO_WORD, Pieces


def piece_links(source: Pieces, target: Pieces, links: Links) -> list[int]:
    """Places of pieces whose words are linked, packed as ``target << PLACE_BITS | source``.

    A row of the guide is uniform over the pieces of all source words that the target word is linked to;
    Garg et al. 2019, 4.2, spread word links in this way.
    """
    by_target: dict[int, set[int]] = {}
    for source_word, target_word in links:
        by_target.setdefault(target_word, set()).add(source_word)
    source_pieces, packed = _pieces_of(source), set()
    for target_word, target_pieces in _pieces_of(target).items():
        for source_word in by_target.get(target_word, ()):
            places = source_pieces.get(source_word, ())
            packed |= {t << PLACE_BITS | s for t in target_pieces for s in places}
    return sorted(packed)


def _pieces_of(pieces: Pieces) -> dict[int, list[int]]:
    """The pieces of each word; where characters are words, a piece may belong to several."""
    found: dict[int, list[int]] = {}
    for piece, word in (*enumerate(pieces.piece_words), *pieces.further):
        if word != NO_WORD:
            found.setdefault(word, []).append(piece)
    return found


def words_of(pieces: Sequence[Pieces]) -> list[list[str]]:
    """The words of sentences, as the statistical aligner counts them."""
    return [[word.text for word in each.words] for each in pieces]
