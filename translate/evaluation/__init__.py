"""How good translations are: scores, the significance of differences, and test sets by name."""

from translate.evaluation.ambiguous import ambiguous_line, ambiguous_scores
from translate.evaluation.scores import CorpusScores, bleu_score, corpus_scores

__all__ = ["CorpusScores", "ambiguous_line", "ambiguous_scores", "bleu_score", "corpus_scores"]
