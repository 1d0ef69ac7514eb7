"""Compares the methods of alignment on the same pairs, to show how far their weights can be trusted."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from translate.alignment.alignment import Alignment, AlignmentChoice
from translate.alignment.methods import METHODS, align
from translate.alignment.pairs import EncodedPair
from translate.config.names import aligned, counted, escaped
from translate.links.links import AlignmentScore, Gold, score
from translate.models.seq2seq import Seq2Seq

MAX_LISTED = 20  # pairs with disputed words in the text


class Agreement(NamedTuple):
    """The agreement of two methods, over the target words to which both give weights."""

    rank_correlation: float | None  # Spearman's rho over the source words, mean of all target words
    same_link: float | None  # share of target words whose largest weights are on the same source word


class Disputed(NamedTuple):
    """A target word for which attention and erasure give the largest weight to different source words."""

    pair: int  # from 1
    target: int  # index of the target word
    attention: int  # index of the source word by attention
    erasure: int  # index of the source word by erasure


@dataclass(frozen=True)
class MethodReport:
    """The result of `compare_methods`; pairs without words on a side do not enter the measures."""

    choice: AlignmentChoice
    alignments: dict[str, list[Alignment]] = field(repr=False)  # by method
    agreements: dict[tuple[str, str], Agreement]
    scores: dict[str, AlignmentScore]  # by method; empty without gold links
    disputed: list[Disputed]

    @property
    def num_target_words(self) -> int:
        return sum(len(alignment.target_words) for alignment in self.alignments["attention"])

    def to_dict(self) -> dict[str, Any]:
        """The report without weights, for JSON; disputed words are written beside their indexes."""
        return {
            "choice": self.choice.to_dict(),
            "pairs": len(self.alignments["attention"]),
            "target_words": self.num_target_words,
            "agreement": [{"methods": list(pair), **a._asdict()} for pair, a in self.agreements.items()],
            "scores": {method: values._asdict() for method, values in self.scores.items()},
            "disputed": [self._words(disputed) for disputed in self.disputed],
        }

    def _words(self, disputed: Disputed) -> dict[str, Any]:
        alignment = self.alignments["attention"][disputed.pair - 1]
        source = alignment.source_words
        return disputed._asdict() | {
            "target_word": alignment.target_words[disputed.target],
            "attention_word": source[disputed.attention],
            "erasure_word": source[disputed.erasure],
        }

    def lines(self) -> list[str]:
        """The report as text."""
        choice, total = self.choice, self.num_target_words
        lines = [
            f"{counted(len(self.alignments['attention']), 'pair')}, {counted(total, 'target word')}; "
            f"attention and norm: {choice.layer_and_heads}, shift {choice.shift}",
        ]
        rows = [[", ".join(pair), *map(_number, agreed)] for pair, agreed in self.agreements.items()]
        lines += ["", *aligned([["methods", "rank correlation", "same link"], *rows])]
        if self.scores:
            rows = [[method, *(f"{100 * x:.2f} %" for x in found)] for method, found in self.scores.items()]
            lines += ["", *aligned([["method", "AER", "precision", "recall", "F1"], *rows])]
        return [*lines, "", *self._disputed_lines(total)]

    def _disputed_lines(self, total: int) -> list[str]:
        count = len(self.disputed)
        share = f" ({100 * count / total:.1f} %)" if total else ""
        lines = [f"attention and erasure disagree on {counted(count, 'target word')}{share}, in brackets:"]
        pairs = sorted({disputed.pair for disputed in self.disputed})
        for pair in pairs[:MAX_LISTED]:
            words = {one.target: self._words(one) for one in self.disputed if one.pair == pair}
            target = self.alignments["attention"][pair - 1].target_words
            marked = [f"[{word}]" if index in words else word for index, word in enumerate(target)]
            claims = [
                f"{row['target_word']}: {row['attention_word']} or {row['erasure_word']}"
                for row in words.values()
            ]
            lines.append(escaped(f"{pair:>5}  {' '.join(marked)}   ({'; '.join(claims)})"))
        if len(pairs) > MAX_LISTED:
            lines.append(f"... and in {counted(len(pairs) - MAX_LISTED, 'more pair')}")
        return lines


def compare_methods(
    model: Seq2Seq,
    pairs: Sequence[EncodedPair],
    choice: AlignmentChoice,
    golds: Sequence[Gold] | None = None,
    *,
    batch_size: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> MethodReport:
    """Align pairs by each method, and compare the results.

    Args:
        choice: the attention that is shown.
        golds: gold links of the pairs, if known.
        progress: called after each batch with the number of pairs that one method has aligned.
    """
    found = {}
    for method in METHODS:
        found[method] = align(model, pairs, choice, method=method, batch_size=batch_size, progress=progress)
    scores = {}
    if golds is not None:
        scores = {method: score([a.links() for a in aligned], golds) for method, aligned in found.items()}
    agreements = {(a, b): agree(found[a], found[b]) for a, b in combinations(METHODS, 2)}
    disputed = disputed_words(found["attention"], found["erasure"])
    return MethodReport(choice, found, agreements, scores, disputed)


def agree(first: Sequence[Alignment], second: Sequence[Alignment]) -> Agreement:
    """The agreement of two lists of alignments of the same pairs."""
    correlations, same = [], []
    for one, other in zip(first, second, strict=True):
        for row, other_row in zip(one.weights, other.weights, strict=True):
            if row.any() and other_row.any():
                same.append(float(row.argmax() == other_row.argmax()))
                rho = rank_correlation(row, other_row)
                if rho is not None:
                    correlations.append(rho)
    return Agreement(_mean(correlations), _mean(same))


def rank_correlation(first: np.ndarray, second: np.ndarray) -> float | None:
    """Spearman's rho, with the mean rank for equal values; None if all values of a side are equal."""
    ranks = [_ranks(values) - (len(values) - 1) / 2 for values in (first, second)]
    lengths = [float(np.sqrt(centred @ centred)) for centred in ranks]
    return float(ranks[0] @ ranks[1]) / (lengths[0] * lengths[1]) if all(lengths) else None


def disputed_words(attention: Sequence[Alignment], erasure: Sequence[Alignment]) -> list[Disputed]:
    """The target words whose largest weights are on different source words."""
    found = []
    for pair, (one, other) in enumerate(zip(attention, erasure, strict=True), start=1):
        for target, (row, other_row) in enumerate(zip(one.weights, other.weights, strict=True)):
            if row.any() and other_row.any() and row.argmax() != other_row.argmax():
                found.append(Disputed(pair, target, int(row.argmax()), int(other_row.argmax())))
    return found


def _ranks(values: np.ndarray) -> np.ndarray:
    """Ranks from 0, with the mean rank for equal values."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return (last - (counts + 1) / 2)[inverse]


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
