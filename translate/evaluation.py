"""Scores of translations: BLEU, chrF and TER by sacrebleu, with their signatures."""

from collections.abc import Sequence
from typing import NamedTuple

from sacrebleu.metrics import BLEU, CHRF, TER

from translate.errors import UserError


class CorpusScores(NamedTuple):
    """From 0 to 100; ``ter`` is an error rate, lower is better."""

    bleu: float
    chrf: float
    ter: float
    signature: str  # of BLEU
    signatures: dict[str, str]


def bleu_score(hypotheses: Sequence[str], references: Sequence[str], *, target_language: str = "") -> float:
    """BLEU alone, for validation; raises as :func:`corpus_scores`."""
    _check(hypotheses, references)
    return _score(_bleu(target_language), hypotheses, references)


def corpus_scores(
    hypotheses: Sequence[str], references: Sequence[str], *, target_language: str = ""
) -> CorpusScores:
    """BLEU (cased; 13a, or the language's own tokenizer), chrF and TER.

    Raises:
        UserError: if there are not as many references as translations, or there are none.
    """
    _check(hypotheses, references)
    metrics: dict[str, BLEU | CHRF | TER] = {"bleu": _bleu(target_language), "chrf": CHRF(), "ter": TER()}
    scores = {name: _score(metric, hypotheses, references) for name, metric in metrics.items()}
    signatures = {name: str(metric.get_signature()) for name, metric in metrics.items()}
    return CorpusScores(scores["bleu"], scores["chrf"], scores["ter"], signatures["bleu"], signatures)


def _score(metric: BLEU | CHRF | TER, hypotheses: Sequence[str], references: Sequence[str]) -> float:
    score = float(metric.corpus_score(list(hypotheses), [list(references)]).score)
    # sacrebleu takes the mean of logarithms, and a perfect BLEU is 100.00000000000004.
    return score if isinstance(metric, TER) else min(score, 100.0)


def _check(hypotheses: Sequence[str], references: Sequence[str]) -> None:
    if len(hypotheses) != len(references):
        raise UserError(f"{len(hypotheses)} translations but {len(references)} references")
    if not hypotheses:
        raise UserError("there is no translation to score")


def _bleu(target_language: str) -> BLEU:
    # sacrebleu warns of tokenised text in upper case on standard error; `force` says that we know.
    tokenizer = {"zh": "zh", "ja": "char", "ko": "char"}.get(target_language, "13a")
    return BLEU(tokenize=tokenizer, force=True)
