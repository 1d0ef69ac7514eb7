"""Word alignment by IBM model 1, then model 2 with a diagonal prior, by expectation maximisation.

Brown et al. 1993; the diagonal prior with fixed tension is that of Dyer et al. 2013 (fast_align), eq. 1. The
statistical aligner of the package is compared with it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from translate.links.links import Links
from translate.links.symmetrise import symmetrise

NULL = 0  # the source word of target words without a counterpart
NULL_PROBABILITY = 0.08  # p0 of Dyer et al. 2013
TENSION = 4.0  # lambda: larger values keep links closer to the diagonal


class _Cells(NamedTuple):
    """All possible links of a corpus, including NULL links, grouped by target word."""

    entries: np.ndarray  # (number of cells,) table entry of (source type, target type)
    sources: np.ndarray  # (size of the table,) source type of each entry
    prior: np.ndarray  # (number of cells,) by position alone
    starts: np.ndarray  # (target words,) first cell of each
    num_types: int


@dataclass(frozen=True)
class Rounds:
    """Rounds of expectation maximisation by each model."""

    model_1: int = 4
    model_2: int = 6


def align_corpus(
    sources: Sequence[Sequence[str]],
    targets: Sequence[Sequence[str]],
    *,
    method: str = "grow-diag-final-and",
    rounds: Rounds | None = None,
) -> list[Links]:
    """Symmetrised links of every pair of a corpus.

    Args:
        sources: words of each sentence.
        targets: words of their translations.
        method: see :func:`translate.links.symmetrise.symmetrise`.
        rounds: of expectation maximisation.
    """
    rounds = rounds or Rounds()
    forward = align_one_direction(sources, targets, rounds)
    backward = [{(s, t) for t, s in links} for links in align_one_direction(targets, sources, rounds)]
    return [symmetrise(f, b, method) for f, b in zip(forward, backward, strict=True)]


def align_one_direction(
    sources: Sequence[Sequence[str]], targets: Sequence[Sequence[str]], rounds: Rounds
) -> list[set[tuple[int, int]]]:
    """The most probable source word of each target word, as (source index, target index)."""
    cells = _cells(sources, targets)
    table = np.ones(len(cells.sources))
    for number in range(rounds.model_1 + rounds.model_2):
        joint = table[cells.entries] * (cells.prior if number >= rounds.model_1 else 1.0)
        totals = np.add.reduceat(joint, cells.starts)
        joint /= np.repeat(totals, np.diff(cells.starts, append=len(joint)))
        counts = np.bincount(cells.entries, joint, minlength=len(table)) + 1e-9
        table = counts / np.bincount(cells.sources, counts, minlength=cells.num_types)[cells.sources]
    joint = table[cells.entries] * cells.prior
    return _best(joint, sources, targets)


def _best(
    joint: np.ndarray, sources: Sequence[Sequence[str]], targets: Sequence[Sequence[str]]
) -> list[set[tuple[int, int]]]:
    links, start = [], 0
    for source, target in zip(sources, targets, strict=True):
        stop = start + len(target) * (len(source) + 1)
        rows = joint[start:stop].reshape(len(target), len(source) + 1)
        links.append({(int(s) - 1, t) for t, s in enumerate(rows.argmax(1)) if s != 0})  # 0 is NULL
        start = stop
    return links


def _cells(sources: Sequence[Sequence[str]], targets: Sequence[Sequence[str]]) -> _Cells:
    source_types: dict[str, int] = {}
    target_types: dict[str, int] = {}
    keys, priors, widths = [], [], []
    shapes: dict[tuple[int, int], np.ndarray] = {}
    for source, target in zip(sources, targets, strict=True):
        s = np.array([NULL, *(source_types.setdefault(w, len(source_types) + 1) for w in source)], np.int64)
        t = np.array([target_types.setdefault(w, len(target_types)) for w in target], np.int64)
        keys.append((s[None, :] << 32 | t[:, None]).ravel())
        shape = (len(source), len(target))
        if shape not in shapes:
            shapes[shape] = _diagonal(*shape).ravel()
        priors.append(shapes[shape])
        widths.append(np.full(len(target), len(source) + 1))
    table_keys, entries = np.unique(np.concatenate(keys), return_inverse=True)
    starts = np.concatenate([[0], np.cumsum(np.concatenate(widths))[:-1]])
    return _Cells(entries, table_keys >> 32, np.concatenate(priors), starts, len(source_types) + 1)


def _diagonal(num_source: int, num_target: int) -> np.ndarray:
    """Prior of each cell (target, NULL + source): Dyer et al. 2013, eq. 1."""
    t = (np.arange(num_target) + 1)[:, None] / num_target
    s = (np.arange(num_source) + 1)[None, :] / max(1, num_source)
    weights = np.exp(-TENSION * np.abs(t - s))
    weights *= (1 - NULL_PROBABILITY) / np.maximum(weights.sum(1, keepdims=True), 1e-30)
    return np.concatenate([np.full((num_target, 1), NULL_PROBABILITY), weights], axis=1)
