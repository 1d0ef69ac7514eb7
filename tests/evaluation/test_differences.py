import pytest
import sacrebleu

from translate.evaluation.differences import most_different, sentence_chrf, wins

SCORES = [[10.0, 50.0, 30.0, 70.0, 20.0], [20.0, 50.0, 90.0, 10.0, 20.5], [15.0, 50.0, 30.0, 10.0, 80.0]]


def test_the_widest_spread_comes_first() -> None:
    # Spreads 10, 0, 60, 60, 60: equal ones in the order of the corpus, and none without a difference.
    assert most_different(SCORES, 9) == [2, 3, 4, 0]
    assert most_different(SCORES, 2) == [2, 3]
    assert most_different(SCORES, 0) == []
    assert most_different([[1.0, 2.0], [1.0, 2.0]], 3) == []


def test_wins_count_every_sentence() -> None:
    assert wins(SCORES[1], SCORES[0]) == (3, 1, 1)
    assert wins(SCORES[0], SCORES[0]) == (0, 0, 5)


def test_sentence_scores_are_those_of_sacrebleu() -> None:
    hypotheses, references = ["the cat sat", "", "a"], [["the cat sits", "x", "a"], ["cats sat", "y", "b"]]
    found = sentence_chrf(hypotheses, references)
    for index, score in enumerate(found):
        each = [lines[index] for lines in references]
        assert score == pytest.approx(sacrebleu.sentence_chrf(hypotheses[index], each).score)
    assert found[1:] == [0.0, 100.0]
