"""Compares systems on a test set: the paired tests of sacrebleu, and the sentences that differ most.

Koehn 2004 (bootstrap resampling), Riezler and Maxwell 2005 (approximate randomisation). Both ask how the
difference depends on the choice of the sentences; neither knows how it depends on the seed of a training.
"""

import os
from collections.abc import Mapping, Sequence
from typing import Any

from translate.errors import UserError
from translate.evaluation.scores import bleu_metric, check_numbers, metrics_of

SAMPLES, TRIALS = 1000, 10_000  # sacrebleu's own numbers
TESTS = {"bootstrap": "bs", "randomisation": "ar"}  # our name -> sacrebleu's
MAX_BYTES = 4 << 30
PARTS = 4  # ranges of lengths
# Bytes of sacrebleu's arrays for one sentence of a resample: 18 counts of chrF and an index; of a trial: a
# choice, its opposite, and one of them as integers.
_BYTES = {"bootstrap": 80, "randomisation": 10}


Scores = dict[str, dict[str, dict[str, Any]]]  # metric -> system -> its figures
# Metric -> test -> sacrebleu's, with the seed and the number of resamples.
Signatures = dict[str, dict[str, str]]


def compare(
    systems: Mapping[str, Sequence[str]],
    references: Sequence[Sequence[str]],
    *,
    target_language: str = "",
    ter: bool = False,
    samples: int = SAMPLES,
    trials: int = TRIALS,
) -> tuple[Scores, Signatures]:
    """Score systems and test the difference of each to the first one, the baseline, two-sided.

    The seed is sacrebleu's: the environment variable ``SACREBLEU_SEED``, or 12345.

    Args:
        systems: name -> one translation of each sentence.
        references: lists of one correct translation of each sentence.
        target_language: its code; some have a tokenizer of their own.
        ter: whether TER, which takes longest, is tested beside BLEU and chrF.
        samples: bootstrap resamples.
        trials: of approximate randomisation.

    Returns:
        The ``score`` of each system by each metric, the 95 % ``interval`` of the resamples and, but for the
        baseline, the ``difference`` to it and ``p``: for each test, how likely a difference as large as this
        one is by chance; 1 where there is none. And the signatures.

    Raises:
        UserError: if the numbers of sentences differ, for a seed that is none, or if the arrays of sacrebleu
            would be larger than ``MAX_BYTES``.
    """
    from sacrebleu.significance import PairedTest

    _check_seed()
    for hypotheses in systems.values():
        check_numbers(hypotheses, references)
    numbers = {"bootstrap": samples, "randomisation": trials}
    _check_size(len(references[0]), numbers)
    found, signatures = {}, {}
    for test, name in TESTS.items():
        metrics = metrics_of(target_language, ter=ter)
        given: list[tuple[str, Sequence[str]]] = [(system, list(lines)) for system, lines in systems.items()]
        paired = PairedTest(given, metrics, [list(lines) for lines in references], name, numbers[test])
        signs, columns = paired()
        # sacrebleu names a column for what was measured, such as chrF2, in the order of the metrics.
        named = dict(zip(metrics, signs, strict=True))
        found[test] = {metric: columns[column] for metric, column in named.items()}
        signatures[test] = {metric: str(signs[column]) for metric, column in named.items()}
    scores = {metric: _joined(list(systems), found, metric) for metric in metrics}
    return scores, {metric: {test: signatures[test][metric] for test in TESTS} for metric in metrics}


def _joined(
    names: Sequence[str], found: Mapping[str, Mapping[str, Any]], metric: str
) -> dict[str, dict[str, Any]]:
    """The results of both tests for one metric, by system."""
    joined: dict[str, dict[str, Any]] = {}
    for index, name in enumerate(names):
        results = {test: found[test][metric][index] for test in TESTS}
        sampled = results["bootstrap"]
        score, mean, half = (float(value) for value in (sampled.score, sampled.mean, sampled.ci))
        joined[name] = {"score": score, "interval": [max(0.0, mean - half), mean + half]}
        if index:
            difference = score - joined[names[0]]["score"]
            # sacrebleu counts larger differences alone, so equal systems would differ significantly.
            p = {test: float(result.p_value) if difference else 1.0 for test, result in results.items()}
            joined[name] |= {"difference": difference, "p": p}
    return joined


