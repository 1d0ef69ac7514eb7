"""BLEU, chrF and TER of translations by sacrebleu, and exact translations of ambiguous sentences."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from translate.errors import UserError
from translate.text.languages import base
from translate.text.words import tokenise

if TYPE_CHECKING:
    from sacrebleu.metrics import BLEU
    from sacrebleu.metrics.base import Metric


# Characters are the words of BLEU where spaces do not separate words, and in Korean.
TOKENIZERS = {"zh": "zh", **dict.fromkeys(("ja", "ko", "th", "lo", "km", "my"), "char")}
SCALE = "roughly, 20 gives the gist and 30 is good"  # of BLEU
PART, SLIPPED = 100, 0.65  # sentences that tell whether a file has slipped, and the share of them that does
TOO_SHORT = "note: BLEU counts four words in a row, which no reference has; go by chrF"
CHANCE = (
    "note: BLEU below 1 is chance: the run has learned too little, or the files are in other languages than "
    "it translates, or their lines do not belong together; compare some of them with what --out FILE writes"
)


class CorpusScores(NamedTuple):
    """Scores from 0 to 100. ``ter`` is an error rate, so lower is better, and it may exceed 100."""

    bleu: float
    chrf: float
    ter: float
    signature: str  # of BLEU
    signatures: dict[str, str]


def slipped_part(hypotheses: Sequence[str], references: Sequence[str]) -> tuple[int, int] | None:
    """From which sentence up to which most translations fit the reference before or after theirs better.

    The words that both sides share tell. A part of ``PART`` sentences counts if that holds for more than
    ``SLIPPED`` of them: of models of BLEU 0.7 and 19 it did for 0 to 38 %, and for 60 to 100 % where a file
    had slipped by a line; of one that had learnt nothing, for half.
    """
    words = [[{*tokenise(line).casefold().split()} for line in lines] for lines in (hypotheses, references)]
    parts = []
    for shift in (1, -1):
        others = [*words[1][shift:], *words[1][:shift]]
        better = [
            _likeness(one, other) > _likeness(one, own)
            for one, own, other in zip(*words, others, strict=True)
        ]
        starts = range(0, len(better) - PART + 1, PART)
        parts += [start for start in starts if sum(better[start : start + PART]) > SLIPPED * PART]
    return (min(parts), max(parts) + PART) if parts else None


def _likeness(one: set[str], other: set[str]) -> float:
    return len(one & other) / max(1, len(one | other))


def bleu_score(hypotheses: Sequence[str], references: Sequence[str], *, target_language: str = "") -> float:
    """BLEU alone, for validation; raises the errors of :func:`corpus_scores`."""
    return score_of(bleu_metric(target_language), hypotheses, [references])


def corpus_scores(
    hypotheses: Sequence[str], references: Sequence[str], *further: Sequence[str], target_language: str = ""
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
    metrics = metrics_of(target_language, ter=True)
    scores = {name: score_of(metric, hypotheses, everything) for name, metric in metrics.items()}
    signatures = {name: str(metric.get_signature()) for name, metric in metrics.items()}
    return CorpusScores(scores["bleu"], scores["chrf"], scores["ter"], signatures["bleu"], signatures)


def lowercased_bleu(
    hypotheses: Sequence[str], references: Sequence[str], *further: Sequence[str], target_language: str = ""
) -> tuple[float, str]:
    """BLEU of lower-cased tokens, and its signature; arguments and errors of :func:`corpus_scores`."""
    metric = bleu_metric(target_language, lowercase=True)
    return score_of(metric, hypotheses, [references, *further]), str(metric.get_signature())


def metrics_of(target_language: str, *, ter: bool) -> Mapping[str, "Metric"]:
    """The metrics that every command scores with, by their names in JSON."""
    from sacrebleu.metrics import CHRF, TER

    by_character = base(target_language) in ("zh", "ja")  # which are one word in TER otherwise
    edits = TER(normalized=by_character, asian_support=by_character)
    return {"bleu": bleu_metric(target_language), "chrf": CHRF()} | ({"ter": edits} if ter else {})


def bleu_metric(target_language: str, *, lowercase: bool = False) -> "BLEU":
    """BLEU with the tokenizer of a language."""
    from sacrebleu.metrics import BLEU  # 0.1 s, for which a mistake in a configuration does not wait

    # `force` suppresses sacrebleu's warning about tokenised references on standard error.
    return BLEU(tokenize=_tokenizer(target_language), lowercase=lowercase, force=True)


def _tokenizer(language: str) -> str:
    return TOKENIZERS.get(base(language), "13a")


def too_short(*references: Sequence[str], target_language: str) -> bool:
    """Whether every translation has BLEU 0, because no reference has four words in a row."""
    spaced = _tokenizer(target_language) == "13a"
    return spaced and all(len(line.split()) < 4 for lines in references for line in lines)


def check_numbers(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> None:
    """Raise :class:`UserError` unless each translation has a reference of every list, and there is one."""
    for lines in references:
        if len(hypotheses) != len(lines):
            raise UserError(f"{len(hypotheses):,} translations but {len(lines):,} references")
    if not hypotheses:
        raise UserError("there is no translation to score")


def score_of(metric: "Metric", hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> float:
    """The score of a metric; raises the errors of :func:`corpus_scores`."""
    from sacrebleu.metrics import TER

    check_numbers(hypotheses, references)
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


def score_lines(scores: Mapping[str, Any]) -> list[str]:
    """Scores of a test set, by their names in JSON, as lines for the terminal."""
    titles = {"bleu": "BLEU", "bleu_lowercased": "BLEU", "chrf": "chrF", "ter": "TER "}
    lines = [
        f"{title} {scores[name]:.2f}   {scores['signatures'][name]}"
        for name, title in titles.items()
        if name in scores
    ]
    if found := scores.get("ambiguous"):
        of = f"of {found['sentences']:,} right (chance {100 * found['chance']:.2f} %)"
        lines.append(f"ambiguous sentences {100 * found['right']:.2f} % {of}")
    if "pointing" in scores:
        pointed = f"of {scores['pointed_words']:,} words that name something in the picture"
        lines.append(f"pointing {100 * scores['pointing']:.2f} % {pointed}, IoU {100 * scores['iou']:.2f} %")
    if "aer" in scores:
        measures = f"precision {scores['precision']:.4f}, recall {scores['recall']:.4f}"
        lines.append(f"AER  {100 * scores['aer']:.2f} %   {measures} (error rate of the word links)")
    return lines
