"""BLEU, chrF and TER of translations, computed by sacrebleu, with their signatures."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from translate.errors import UserError

if TYPE_CHECKING:
    from sacrebleu.metrics import BLEU
    from sacrebleu.metrics.base import Metric


class CorpusScores(NamedTuple):
    """Scores from 0 to 100. ``ter`` is an error rate, so lower is better, and it may exceed 100."""

    bleu: float
    chrf: float
    ter: float
    signature: str  # of BLEU
    signatures: dict[str, str]


def bleu_score(hypotheses: Sequence[str], references: Sequence[str], *, target_language: str = "") -> float:
    """BLEU alone, for validation; raises the errors of :func:`corpus_scores`."""
    _check(hypotheses, references)
    return _score(_bleu(target_language), hypotheses, references)


def corpus_scores(
    hypotheses: Sequence[str], references: Sequence[str], *, target_language: str = ""
) -> CorpusScores:
    """BLEU (cased; tokenised by 13a or by the tokenizer of the language), chrF and TER.

    Raises:
        UserError: if the numbers of translations and references differ, or there are none.
    """
    from sacrebleu.metrics import CHRF, TER

    _check(hypotheses, references)
    metrics: dict[str, Metric] = {"bleu": _bleu(target_language), "chrf": CHRF(), "ter": TER()}
    scores = {name: _score(metric, hypotheses, references) for name, metric in metrics.items()}
    signatures = {name: str(metric.get_signature()) for name, metric in metrics.items()}
    return CorpusScores(scores["bleu"], scores["chrf"], scores["ter"], signatures["bleu"], signatures)


def _score(metric: "Metric", hypotheses: Sequence[str], references: Sequence[str]) -> float:
    from sacrebleu.metrics import TER

    score = float(metric.corpus_score(list(hypotheses), [list(references)]).score)
    # Rounding of the mean of logarithms in sacrebleu makes a perfect BLEU 100.00000000000004.
    return score if isinstance(metric, TER) else min(score, 100.0)


def _check(hypotheses: Sequence[str], references: Sequence[str]) -> None:
    if len(hypotheses) != len(references):
        raise UserError(f"{len(hypotheses)} translations but {len(references)} references")
    if not hypotheses:
        raise UserError("there is no translation to score")


def _bleu(target_language: str) -> "BLEU":
    from sacrebleu.metrics import BLEU  # 0.1 s, for which a mistake in a configuration does not wait

    # `force` suppresses sacrebleu's warning about tokenised references on standard error.
    tokenizer = {"zh": "zh", "ja": "char", "ko": "char"}.get(target_language, "13a")
    return BLEU(tokenize=tokenizer, force=True)
