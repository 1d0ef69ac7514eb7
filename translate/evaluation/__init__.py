"""Evaluation: scores of translations, the significance of differences, and where systems differ."""

from translate.evaluation.scores import (
    CorpusScores,
    ambiguous_line,
    ambiguous_scores,
    bleu_score,
    corpus_scores,
)

__all__ = ["CorpusScores", "ambiguous_line", "ambiguous_scores", "bleu_score", "corpus_scores"]
