"""BLEU, chrF and TER of translations by sacrebleu, and exact translations of ambiguous sentences."""

from collections import Counter
from collections.abc import Mapping, Sequence
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
    check_numbers(hypotheses, [references])
    return _score(bleu_metric(target_language), hypotheses, [references])


def corpus_scores(
    hypotheses: Sequence[str],
    references: Sequence[str],
    *further: Sequence[str],
    target_language: str = "",
) -> CorpusScores:
    """BLEU (cased; tokenised by 13a or by the tokenizer of the language), chrF and TER.

    Args:
        hypotheses: one translation of each source sentence.
        references: one correct translation of each.
        further: other references, each a list of one translation of each sentence.
        target_language: its code; some have a tokenizer of their own.

    Raises:
        UserError: if the numbers of translations and references differ, or there are none.
    """
    everything = [references, *further]
    check_numbers(hypotheses, everything)
    metrics = metrics_of(target_language, ter=True)
    scores = {name: _score(metric, hypotheses, everything) for name, metric in metrics.items()}
    signatures = {name: str(metric.get_signature()) for name, metric in metrics.items()}
    return CorpusScores(scores["bleu"], scores["chrf"], scores["ter"], signatures["bleu"], signatures)


def lowercased_bleu(
    hypotheses: Sequence[str], references: Sequence[str], *further: Sequence[str], target_language: str = ""
) -> tuple[float, str]:
    """BLEU of lower-cased tokens, and its signature; arguments and errors of :func:`corpus_scores`."""
    everything = [references, *further]
    check_numbers(hypotheses, everything)
    metric = bleu_metric(target_language, lowercase=True)
    return _score(metric, hypotheses, everything), str(metric.get_signature())


def metrics_of(target_language: str, *, ter: bool) -> Mapping[str, "Metric"]:
    """The metrics that every command scores with, by their names in JSON."""
    from sacrebleu.metrics import CHRF, TER

    return {"bleu": bleu_metric(target_language), "chrf": CHRF()} | ({"ter": TER()} if ter else {})


def bleu_metric(target_language: str, *, lowercase: bool = False) -> "BLEU":
    """BLEU with the tokenizer of a language."""
    from sacrebleu.metrics import BLEU  # 0.1 s, for which a mistake in a configuration does not wait

    # `force` suppresses sacrebleu's warning about tokenised references on standard error.
    tokenizer = {"zh": "zh", "ja": "char", "ko": "char"}.get(target_language, "13a")
    return BLEU(tokenize=tokenizer, lowercase=lowercase, force=True)


def check_numbers(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> None:
    """Raise :class:`UserError` unless each translation has a reference of every list, and there is one."""
    for lines in references:
        if len(hypotheses) != len(lines):
            raise UserError(f"{len(hypotheses)} translations but {len(lines)} references")
    if not hypotheses:
        raise UserError("there is no translation to score")


def _score(metric: "Metric", hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> float:
    from sacrebleu.metrics import TER

    score = float(metric.corpus_score(list(hypotheses), [list(lines) for lines in references]).score)
    # Rounding of the mean of logarithms in sacrebleu makes a perfect BLEU 100.00000000000004.
    return score if isinstance(metric, TER) else min(score, 100.0)


class Ambiguous(NamedTuple):
    """Source sentences with several different references, as fractions from 0 to 1 of their number.

    Attributes:
        right: share of translations that are the reference, word for word.
        chance: the share that the most frequent reference of each sentence would get.
    """

    sentences: int
    right: float
    chance: float


def ambiguous_scores(
    sentences: Sequence[str], hypotheses: Sequence[str], references: Sequence[str]
) -> Ambiguous | None:
    """Scores of the sentences that are ambiguous among these pairs; ``None`` if there are none."""
    check_numbers(hypotheses, [references])
    found: dict[str, Counter[str]] = {}
    for sentence, reference in zip(sentences, references, strict=True):
        found.setdefault(sentence, Counter())[reference] += 1
    several = {sentence: counts for sentence, counts in found.items() if len(counts) > 1}
    chosen = [index for index, sentence in enumerate(sentences) if sentence in several]
    if not chosen:
        return None
    right = sum(hypotheses[index] == references[index] for index in chosen)
    chance = sum(max(counts.values()) for counts in several.values())
    return Ambiguous(len(chosen), right / len(chosen), chance / len(chosen))


def ambiguous_line(sentences: int, right: float, chance: float) -> str:
    """The scores as a line for the terminal."""
    return f"ambiguous sentences {100 * right:.2f} % of {sentences:,} right (chance {100 * chance:.2f} %)"
