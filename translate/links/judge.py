"""How likely the sides of a pair are translations, by what a frozen aligner finds between their words.

Logistic regression tells pairs of a sample from pairs that are none: the same sources beside translations of
other sentences of about the same length, and pairs of which one side is cut. So nobody has to say what is
right, and no model of another corpus is needed. (Munteanu and Marcu 2005 judge pairs by links like this, from
known examples; Xu and Koehn 2017 make the wrong ones from good ones.)
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from translate.links.frozen import FrozenAligner, Words

Pair = tuple[Sequence[str], Sequence[str]]

KEPT = 1 / 3, 2 / 3  # of a side that is cut
LEAST_CUT = 6  # words of a side that is cut
LEAST_PAIRS = 500  # of a sample that can tell
ROUNDS, PENALTY = 25, 1e-4  # of Newton's method, which has converged by then; of the squared weights


class TranslationJudge(NamedTuple):
    """The regression: log-odds = sum of ``weights`` (value - ``mean``) / ``scale``.

    Attributes:
        middle: log-ratio of the lengths of a usual pair.
    """

    weights: np.ndarray  # (F,)
    mean: np.ndarray  # (F,)
    scale: np.ndarray  # (F,)
    middle: np.ndarray  # ()

    def probabilities(self, evidence: np.ndarray, lengths: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
        """The probability that each pair is a translation, if half of all pairs were.

        Args:
            evidence: of :meth:`FrozenAligner.evidence`.
            lengths: the number of words of each side of the same pairs.
        """
        values = (_values(evidence, lengths, float(self.middle)) - self.mean) / self.scale
        odds = (values * self.weights).sum(1)  # a product of matrices would round in other ways
        return np.asarray(1 / (1 + np.exp(-np.clip(odds, -50, 50))))

    def save(self, path: Path) -> None:
        """Write the regression, without any code."""
        with path.open("wb") as file:
            np.savez(file, **self._asdict())

    @classmethod
    def load(cls, path: Path) -> "TranslationJudge":
        """Read a file of :meth:`save`."""
        with np.load(path, allow_pickle=False) as found:
            return cls(*(found[name] for name in cls._fields))


def learn_judge(aligner: FrozenAligner, sources: Words, targets: Words) -> TranslationJudge | None:
    """A judge from good pairs that the aligner has not learnt from; ``None`` if they are too few.

    Pairs without words on both sides are left out.
    """
    pairs = [pair for pair in zip(sources, targets, strict=True) if all(pair)]
    if len(pairs) < LEAST_PAIRS:
        return None
    middle = float(np.median(_ratios(_lengths(pairs))))
    examples = [pairs, _shuffled(pairs), _cut(pairs)]
    values = []
    for each in examples:
        sides = [source for source, _ in each], [target for _, target in each]
        values.append(_values(aligner.evidence(*sides), _lengths(each), middle))
    found = np.concatenate(values)
    good = np.arange(len(found)) < len(pairs)
    # Good and wrong pairs weigh the same together.
    counts = np.where(good, 0.5 / good.sum(), 0.5 / (~good).sum())
    mean, scale = found.mean(0), found.std(0) + 1e-9
    mean[0], scale[0] = 0.0, 1.0  # the constant
    weights = _regression((found - mean) / scale, good.astype(float), counts)
    return TranslationJudge(weights, mean, scale, np.array(middle))


def _values(evidence: np.ndarray, lengths: tuple[np.ndarray, np.ndarray], middle: float) -> np.ndarray:
    """The values of a pair: evidence of the worse side and the better, lengths, and all products of two."""
    words = np.sqrt(lengths[0] + lengths[1] + 2.0) / 5
    apart = np.abs(_ratios(lengths) - middle)
    single = [words, apart, apart * words]
    for first in (0, 2, 4):
        sides = evidence[:, first : first + 2]
        single += [sides.min(1), sides.max(1)]
    products = [one * other for number, one in enumerate(single) for other in single[number:]]
    return np.stack([np.ones(len(evidence)), *single, *products], 1)


def _ratios(lengths: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    return np.log((lengths[1] + 2) / (lengths[0] + 2))


def _lengths(pairs: Sequence[Pair]) -> tuple[np.ndarray, np.ndarray]:
    found = np.array([[len(source), len(target)] for source, target in pairs], np.int64)
    return found[:, 0], found[:, 1]


def _shuffled(
    pairs: Sequence[Pair],
) -> list[Pair]:
    """Each source with a translation of about the same length that is not its own."""
    order = sorted(pairs, key=lambda pair: len(pair[1]))
    others = zip(order, order[1:] + order[:1])
    return [(here[0], there[1]) for here, there in others if list(here[1]) != list(there[1])]


def _cut(pairs: Sequence[Pair]) -> list[Pair]:
    """Pairs of which one side ends early."""
    shares = np.random.default_rng(1).uniform(*KEPT, len(pairs)).tolist()
    found: list[Pair] = []
    for number, ((source, target), share) in enumerate(zip(pairs, shares)):
        side = (source, target)[number % 2]
        if len(side) >= LEAST_CUT:
            part = side[: int(share * len(side))]
            found.append((source, part) if number % 2 else (part, target))
    return found


def _regression(values: np.ndarray, wanted: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """The weights of logistic regression, by Newton's method."""
    weights = np.zeros(values.shape[1])
    for _ in range(ROUNDS):
        odds = np.clip(values @ weights, -30, 30)
        likely = 1 / (1 + np.exp(-odds))
        slope = values.T @ (counts * (wanted - likely)) - PENALTY * weights
        curve = (values * (counts * likely * (1 - likely))[:, None]).T @ values
        weights = weights + np.linalg.solve(curve + PENALTY * np.eye(len(weights)), slope)
    return weights
