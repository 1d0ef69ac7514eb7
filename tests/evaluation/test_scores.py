import pytest
import sacrebleu

from translate.errors import UserError
from translate.evaluation.scores import (
    ambiguous_scores,
    bleu_score,
    corpus_scores,
    lowercased_bleu,
    slipped_part,
    too_short,
)
from translate.grammar.generator import generate

REFERENCES = ["The cat sits on the mat, quietly.", "It's raining in the old town again today."]
HYPOTHESES = ["The cat sat on the mat, quietly.", "it rains in the old town again today"]


def test_scores_are_those_of_sacrebleu() -> None:
    scores = corpus_scores(HYPOTHESES, REFERENCES)
    assert scores.bleu == pytest.approx(sacrebleu.corpus_bleu(HYPOTHESES, [REFERENCES]).score)
    assert scores.chrf == pytest.approx(sacrebleu.corpus_chrf(HYPOTHESES, [REFERENCES]).score)
    assert scores.ter == pytest.approx(sacrebleu.corpus_ter(HYPOTHESES, [REFERENCES]).score)
    assert 20 < scores.bleu < 80
    assert bleu_score(HYPOTHESES, REFERENCES) == scores.bleu


def test_the_ends_of_the_scales() -> None:
    assert corpus_scores(REFERENCES, REFERENCES)[:3] == pytest.approx((100.0, 100.0, 0.0))
    assert corpus_scores(REFERENCES, REFERENCES).bleu <= 100.0
    assert bleu_score(REFERENCES, REFERENCES) <= 100.0
    nothing = corpus_scores(["", ""], REFERENCES)
    assert nothing[:3] == pytest.approx((0.0, 0.0, 100.0))


def test_case_counts_and_languages_have_their_tokenizer() -> None:
    assert corpus_scores([line.upper() for line in REFERENCES], REFERENCES).bleu < 20
    hypotheses, references = ["我喜欢猫和狗。"], ["我喜欢狗和猫。"]
    chinese = corpus_scores(hypotheses, references, target_language="zh")
    assert "tok:zh" in chinese.signature
    for language in ("ja", "th", "ko-KR"):
        assert "tok:char" in corpus_scores(hypotheses, references, target_language=language).signature
    assert bleu_score(hypotheses, references, target_language="zh") == chinese.bleu
    assert chinese.bleu != bleu_score(hypotheses, references)


def test_lines_of_three_words_are_too_short_for_bleu() -> None:
    assert bleu_score(["a b c"], ["a b c"]) == 0
    assert too_short(["a b c", "d"], target_language="en")
    assert not too_short(["a b c", "a b c d"], target_language="en")
    assert not too_short(["我喜欢狗和猫。"], target_language="zh")


@pytest.mark.parametrize("score", [bleu_score, corpus_scores])
def test_what_cannot_be_scored(score) -> None:
    with pytest.raises(UserError, match="1 translations but 2 references"):
        score(["a"], ["a", "b"])
    with pytest.raises(UserError, match="no translation"):
        score([], [])


def test_several_references_are_those_of_sacrebleu() -> None:
    others = ["A cat sat on a mat.", "It rains in the old town."]
    scores = corpus_scores(HYPOTHESES, REFERENCES, others)
    assert scores.bleu == pytest.approx(sacrebleu.corpus_bleu(HYPOTHESES, [REFERENCES, others]).score)
    assert scores.chrf == pytest.approx(sacrebleu.corpus_chrf(HYPOTHESES, [REFERENCES, others]).score)
    assert "nrefs:2" in scores.signature
    assert scores.bleu > corpus_scores(HYPOTHESES, REFERENCES).bleu
    with pytest.raises(UserError, match="2 translations but 1 references"):
        corpus_scores(HYPOTHESES, REFERENCES, others[:1])


def test_ter_counts_the_characters_of_chinese_and_japanese() -> None:
    scores = corpus_scores(["我喜欢狗"], ["我喜欢猫"], target_language="zh")
    assert scores.ter == pytest.approx(25)  # one of four characters
    assert "asian:yes" in scores.signatures["ter"]
    assert corpus_scores(["I like dogs"], ["I like cats"], target_language="de").ter == pytest.approx(100 / 3)


def test_lowercased_bleu_is_that_of_lowercased_text() -> None:
    shouted = [line.upper() for line in HYPOTHESES]
    score, signature = lowercased_bleu(shouted, REFERENCES)
    low = [line.lower() for line in HYPOTHESES], [line.lower() for line in REFERENCES]
    assert score == pytest.approx(sacrebleu.corpus_bleu(low[0], [low[1]]).score)
    assert score > bleu_score(shouted, REFERENCES) + 10
    assert {"case:lc", "tok:13a"} <= set(signature.split("|"))


def test_ambiguous_sentences_by_hand() -> None:
    sentences = ["it is red .", "it is red .", "it is red .", "they are blue .", "a", "a"]
    references = ["il est rouge .", "elle est rouge .", "il est rouge .", "ils sont bleus .", "b", "b"]
    hypotheses = ["il est rouge .", "il est rouge .", "elle est rouge .", "x", "b", "b"]
    found = ambiguous_scores(sentences, hypotheses, references)
    assert found.sentences == 3  # the others have one reference
    assert found.right == pytest.approx(1 / 3)
    assert found.chance == pytest.approx(2 / 3)
    assert ambiguous_scores(sentences[3:], hypotheses[3:], references[3:]) is None


@pytest.mark.parametrize("shift", [1, -1])
def test_a_test_set_that_has_slipped_is_found(shift: int) -> None:
    references = [pair.target for pair in generate(0, 0, 300, 1, target="fr")["test"]]
    half = [" ".join(line.split()[::2]) for line in references]
    assert slipped_part(half, references) is None
    slipped = [*references[shift:], *references[:shift]]
    assert slipped_part(half, slipped) == (0, 300)
    assert slipped_part(half, [*references[:100], *slipped[100:]]) == (100, 300)
    assert slipped_part(half[:99], slipped[:99]) is None  # so few do not tell
    assert slipped_part(["le ."] * 300, references) is None
