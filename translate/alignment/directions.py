"""Two models of opposite directions: chooses the attention on which they agree, and combines their links."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch

from translate.alignment.alignment import Alignment
from translate.alignment.calibrate import (
    MIN_EVIDENCE,
    THRESHOLDS,
    Calibration,
    SearchSpace,
    Trial,
    hard_links,
)
from translate.alignment.choice import AlignmentChoice
from translate.alignment.evidence import PairWords, consistency
from translate.alignment.extract import align
from translate.alignment.pairs import EncodedPair
from translate.errors import UserError
from translate.links.links import Gold, Links, score, swapped
from translate.links.symmetrise import symmetrise
from translate.models.seq2seq import Seq2Seq

MIN_CONSISTENCY = 0.5  # candidates below this share of the best consistency follow positions, not words


class Direction(NamedTuple):
    """A model, validation pairs in its direction, and the parts of its choice that are given."""

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
    """Choose one attention of each model, so that the links of the two agree best (F1).

    Two heads that follow the diagonal agree without looking at words. Candidates that are far less consistent
    than the best one are therefore left out, if there is enough text to tell. Each direction then takes the
    threshold whose links agree best with the largest weights of the other direction: thresholds on both sides
    would agree best where hardly any links are left.

    Args:
        forward: the model of this direction.
        backward: the model of the other direction; its pairs are those of `forward` with their sides swapped.
        batch_size: pairs in a batch; by default as many as a budget of tokens holds.
        device: of both models.
    Raises:
        UserError: if there are no pairs, or if the pairs of the two directions differ.
    """
    if not forward.pairs:
        raise UserError("alignment calibration: there are no sentence pairs to calibrate on")
    _check_swapped(forward.pairs, backward.pairs)
    sides = (forward, backward)
    links, words, choices, kept = zip(*(_candidates(side, batch_size, device) for side in sides))
    agreements = cross_agreement(*links, *words)  # (forward candidates, backward candidates)
    narrowed = np.where(np.outer(kept[0], kept[1]), agreements, -1.0)
    best = np.unravel_index(narrowed.argmax(), narrowed.shape)
    chosen = [choices[side][best[side]] for side in (0, 1)]
    aligned = [
        align(side.model, side.pairs, choice, batch_size=batch_size, device=device)
        for side, choice in zip(sides, chosen)
    ]
    found = []
    for side in (0, 1):
        values = agreements.max(axis=1 - side)
        table = tuple(
            Trial(choice, agreement=float(value)) for choice, value in zip(choices[side], values, strict=True)
        )
        tried = _thresholds(chosen[side], aligned[side], aligned[1 - side], sides[side].threshold)
        largest = Trial(chosen[side], agreement=float(agreements[best]))
        taken = max(tried if sides[side].threshold else (largest, *tried), key=_agreed)
        found.append(Calibration(taken.choice, "directions", None, taken.agreement, table + tried))
    return found[0], found[1]


def _thresholds(
    choice: AlignmentChoice, own: Sequence[Alignment], other: Sequence[Alignment], given: float | None
) -> tuple[Trial, ...]:
    """The agreement of each threshold's links with the largest weights of the other direction."""
    golds = [Gold(links, links) for links in (swapped(alignment.links(0)) for alignment in other)]
    return tuple(
        Trial(replace(choice, threshold=value), agreement=score([a.links(value) for a in own], golds).f1)
        for value in (THRESHOLDS if given is None else (given,))
        if value > 0
    )


def _agreed(row: Trial) -> float:
    assert row.agreement is not None
    return row.agreement


def cross_agreement(
    forward: np.ndarray, backward: np.ndarray, words: PairWords, swapped: PairWords
) -> np.ndarray:
    """F1 between the links of each forward candidate and those of each backward candidate.

    Args:
        forward: (F, N) from `hard_links`, a source word for each target word of all pairs.
        backward: (K, M) a target word for each source word.
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


def symmetrised(
    forward: Sequence[Alignment],
    backward: Sequence[Alignment],
    method: str,
    threshold: float | None = None,
) -> list[Links]:
    """Links (source, target) from both directions; `backward` aligns the pairs with their sides swapped."""
    return [
        symmetrise(there.links(threshold), swapped(back.links(threshold)), method)
        for there, back in zip(forward, backward, strict=True)
    ]


def _candidates(
    direction: Direction, batch_size: int | None, device: torch.device | str
) -> tuple[np.ndarray, PairWords, list, np.ndarray]:
    """Links, words and choices of all candidates, and True for candidates that follow words."""
    space = SearchSpace.of(direction.model, direction.layer, direction.heads, direction.shift)
    words = PairWords.of(direction.pairs)
    links = hard_links(direction.model, direction.pairs, words, space, batch_size=batch_size, device=device)
    repeated, values = consistency(links, words)
    if repeated >= MIN_EVIDENCE:
        kept = values >= MIN_CONSISTENCY * values.max()
    else:
        kept = np.ones(len(links), dtype=bool)
    return links, words, space.choices(), kept


def _check_swapped(forward: Sequence[EncodedPair], backward: Sequence[EncodedPair]) -> None:
    if len(forward) != len(backward):
        raise UserError(
            f"two directions: got {len(forward)} pairs for one and {len(backward)} for the other; "
            f"expected the same pairs"
        )
    for number, (there, back) in enumerate(zip(forward, backward), start=1):
        if there.source_words != back.target_words or there.target_words != back.source_words:
            raise UserError(f"two directions: the words of pair {number} differ; expected the same pairs")
