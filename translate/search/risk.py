"""The translation that agrees best with all others: minimum Bayes risk (Kumar and Byrne 2004) with chrF.

Samples approximate the model's distribution; a sample's score is its mean chrF against all of them (Eikema
and Aziz 2020).
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np

ORDERS = 6  # characters of the longest n-grams
RECALL_WEIGHT = 2.0  # beta of chrF2


def expected_chrf(texts: Sequence[str]) -> np.ndarray:
    """The mean chrF2 (0 to 100) of each text against all of them, itself included: (number of texts,).

    Computed as sacrebleu does for a sentence: Popovic 2015, without white space and without the orders that
    a text is too short for.
    """
    unique = list(dict.fromkeys(texts))
    counts = Counter(texts)
    share = np.array([counts[text] for text in unique]) / len(texts)
    scores = dict(zip(unique, _chrf(unique) @ share, strict=True))
    return np.array([scores[text] for text in texts])


def _chrf(texts: Sequence[str]) -> np.ndarray:
    """chrF2 of each text (row) against each as its reference (column)."""
    size = len(texts)
    precision, recall, orders = np.zeros((size, size)), np.zeros((size, size)), np.zeros((size, size))
    squeezed = ["".join(text.split()) for text in texts]
    for order in range(1, ORDERS + 1):
        counts = _counts(squeezed, order)  # (texts, n-grams)
        totals = counts.sum(1)
        matches = np.stack([np.minimum(row, counts).sum(1) for row in counts])
        both = (totals[:, None] > 0) & (totals[None, :] > 0)
        floor = np.maximum(totals, 1)
        precision += both * matches / floor[:, None]
        recall += both * matches / floor[None, :]
        orders += both
    orders = np.maximum(orders, 1)
    precision, recall, factor = precision / orders, recall / orders, RECALL_WEIGHT**2
    below = factor * precision + recall
    score = (1 + factor) * precision * recall / np.where(below > 0, below, 1.0)
    return 100 * np.asarray(score)


def _counts(texts: Sequence[str], order: int) -> np.ndarray:
    columns: dict[str, int] = {}
    cells: list[tuple[int, int]] = []
    for row, text in enumerate(texts):
        for start in range(len(text) - order + 1):
            gram = text[start : start + order]
            cells.append((row, columns.setdefault(gram, len(columns))))
    counts = np.zeros((len(texts), len(columns)), dtype=np.int32)
    if cells:
        rows, found = np.array(cells).T
        np.add.at(counts, (rows, found), 1)
    return counts
