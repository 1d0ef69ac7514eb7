"""The tests of significance against their definitions, and the sentences that differ most."""

import random

import numpy as np
import pytest
import sacrebleu

from translate.errors import UserError
from translate.evaluation.comparison import by_length, compare, most_different, sentence_chrf, wins

WORDS = [*"abcdefghijklm", "house", "old", "small", "town"]


def corpus(seed: int, noise: float, count: int = 67) -> tuple[list[str], list[str]]:
    """References, and the same with some words exchanged."""
    draw, change = random.Random(3), random.Random(seed)
    references, hypotheses = [], []
    for _ in range(count):
        words = draw.choices(WORDS, k=draw.randint(5, 11))
        references.append(" ".join(words))
        hypotheses.append(" ".join(change.choice(WORDS) if change.random() < noise else w for w in words))
    return references, hypotheses


REFERENCES, GOOD = corpus(5, 0.15)
BAD, ALIKE = corpus(7, 0.6)[1], corpus(13, 0.15)[1]


def test_a_clear_difference_is_significant_and_none_is_not() -> None:
    systems = {"good": GOOD, "alike": ALIKE, "bad": BAD, "same": GOOD}
    found = compare(systems, [REFERENCES], samples=300, trials=300)[0]["bleu"]
    for test in ("bootstrap", "randomisation"):
        assert found["bad"]["p"][test] < 0.01 < 0.05 < found["alike"]["p"][test]
        assert found["same"]["p"][test] == 1.0  # sacrebleu itself says 1 / 301 here
    assert found["bad"]["interval"][1] < found["good"]["interval"][0]


def test_p_is_that_of_the_definition() -> None:
    """Approximate randomisation: exchange the outputs of some sentences, and count larger differences."""
    trials = 400
    found = compare({"good": GOOD, "alike": ALIKE}, [REFERENCES], samples=2, trials=trials)[0]
    draw = np.random.default_rng(1)
    real = abs(bleu(GOOD) - bleu(ALIKE))
    larger = 0
    for _ in range(trials):
        swap = draw.integers(2, size=len(GOOD))
        first = [b if s else a for a, b, s in zip(GOOD, ALIKE, swap, strict=True)]
        second = [a if s else b for a, b, s in zip(GOOD, ALIKE, swap, strict=True)]
        larger += abs(bleu(first) - bleu(second)) > real
    expected = (larger + 1) / (trials + 1)
    # Both are shares of 400 draws: four standard errors of their difference.
    error = 4 * (2 * expected * (1 - expected) / trials) ** 0.5
    assert found["bleu"]["alike"]["p"]["randomisation"] == pytest.approx(expected, abs=error)


def bleu(texts: list[str]) -> float:
    return float(sacrebleu.corpus_bleu(texts, [REFERENCES], force=True).score)


def test_signatures_tell_test_number_and_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    def signatures() -> list[str]:
        found = compare({"good": GOOD, "bad": BAD}, [REFERENCES, GOOD], samples=30, trials=40)[1]
        return [found["bleu"]["bootstrap"], found["chrf"]["randomisation"]]

    bootstrap, randomisation = (signature.split("|") for signature in signatures())
    assert {"nrefs:2", "bs:30", "seed:12345", "tok:13a"} <= set(bootstrap)
    assert {"nrefs:2", "ar:40", "seed:12345", "nc:6"} <= set(randomisation)
    monkeypatch.setenv("SACREBLEU_SEED", "7")
    assert all("seed:7" in signature for signature in signatures())


@pytest.mark.parametrize("seed", ["0", "x", "-3", ""])
def test_a_seed_that_sacrebleu_would_not_take(seed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SACREBLEU_SEED", seed)
    with pytest.raises(UserError, match="SACREBLEU_SEED is"):
        compare({"good": GOOD, "bad": BAD}, [REFERENCES])


def test_what_cannot_be_compared() -> None:
    with pytest.raises(UserError, match="66 translations but 67 references"):
        compare({"good": GOOD, "bad": BAD[:-1]}, [REFERENCES])
    with pytest.raises(UserError, match=r"give --samples \d+ or less"):
        compare({"good": GOOD, "bad": BAD}, [REFERENCES], samples=10**7)
    with pytest.raises(UserError, match=r"give --trials \d+ or less"):
        compare({"good": GOOD, "bad": BAD}, [REFERENCES], trials=10**8)
    with pytest.raises(UserError, match="at least 1"):
        compare({"good": GOOD, "bad": BAD}, [REFERENCES], trials=0)


SCORES = [[10.0, 50.0, 30.0, 70.0, 20.0], [20.0, 50.0, 90.0, 10.0, 20.5], [15.0, 50.0, 30.0, 10.0, 80.0]]


def test_the_widest_spread_comes_first() -> None:
    # Spreads 10, 0, 60, 60, 60: equal ones in the order of the corpus, and none without a difference.
    assert most_different(SCORES, 9) == [2, 3, 4, 0]
    assert most_different(SCORES, 2) == [2, 3]
    assert most_different(SCORES, 0) == []
    assert most_different([[1.0, 2.0], [1.0, 2.0]], 3) == []


def test_bleu_by_length_is_that_of_the_sentences_of_each_length() -> None:
    lengths = [len(line.split()) for line in REFERENCES]
    parts = by_length({"good": GOOD, "bad": BAD}, [REFERENCES], lengths)
    assert [part["shortest"] for part in parts] == [5, *(part["longest"] + 1 for part in parts[:-1])]
    assert (sum(part["sentences"] for part in parts), parts[-1]["longest"], len(parts)) == (67, 11, 4)
    for part in parts:
        rows = [i for i, length in enumerate(lengths) if part["shortest"] <= length <= part["longest"]]
        correct = [REFERENCES[i] for i in rows]
        assert part["sentences"] == len(rows) > 5
        expected = sacrebleu.corpus_bleu([BAD[i] for i in rows], [correct]).score
        assert part["bleu"]["bad"] == pytest.approx(expected)
    short = by_length({"a": ["b"] * 22 + GOOD}, [["b"] * 22 + REFERENCES], [1] * 22 + lengths)
    assert short[0]["bleu"] == {"a": None}  # no four words in a row
    assert None not in [part["bleu"]["a"] for part in short[1:]]
    assert by_length({"good": GOOD}, [REFERENCES], [1] * 67) == []  # a language without spaces


def test_wins_count_every_sentence() -> None:
    assert wins(SCORES[1], SCORES[0]) == {"better": 3, "worse": 1, "equal": 1}


def test_sentence_scores_are_those_of_sacrebleu() -> None:
    hypotheses, references = ["the cat sat", "", "a"], [["the cat sits", "x", "a"], ["cats sat", "y", "b"]]
    found = sentence_chrf(hypotheses, references)
    for index, score in enumerate(found):
        correct = [lines[index] for lines in references]
        assert score == pytest.approx(sacrebleu.sentence_chrf(hypotheses[index], correct).score)
    assert found[1:] == [0.0, 100.0]
