"""Alignment error rate, precision and recall against gold links."""

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from translate.links.links import Gold, Link


class AlignmentScore(NamedTuple):
    """Scores of a corpus, fractions from 0 to 1."""

    aer: float
    precision: float
    recall: float
    f1: float


def score(hypotheses: Iterable[AbstractSet[Link]], golds: Iterable[Gold]) -> AlignmentScore:
    """Score hard links against gold links, with counts summed over all sentences.

    Raises:
        ValueError: if the numbers of hypotheses and golds differ.
    """
    num_links = num_sure = num_links_possible = num_links_sure = 0
    for links, gold in zip(hypotheses, golds, strict=True):
        num_links += len(links)
        num_sure += len(gold.sure)
        num_links_possible += len(links & (gold.possible | gold.sure))
        num_links_sure += len(links & gold.sure)
    return score_from_counts(num_links, num_sure, num_links_possible, num_links_sure)


def score_from_counts(
    num_links: int, num_sure: int, num_links_possible: int, num_links_sure: int
) -> AlignmentScore:
    """Scores of hard links A against sure links S and possible links P: Och and Ney 2003.

    AER = 1 - (|A and P| + |A and S|) / (|A| + |S|), precision = |A and P| / |A|, recall = |A and S| / |S|.
    Precision is 1 if there is no link, recall is 1 if there is no sure link.
    """
    precision = num_links_possible / num_links if num_links else 1.0
    recall = num_links_sure / num_sure if num_sure else 1.0
    total = num_links + num_sure
    aer = 1.0 - (num_links_possible + num_links_sure) / total if total else 0.0
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return AlignmentScore(aer, precision, recall, f1)
