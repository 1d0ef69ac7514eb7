"""Alignments with a picture: the region that each target word looked at, and how well it fits the gold.

The first source words of such an alignment are the patches of the picture, row by row.

Shapes: T target words, R rows and C columns of patches.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from translate.alignment.alignment import Alignment
from translate.alignment.pairs import EncodedPair
from translate.errors import UserError
from translate.links.links import Gold, score

SHARE = 0.5  # of the greatest weight of a word: patches from there on are its region


def num_patches(alignment: Alignment | EncodedPair) -> int:
    """The number of source words that are patches."""
    return 0 if alignment.picture is None else len(alignment.picture)


def regions(alignment: Alignment) -> np.ndarray:
    """Weights of the patches, (T, R, C) float32; each word's sum to 1, or are zero."""
    picture = alignment.picture
    if picture is None:
        raise ValueError("the alignment has no picture")
    weights = alignment.weights[:, : len(picture)]
    return _shares(weights).reshape(len(weights), picture.rows, picture.columns)


def words_alone(alignment: Alignment) -> Alignment:
    """The alignment of the sentence beside the picture, with rows that sum to 1, or are zero."""
    count = num_patches(alignment)
    if not count:
        return alignment
    return replace(
        alignment,
        source_words=alignment.source_words[count:],
        weights=_shares(alignment.weights[:, count:]),
        source_offsets=alignment.source_offsets[count:],
        picture=None,
    )


def region_scores(alignments: Sequence[Alignment], golds: Sequence[Gold]) -> dict[str, float]:
    """Scores of the looks of target words at the regions that they name by a sure link to a patch.

    Returns:
        Fractions from 0 to 1: ``pointing``, the share of words whose greatest weight lies on a patch of the
        gold region; ``iou``, the mean over words of intersection over union of the gold region and the
        patches with at least half of the greatest weight. ``pointed_words`` is the number of words. Nothing
        if no pair has such a word.

    Raises:
        UserError: for a gold link outside the words of its pair.
    """
    hits, overlaps = [], []
    for number, (alignment, gold) in enumerate(zip(alignments, golds, strict=True), 1):
        check_gold_links(alignment, gold, f"pair {number}")
        count = num_patches(alignment)
        named = {target for source, target in gold.sure if source < count}
        for target in sorted(named):
            wanted = np.zeros(count, bool)
            wanted[[source for source, other in gold.possible if other == target and source < count]] = True
            weights = alignment.weights[target, :count]
            hits.append(bool(weights.any() and wanted[weights.argmax()]))
            found = (weights > 0) & (weights >= SHARE * weights.max())
            overlaps.append((found & wanted).sum() / (found | wanted).sum())
    if not hits:
        return {}
    return {"pointing": float(np.mean(hits)), "iou": float(np.mean(overlaps)), "pointed_words": len(hits)}


def alignment_scores(alignments: Sequence[Alignment], golds: Sequence[Gold]) -> dict[str, float]:
    """AER and its parts for links between words; pointing and IoU for links between patches and words."""
    found = region_scores(alignments, golds)
    if not found or any(len(own.source_words) > num_patches(own) for own in alignments):
        links = score(
            [words_alone(alignment).links() for alignment in alignments],
            [_between_words(gold, num_patches(own)) for own, gold in zip(alignments, golds, strict=True)],
        )
        found |= links._asdict()
    return found


def check_gold_links(alignment: Alignment | EncodedPair, gold: Gold, where: str) -> None:
    """Raise :class:`UserError` for a gold link outside the words of the pair."""
    sides = len(alignment.source_words), len(alignment.target_words)
    for link in gold.possible:
        if link[0] >= sides[0] or link[1] >= sides[1]:
            raise UserError(
                f"{where}: the gold link {link[0]}-{link[1]} lies outside its {sides[0]} source words "
                f"({num_patches(alignment)} of them patches) and {sides[1]} target words"
            )


def _between_words(gold: Gold, count: int) -> Gold:
    """The links of the words that follow ``count`` patches."""
    if not count:
        return gold
    sure, possible = (
        frozenset((source - count, target) for source, target in links if source >= count) for links in gold
    )
    return Gold(sure, possible)


def _shares(weights: np.ndarray) -> np.ndarray:
    total = weights.sum(1, keepdims=True)
    return np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)
