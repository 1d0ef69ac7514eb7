"""Links that judge candidate alignments, and the scores of all candidates at once.

Links are an array (candidates, all target words of all pairs) with the index of the linked source word in its
sentence, or -1.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from translate.alignment.pairs import EncodedPair
from translate.alignment.regions import check_gold_links
from translate.links.fixed_aligner import first_pairs
from translate.links.links import AlignmentScore, Gold, score_from_counts
from translate.links.statistical import estimate_links

MOST_LINKS = 2_000_000  # possible links, as 13,000 captions or 2,000 pairs of 30 words a side have


class PairWords(NamedTuple):
    """Pairs, and the positions of their target words among those of all pairs."""

    pairs: Sequence[EncodedPair]
    offsets: np.ndarray  # (pairs + 1,) index of each pair's first target word; the last is their number

    @classmethod
    def of(cls, pairs: Sequence[EncodedPair]) -> "PairWords":
        return cls(pairs, np.cumsum([0, *(len(pair.target_words) for pair in pairs)]))


def estimated_golds(pairs: Sequence[EncodedPair]) -> list[Gold]:
    """The links that the statistical aligner finds in the pairs, as if they were gold.

    Only as many of the first pairs have some as the aligner can read in a few seconds; pairs with pictures
    have none, for patches have the same names in each.
    """
    if any(pair.picture is not None for pair in pairs):
        return []
    words = ((_folded(pair.source_words), _folded(pair.target_words)) for pair in pairs)
    return [Gold(links, links) for links in estimate_links(*first_pairs(words, MOST_LINKS))]


def _folded(words: Sequence[str]) -> list[str]:
    return [word.casefold() for word in words]


def alignment_scores(links: np.ndarray, words: PairWords, golds: Sequence[Gold]) -> list[AlignmentScore]:
    """Scores of all candidates on the first pairs, which have golds.

    Raises:
        UserError: if a gold link is outside its sentence.
    """
    links = links[:, : words.offsets[len(golds)]]
    widest = max((len(pair.source_words) for pair in words.pairs), default=0)
    sure = np.zeros((links.shape[1], widest + 1), dtype=bool)  # the last column, for no link, stays False
    possible = np.zeros_like(sure)
    for number, (pair, gold, start) in enumerate(zip(words.pairs, golds, words.offsets), start=1):
        check_gold_links(pair, gold, f"pair {number}")
        for table, gold_links in ((sure, gold.sure), (possible, gold.possible)):
            for source, target in gold_links:
                table[start + target, source] = True
    rows = np.arange(links.shape[1])
    num_sure = int(sure.sum())
    return [
        score_from_counts(
            int((one >= 0).sum()), num_sure, int(possible[rows, one].sum()), int(sure[rows, one].sum())
        )
        for one in links
    ]
