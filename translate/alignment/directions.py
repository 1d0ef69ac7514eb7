"""Two models that translate in opposite directions: which of their attention agrees, and what they link."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch

from translate.aligner.error_rate import score
from translate.aligner.links import Gold, Links, swapped
from translate.aligner.symmetrise import symmetrise
from translate.alignment.alignment import Alignment
from translate.alignment.calibrate import (
    MIN_EVIDENCE,
    THRESHOLDS,
    Calibration,
    Candidate,
    Space,
    hard_links,
)
from translate.alignment.choice import AlignmentChoice
from translate.alignment.evidence import Words, consistency
from translate.alignment.extract import align
from translate.alignment.forced import EncodedPair
from translate.errors import UserError
from translate.models.seq2seq import Seq2Seq

HABIT = 0.5  # a candidate less consistent than this share of the best one follows places, not words


class Direction(NamedTuple):
    """A model, development pairs in its direction, and what is searched of it."""

    model: Seq2Seq
    pairs: Sequence[EncodedPair]
    layer: int | None = None
    heads: Sequence[int] | None = None
    shift: int | None = None
    threshold: float | None = None


def calibrate_directions(
    forward: Direction,
    backward: Direction,
    *,
    batch_size: int | None = None,
    device: torch.device | str = "cpu",
) -> tuple[Calibration, Calibration]:
    """The pair of choices, one for each model, whose links agree best (F1), and how well.

    Two heads that both follow the diagonal would agree without any regard to words, so candidates whose links
    are far less consistent than the best one's are left out, where there is enough text to tell. Of each
    direction, the threshold is taken whose links agree best with the largest weights of the other: thresholds
    on both sides would agree best where hardly any links are left.

    Args:
        forward: the model whose source is the source.
        backward: the model of the other direction; its pairs are those of `forward` with their sides swapped.
        batch_size: pairs in a batch; by default as many as a budget of tokens holds.
        device: of both models.
    Raises:
        UserError: if there are no pairs, or not the same on both sides.
    """
    if not forward.pairs:
        raise UserError("alignment calibration: there are no sentence pairs to calibrate on")
    _check_swapped(forward.pairs, backward.pairs)
    links, words, choices, kept = zip(
        *(_candidates(each, batch_size, device) for each in (forward, backward))
    )
    agreements = cross_agreement(*links, *words)  # (forward candidates, backward candidates)
    narrowed = np.where(np.outer(kept[0], kept[1]), agreements, -1.0)
    best = np.unravel_index(narrowed.argmax(), narrowed.shape)
    sides = (forward, backward)
    chosen = [choices[side][best[side]] for side in (0, 1)]
    aligned = [
        align(each.model, each.pairs, choice, batch_size=batch_size, device=device)
        for each, choice in zip(sides, chosen)
    ]
    found = []
    for side in (0, 1):
        values = agreements.max(axis=1 - side)
        table = tuple(
            Candidate(choice, agreement=float(value))
            for choice, value in zip(choices[side], values, strict=True)
        )
        tried = _thresholds(chosen[side], aligned[side], aligned[1 - side], sides[side].threshold)
        largest = Candidate(chosen[side], agreement=float(agreements[best]))
        taken = max(tried if sides[side].threshold else (largest, *tried), key=_agreed)
        found.append(Calibration(taken.choice, "directions", None, taken.agreement, table + tried))
    return found[0], found[1]


def _thresholds(
    choice: AlignmentChoice, own: Sequence[Alignment], other: Sequence[Alignment], given: float | None
) -> tuple[Candidate, ...]:
    """How well the links from each threshold on agree with the largest weights of the other direction."""
    golds = [Gold(links, links) for links in (swapped(each.links(0)) for each in other)]
    return tuple(
        Candidate(replace(choice, threshold=value), agreement=score([a.links(value) for a in own], golds).f1)
        for value in (THRESHOLDS if given is None else (given,))
        if value > 0
    )


def _agreed(row: Candidate) -> float:
    assert row.agreement is not None
    return row.agreement


def cross_agreement(forward: np.ndarray, backward: np.ndarray, words: Words, swapped: Words) -> np.ndarray:
    """F1 of the links of each forward candidate with those of each backward one.

    Args:
        forward: (F, N) of `hard_links`, a source word for each target word of all pairs.
        backward: (K, M) a target word for each source word.
        words: of the pairs.
        swapped: of the pairs with their sides swapped.
    Returns:
        (F, K), from 0 to 1.
    """
    lengths = np.diff(words.offsets)  # target words
    number = np.repeat(np.arange(len(lengths)), lengths)  # (N,) the pair of each target word
    places = np.arange(forward.shape[1]) - words.offsets[number]  # in its sentence
    totals = (forward >= 0).sum(1)[:, None] + (backward >= 0).sum(1)[None, :]
    matches = np.zeros((len(forward), len(backward)))
    for row, links in enumerate(forward):
        linked = links >= 0
        sources = swapped.offsets[number[linked]] + links[linked]
        matches[row] = (backward[:, sources] == places[linked]).sum(1)
    return 2 * matches / np.maximum(totals, 1)


def symmetrised(
    forward: Sequence[Alignment],
    backward: Sequence[Alignment],
    method: str,
    threshold: float | None = None,
) -> list[Links]:
    """Links (source, target) of both directions made one; `backward` is of the pairs with sides swapped."""
    return [
        symmetrise(there.links(threshold), swapped(back.links(threshold)), method)
        for there, back in zip(forward, backward, strict=True)
    ]


def _candidates(
    direction: Direction, batch_size: int | None, device: torch.device | str
) -> tuple[np.ndarray, Words, list, np.ndarray]:
    """Links, words, choices, and which candidates follow words."""
    space = Space.of(direction.model, direction.layer, direction.heads, direction.shift)
    words = Words.of(direction.pairs)
    links = hard_links(direction.model, direction.pairs, words, space, batch_size=batch_size, device=device)
    repeated, values = consistency(links, words)
    kept = values >= HABIT * values.max() if repeated >= MIN_EVIDENCE else np.ones(len(links), dtype=bool)
    return links, words, space.choices(), kept


def _check_swapped(forward: Sequence[EncodedPair], backward: Sequence[EncodedPair]) -> None:
    if len(forward) != len(backward):
        raise UserError(f"two directions: {len(forward)} pairs of one, but {len(backward)} of the other")
    for number, (there, back) in enumerate(zip(forward, backward), start=1):
        if there.source_words != back.target_words or there.target_words != back.source_words:
            raise UserError(f"two directions: pair {number} has other words in one than in the other")
