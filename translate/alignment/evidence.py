"""Evidence for and against candidate alignments, measured for all candidates at once.

Links are an array (candidates, all target words of all pairs) with the index of the linked source word in its
sentence, or -1.
"""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from translate.alignment.pairs import EncodedPair
from translate.errors import UserError
from translate.links.links import AlignmentScore, Gold, score_from_counts


class PairWords(NamedTuple):
    """The words of all pairs as numbers, with N target words in total."""

    pairs: Sequence[EncodedPair]
    offsets: np.ndarray  # (pairs + 1,) index of each pair's first target word
    target_types: np.ndarray  # (N,) equal numbers for equal words
    source_types: np.ndarray  # (N, widest + 1) words of each target word's source; the last column is -1

    @classmethod
    def of(cls, pairs: Sequence[EncodedPair]) -> "PairWords":
        types: dict[str, int] = {}
        offsets = np.cumsum([0, *(len(pair.target_words) for pair in pairs)])
        widest = max(len(pair.source_words) for pair in pairs)
        source_types = np.full((offsets[-1], widest + 1), -1, dtype=np.int64)
        target_types = np.empty(offsets[-1], dtype=np.int64)
        for pair, start, stop in zip(pairs, offsets[:-1], offsets[1:], strict=True):
            source = [types.setdefault(word, len(types)) for word in pair.source_words]
            source_types[start:stop, : len(source)] = source
            target_types[start:stop] = [types.setdefault(word, len(types)) for word in pair.target_words]
        return cls(pairs, offsets, target_types, source_types)


def alignment_scores(links: np.ndarray, words: PairWords, golds: Sequence[Gold]) -> list[AlignmentScore]:
    """Scores of all candidates; raises UserError if a gold link is outside its sentence."""
    sure = np.zeros(words.source_types.shape, dtype=bool)  # the last column, for no link, stays False
    possible = np.zeros_like(sure)
    for number, (pair, gold, start) in enumerate(zip(words.pairs, golds, words.offsets), start=1):
        for table, gold_links in ((sure, gold.sure), (possible, gold.possible | gold.sure)):
            for source, target in gold_links:
                if not (0 <= source < len(pair.source_words) and 0 <= target < len(pair.target_words)):
                    raise UserError(
                        f"gold links of sentence pair {number}: {source}-{target} lies outside its "
                        f"{len(pair.source_words)} source and {len(pair.target_words)} target words"
                    )
                table[start + target, source] = True
    rows = np.arange(links.shape[1])
    num_sure = int(sure.sum())
    return [
        score_from_counts(
            int((one >= 0).sum()), num_sure, int(possible[rows, one].sum()), int(sure[rows, one].sum())
        )
        for one in links
    ]


def silver_scores(links: np.ndarray, words: PairWords) -> tuple[int, np.ndarray]:
    """F1 of the candidates on silver links: words spelt alike on both sides that occur once on each.

    Pairs of first words and of last words are left out, since a diagonal gets them right too. All links that
    touch a word of a silver link enter the precision, so that a head which always looks at one word gains
    nothing.

    Returns:
        The number of silver links, and F1 (candidates,) on them.
    """
    silver_targets, silver_sources = [], []
    touched = np.zeros(words.source_types.shape, dtype=bool)
    for pair, start in zip(words.pairs, words.offsets):
        stop = start + len(pair.target_words)
        for source, target in _silver_links(pair):
            silver_targets.append(start + target)
            silver_sources.append(source)
            touched[start:stop, source] = True
            touched[start + target, :-1] = True
    rows = np.arange(links.shape[1])
    correct = (links[:, silver_targets] == np.array(silver_sources, dtype=np.int64)).sum(axis=1)
    predicted = np.array([touched[rows, one].sum() for one in links])
    return len(silver_targets), 2 * correct / np.maximum(predicted + len(silver_targets), 1)


def _silver_links(pair: EncodedPair) -> list[tuple[int, int]]:
    source_counts, target_counts = Counter(pair.source_words), Counter(pair.target_words)
    last = (len(pair.source_words) - 1, len(pair.target_words) - 1)
    positions = {word: index for index, word in enumerate(pair.source_words)}
    links = [
        (positions[word], target)
        for target, word in enumerate(pair.target_words)
        if source_counts[word] == target_counts[word] == 1
    ]
    return [link for link in links if link not in ((0, 0), last)]


def consistency(links: np.ndarray, words: PairWords) -> tuple[int, np.ndarray]:
    """The consistency with which candidates link the occurrences of a target word to the same source word.

    For a target word t with n_t links, c_ts of them to source word s, the probability that two of its links
    agree is p_t = sum_s c_ts (c_ts - 1) / (n_t (n_t - 1)). With P the mean of p_t over links and E the same
    probability for any two links, the value is (P - E) / (1 - E), corrected for chance like kappa, times the
    share of target words with a link. This measure is our own.

    Returns:
        The largest number of links of repeated words that any candidate has, and the values (candidates,).
    """
    rows = np.arange(links.shape[1])
    most, values = 0, np.zeros(len(links))
    for number, one in enumerate(links):
        linked = one >= 0
        targets, sources = words.target_types[linked], words.source_types[rows, one][linked]
        if len(targets) < 2:
            continue
        _, source_counts = np.unique(sources, return_counts=True)
        expected = _pairs(source_counts).sum() / _pairs(np.array(len(sources)))
        num_types = int(words.source_types.max()) + 1
        cells, cell_counts = np.unique(targets * num_types + sources, return_counts=True)
        cell_targets = cells // num_types
        num_links = np.bincount(cell_targets, weights=cell_counts)
        num_agreeing = np.bincount(cell_targets, weights=_pairs(cell_counts))
        repeated = num_links >= 2
        most = max(most, int(num_links[repeated].sum()))
        if not repeated.any() or expected == 1:
            continue
        observed = (num_agreeing[repeated] / (num_links[repeated] - 1)).sum() / num_links[repeated].sum()
        values[number] = (observed - expected) / (1 - expected) * linked.mean()
    return most, values


def _pairs(counts: np.ndarray) -> np.ndarray:
    return counts * (counts - 1.0)


def cross_agreement(
    forward: np.ndarray, backward: np.ndarray, words: PairWords, swapped: PairWords
) -> np.ndarray:
    """F1 between the links of each forward candidate and those of each backward candidate.

    Args:
        forward: (F, N) from `hard_links`, a source word for every target word of all pairs.
        backward: (K, M) a target word for every source word.
        words: of the pairs.
        swapped: of the pairs with their sides swapped.
    Returns:
        (F, K), from 0 to 1.
    """
    lengths = np.diff(words.offsets)  # target words
    number = np.repeat(np.arange(len(lengths)), lengths)  # (N,) the pair of each target word
    positions = np.arange(forward.shape[1]) - words.offsets[number]  # in its sentence
    totals = (forward >= 0).sum(1)[:, None] + (backward >= 0).sum(1)[None, :]
    matches = np.zeros((len(forward), len(backward)))
    for row, links in enumerate(forward):
        linked = links >= 0
        sources = swapped.offsets[number[linked]] + links[linked]
        matches[row] = (backward[:, sources] == positions[linked]).sum(1)
    return 2 * matches / np.maximum(totals, 1)
