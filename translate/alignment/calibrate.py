"""Chooses the layer, heads and shift that show the alignment, by trying all of them.

With gold links the alignment error rate decides. Otherwise links that the statistical aligner estimates in
the same pairs take the place of gold.

Candidates are compared with one link for every target word. The threshold of the best one is chosen then,
since a word may have several links ("policier", "police officer") or none.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import torch

from translate.alignment.alignment import AlignmentChoice
from translate.alignment.methods import align, shift_rows
from translate.alignment.pairs import (
    MAX_CELLS,
    EncodedPair,
    check_lengths,
    pair_batches,
    pool_source,
    pool_target,
    renormalise,
)
from translate.alignment.regions import check_gold_links
from translate.config.settings import AlignmentConfig
from translate.errors import UserError
from translate.links.fixed_aligner import first_pairs
from translate.links.links import AlignmentScore, Gold, Links, score
from translate.links.statistical import estimate_links
from translate.models.seq2seq import Seq2Seq, evaluation_mode

MOST_LINKS = 2_000_000  # possible links, as 13,000 captions or 2,000 pairs of 30 words a side have
MIN_LINKS = 100  # fewer estimated links decide nothing; some 15 pairs have as many
ANY = AlignmentConfig()
THRESHOLDS = (0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5)  # 0, the largest weight, is tried too


@dataclass(frozen=True)
class Trial:
    """One row of the calibration table; fractions from 0 to 1, None where not measured."""

    choice: AlignmentChoice
    score: AlignmentScore | None = None  # beside gold links
    agreement: float | None = None  # F1 beside other links

    @property
    def aer(self) -> float | None:
        return None if self.score is None else self.score.aer

    @property
    def error(self) -> float:
        """AER beside gold links, or else 1 - F1; the choice makes it small."""
        return self.score.aer if self.score is not None else 1 - (self.agreement or 0.0)

    def to_dict(self) -> dict[str, Any]:
        """The choice and its measures, for JSON."""
        measured = {} if self.score is None else self.score._asdict()
        if self.agreement is not None:
            measured["agreement"] = self.agreement
        return self.choice.to_dict() | {name: round(value, 6) for name, value in measured.items()}


@dataclass(frozen=True)
class Calibration:
    """The choice, and its reasons."""

    choice: AlignmentChoice
    criterion: str  # "aer", "aligner", or "default" (too few estimated links)
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
    wanted: AlignmentConfig = ANY,
    batch_size: int | None = None,
) -> Calibration:
    """Try every layer, each head and the mean of all heads, with both shifts; then `THRESHOLDS`.

    Args:
        model: whose attention is chosen.
        pairs: 500 to 1000 are plenty.
        golds: gold links of the pairs, if known, or else those of `estimated_golds` are taken for them.
        wanted: what it gives is not searched.
        batch_size: pairs in a batch; by default as many as a budget of tokens holds.
    Raises:
        UserError: if there are no pairs, the golds do not fit them, or the model has no such layer or head.
    """
    if not pairs:
        raise UserError("alignment calibration: there are no sentence pairs to calibrate on")
    if golds is not None and len(golds) != len(pairs):
        raise UserError(f"calibration: {len(golds)} lines of gold links for {len(pairs)} sentence pairs")
    space, threshold, known = SearchSpace.of(model, wanted), wanted.threshold, golds is not None
    if golds is None:
        golds = estimated_golds(pairs)
        if sum(len(gold.sure) for gold in golds) < MIN_LINKS:
            choice = space.default(threshold or 0.0)
            choice.check(model)
            return Calibration(choice, "default", None, None, ())
        pairs = pairs[: len(golds)]
    for number, (pair, gold) in enumerate(zip(pairs, golds, strict=True), start=1):
        check_gold_links(pair, gold, f"pair {number}")

    def trial(choice: AlignmentChoice, found: AlignmentScore) -> Trial:
        return Trial(choice, found) if known else Trial(choice, agreement=found.f1)

    linked = zip(space.choices(), hard_links(model, pairs, space, batch_size=batch_size), strict=True)
    table = tuple(trial(choice, score(links, golds)) for choice, links in linked)
    # Among equals: no shift, then more heads, then lower layers.
    best = min(table, key=lambda row: (row.error, row.choice.shift, -len(row.choice.heads), row.choice.layer))
    aligned = align(model, pairs, best.choice, batch_size=batch_size)
    tried = tuple(
        trial(replace(best.choice, threshold=value), score([found.links(value) for found in aligned], golds))
        for value in (THRESHOLDS if threshold is None else (threshold,))
        if value > 0
    )
    # min takes the first of equals, which is the largest weight unless a threshold is given.
    best = min(tried if threshold else (best, *tried), key=lambda row: row.error)
    return Calibration(best.choice, "aer" if known else "aligner", best.aer, best.agreement, table + tried)


class SearchSpace(NamedTuple):
    """The choices to try: every combination of layers, shifts and groups of heads."""

    layers: list[int]
    shifts: list[int]
    groups: list[tuple[int, ...]]  # of heads

    @classmethod
    def of(cls, model: Seq2Seq, wanted: AlignmentConfig) -> "SearchSpace":
        every_head = tuple(range(model.num_attention_heads))
        groups: list[tuple[int, ...]] = [(head,) for head in every_head]
        if len(every_head) > 1:
            groups.append(every_head)
        return cls(
            list(range(model.num_attention_layers)) if wanted.layer is None else [wanted.layer],
            [0, 1] if wanted.shift is None else [wanted.shift],
            groups if wanted.heads is None else [tuple(wanted.heads)],
        )

    def default(self, threshold: float) -> AlignmentChoice:
        """The mean of all heads of the middle layer, where nothing else is given."""
        return AlignmentChoice(
            self.layers[(len(self.layers) - 1) // 2], self.groups[-1], self.shifts[0], threshold
        )

    def choices(self) -> list[AlignmentChoice]:
        return [
            AlignmentChoice(layer, group, shift)
            for layer in self.layers
            for shift in self.shifts
            for group in self.groups
        ]


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


def hard_links(
    model: Seq2Seq, pairs: Sequence[EncodedPair], space: SearchSpace, *, batch_size: int | None
) -> list[list[Links]]:
    """For each choice, the links of all pairs, one at most for each target word.

    Raises:
        UserError: if the model has no such layer or head, or a pair is too long for it.
    """
    for choice in space.choices():
        choice.check(model)
    check_lengths(model, pairs)
    layers, shifts, groups = space
    links: list[list[Links]] = [[frozenset()] * len(pairs) for _ in space.choices()]
    device = model.output_weight.device
    mean = torch.zeros(len(groups), model.num_attention_heads, device=device)  # (groups, H)
    for number, group in enumerate(groups):
        mean[number, list(group)] = 1 / len(group)
    with evaluation_mode(model):
        most = max(1, MAX_CELLS // len(layers))
        for batch in pair_batches(pairs, batch_size, device, max_cells=most):
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
            found = torch.cat(candidates, dim=1).tolist()  # the source word of each target word, -1 for none
            for row, index in enumerate(batch.indices):
                for own, words in zip(links, found[row], strict=True):
                    own[index] = frozenset(
                        (source, target) for target, source in enumerate(words) if source >= 0
                    )
    return links