def _check_seed() -> None:
    seed = os.environ.get("SACREBLEU_SEED", "12345")
    # sacrebleu takes 0 for no seed, but writes it into the signature.
    if seed.lower() != "none" and not (seed.isdecimal() and int(seed) > 0):
        raise UserError(f"SACREBLEU_SEED is {seed[:50]!r}; expected a whole number above 0, or none")


def _check_size(sentences: int, numbers: Mapping[str, int]) -> None:
    for test, number in numbers.items():
        if number < 1:
            raise UserError(f"{test}: expected at least 1 resample or trial, got {number}")
        most = MAX_BYTES // (_BYTES[test] * sentences)
        if number > most:
            option = {"bootstrap": "--samples", "randomisation": "--trials"}[test]
            raise UserError(
                f"compare: {number:,} times {sentences:,} sentences take more than {MAX_BYTES >> 30} GiB; "
                f"give {option} {most} or less, or a smaller test set"
            )


def sentence_chrf(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> list[float]:
    """The chrF (0 to 100) of each translation against its references, as sacrebleu defines it."""
    from sacrebleu.metrics import CHRF

    metric = CHRF()
    together = zip(hypotheses, zip(*references, strict=True), strict=True)
    return [float(metric.sentence_score(text, list(correct)).score) for text, correct in together]


def by_length(
    systems: Mapping[str, Sequence[str]],
    references: Sequence[Sequence[str]],
    lengths: Sequence[int],
    target_language: str = "",
) -> list[dict[str, Any]]:
    """BLEU of the shorter and of the longer sentences, as in Bahdanau et al. 2015, figure 2.

    Args:
        systems: name -> one translation of each sentence.
        references: lists of one correct translation of each sentence.
        lengths: of the source sentences.
        target_language: its code; some have a tokenizer of their own.

    Returns:
        For each of up to ``PARTS`` ranges of lengths, with about equally many sentences: the shortest and the
        longest, the number of sentences, and the BLEU of each system, ``None`` where one of them has no
        translation of four words. Nothing if all are about as long.
    """
    metric = bleu_metric(target_language)
    ordered = sorted(lengths)
    bounds = sorted({ordered[len(ordered) * part // PARTS] for part in range(PARTS)})
    parts = []
    for low, above in zip(bounds, [*bounds[1:], ordered[-1] + 1], strict=True):
        rows = [index for index, length in enumerate(lengths) if low <= length < above]
        correct = [[lines[index] for index in rows] for lines in references]
        found = {
            name: metric.corpus_score([lines[index] for index in rows], correct)
            for name, lines in systems.items()
        }
        long_enough = all(score.totals[-1] for score in found.values())
        bleu = {name: float(score.score) if long_enough else None for name, score in found.items()}
        parts.append({"shortest": low, "longest": above - 1, "sentences": len(rows), "bleu": bleu})
    return parts if len(parts) > 1 else []


def most_different(scores: Sequence[Sequence[float]], most: int) -> list[int]:
    """Indexes of the sentences whose best and worst scores lie farthest apart, the farthest first.

    Args:
        scores: of every system, one a sentence.
        most: number of sentences; those on which all systems score the same are left out.
    """
    spreads = [max(column) - min(column) for column in zip(*scores, strict=True)]
    order = sorted(range(len(spreads)), key=lambda index: (-spreads[index], index))
    return [index for index in order[:most] if spreads[index] > 0]


def wins(scores: Sequence[float], baseline: Sequence[float]) -> dict[str, int]:
    """On how many sentences ``scores`` are better than those of the baseline, worse and equal."""
    pairs = list(zip(scores, baseline, strict=True))
    better, worse = sum(a > b for a, b in pairs), sum(a < b for a, b in pairs)
    return {"better": better, "worse": worse, "equal": len(pairs) - better - worse}
