"""Chooses the layer, heads and shift that show the alignment, by trying all of them.

With gold links the alignment error rate decides. With a model of the other direction the agreement of the
two decides (`directions.py`). Otherwise three kinds of evidence narrow the candidates down one after another,
as far as there is enough of each:

1. silver links: words spelt alike on both sides (names, numbers) should be linked
2. consistency: a target word should be linked to the same source word wherever it occurs
3. agreement with the candidates of other layers

Candidates are compared with one link for each target word. If there is gold, it then also chooses the
threshold of the best one, since a word may have several links ("policier", "police officer") or none.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import torch

from translate.alignment.choice import AlignmentChoice
from translate.alignment.evidence import PairWords, agreement, alignment_scores, consistency, silver_scores
from translate.alignment.extract import align, shift_rows
from translate.alignment.pairs import (
    MAX_CELLS,
    EncodedPair,
    check_lengths,
    evaluation_mode,
    pair_batches,
)
from translate.alignment.pool import pool_source, pool_target, renormalise
from translate.errors import UserError
from translate.links.error_rate import AlignmentScore, score
from translate.links.links import Gold
from translate.models.seq2seq import Seq2Seq

MIN_EVIDENCE = 50  # fewer silver links, or links of repeated words, decide nothing
THRESHOLDS = (0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5)  # 0, the largest weight, is tried too
TIE = 0.01  # a smaller difference in consistency or agreement decides nothing


@dataclass(frozen=True)
class Trial:
    """One row of the calibration table; fractions from 0 to 1, None where not measured."""

    choice: AlignmentChoice
    score: AlignmentScore | None = None
    silver: float | None = None
    consistency: float | None = None
    agreement: float | None = None

    @property
    def aer(self) -> float | None:
        return None if self.score is None else self.score.aer

    def to_dict(self) -> dict[str, Any]:
        """The choice and its measures, for JSON."""
        others = ("silver", "consistency", "agreement")
        measured = {} if self.score is None else self.score._asdict()
        measured |= {name: getattr(self, name) for name in others if getattr(self, name) is not None}
        return self.choice.to_dict() | {name: round(value, 6) for name, value in measured.items()}


@dataclass(frozen=True)
class Calibration:
    """The choice, and its reasons."""

    choice: AlignmentChoice
    criterion: str  # "aer", "directions", "silver", "consistency", "agreement", or "default" (no evidence)
    aer: float | None
    agreement: float | None
    table: tuple[Trial, ...]

    def to_dict(self) -> dict[str, Any]:
        """The calibration as a run stores it, without the name of the split."""
        return {
            "choice": self.choice.to_dict(),
            "criterion": self.criterion,
            "validation_aer": self.aer,
            "agreement": self.agreement,
            "table": [row.to_dict() for row in self.table],
        }


def calibrate(
    model: Seq2Seq,
    pairs: Sequence[EncodedPair],
    golds: Sequence[Gold] | None = None,
    *,
    layer: int | None = None,
    heads: Sequence[int] | None = None,
    shift: int | None = None,
    threshold: float | None = None,
    batch_size: int | None = None,
    device: torch.device | str = "cpu",
) -> Calibration:
    """Try every layer, each head and the mean of all heads, with both shifts; with gold, `THRESHOLDS` too.

    Args:
        pairs: validation pairs; 500 to 1000 are plenty.
        golds: their gold links, if known.
        layer, heads, shift, threshold: fixed if given, searched if None.
    Raises:
        UserError: if there are no pairs, the golds do not fit them, or the model has no such layer or head.
    """
    if not pairs:
        raise UserError("alignment calibration: there are no sentence pairs to calibrate on")
    if golds is not None and len(golds) != len(pairs):
        raise UserError(
            f"alignment calibration: {len(golds)} lines of gold links for {len(pairs)} sentence pairs"
        )
    space = SearchSpace.of(model, layer, heads, shift)
    choices, words = space.choices(), PairWords.of(pairs)
    links = hard_links(model, pairs, words, space, batch_size=batch_size, device=device)
    if golds is not None:
        scores = alignment_scores(links, words, golds)
        table = tuple(Trial(*row) for row in zip(choices, scores, strict=True))
        best = min(table, key=lambda row: (_error(row), *_preference(row)))
        aligned = align(model, pairs, best.choice, batch_size=batch_size, device=device)
        tried = tuple(
            Trial(replace(best.choice, threshold=value), score([a.links(value) for a in aligned], golds))
            for value in (THRESHOLDS if threshold is None else (threshold,))
            if value > 0
        )
        # min takes the first of equals, which is the largest weight unless a threshold is given.
        best = min(tried if threshold else (best, *tried), key=_error)
        return Calibration(best.choice, "aer", best.aer, None, table + tried)
    found = _choose_without_gold(links, words, choices)
    return replace(found, choice=replace(found.choice, threshold=threshold or 0.0))


def _error(row: Trial) -> float:
    assert row.score is not None
    return row.score.aer


def _choose_without_gold(links: np.ndarray, words: PairWords, choices: list[AlignmentChoice]) -> Calibration:
    num_silver, silver = silver_scores(links, words)
    num_repeated, consistencies = consistency(links, words)
    agreements = agreement(links, [choice.layer for choice in choices])
    table = tuple(
        Trial(choice, None, *(float(value) for value in values))
        for choice, *values in zip(choices, silver, consistencies, agreements, strict=True)
    )
    if num_silver < MIN_EVIDENCE:
        table = tuple(replace(row, silver=None) for row in table)
    if num_repeated < MIN_EVIDENCE:
        table = tuple(replace(row, consistency=None) for row in table)
    # A proportion measured on n links has a standard error of at most 0.5 / sqrt(n).
    tolerances = {"silver": 0.5 / math.sqrt(max(num_silver, 1)), "consistency": TIE, "agreement": TIE}
    remaining, criterion = list(table), "default"
    for name, tolerance in tolerances.items():
        values = {row.choice: getattr(row, name) for row in remaining if getattr(row, name) is not None}
        if not values:
            continue
        best = max(values.values())
        narrowed = [row for row in remaining if values[row.choice] >= best - tolerance]
        if criterion == "default" and len(narrowed) < len(remaining):
            criterion = name
        remaining = narrowed
    chosen = min(remaining, key=_preference)
    return Calibration(chosen.choice, criterion, None, chosen.agreement, table)


def _preference(row: Trial) -> tuple[int, int, int]:
    """Prefers, among equals, no shift, then more heads, then lower layers."""
    return row.choice.shift, -len(row.choice.heads), row.choice.layer


class SearchSpace(NamedTuple):
    """The choices to try: every combination of layers, shifts and groups of heads."""

    layers: list[int]
    shifts: list[int]
    groups: list[tuple[int, ...]]  # of heads

    @classmethod
    def of(
        cls, model: Seq2Seq, layer: int | None, heads: Sequence[int] | None, shift: int | None
    ) -> "SearchSpace":
        every_head = tuple(range(model.num_attention_heads))
        groups: list[tuple[int, ...]] = [(head,) for head in every_head]
        if len(every_head) > 1:
            groups.append(every_head)
        return cls(
            list(range(model.num_attention_layers)) if layer is None else [layer],
            [0, 1] if shift is None else [shift],
            groups if heads is None else [tuple(heads)],
        )

    def choices(self) -> list[AlignmentChoice]:
        return [
            AlignmentChoice(layer, group, shift)
            for layer in self.layers
            for shift in self.shifts
            for group in self.groups
        ]


def hard_links(
    model: Seq2Seq,
    pairs: Sequence[EncodedPair],
    words: PairWords,
    space: SearchSpace,
    *,
    batch_size: int | None = None,
    device: torch.device | str = "cpu",
) -> np.ndarray:
    """Index of each target word's linked source word, -1 for none: (choices, all target words).

    Raises:
        UserError: if the model has no such layer or head, or a pair is too long for it.
    """
    for choice in space.choices():
        choice.check(model)
    check_lengths(model, pairs)
    layers, shifts, groups = space
    links = np.full((len(space.choices()), len(words.target_types)), -1, dtype=np.int64)
    mean = torch.zeros(len(groups), model.num_attention_heads, device=device)  # (groups, H)
    for number, group in enumerate(groups):
        mean[number, list(group)] = 1 / len(group)
    with evaluation_mode(model):
        for batch in pair_batches(pairs, batch_size, device, max_cells=max(1, MAX_CELLS // len(layers))):
            if batch.source_words.shape[-1] == 0 or batch.target_words.shape[-1] == 0:
                continue
            candidates = []
            for weights in model.forced_weights(batch.source, batch.source_mask, batch.target_in, layers):
                heads = pool_source(weights, batch.source_words)
                means = renormalise(torch.einsum("gh,bhts->bgts", mean, heads))
                for shift in shifts:
                    rows = pool_target(shift_rows(means, shift), batch.target_words)
                    largest = rows.max(dim=-1)  # (B, groups, target words)
                    candidates.append(largest.indices.where(largest.values > 0, -1))
            batch_links = torch.cat(candidates, dim=1).cpu().numpy()
            for row, index in enumerate(batch.indices):
                start, stop = words.offsets[index], words.offsets[index + 1]
                links[:, start:stop] = batch_links[row, :, : stop - start]
    return links
