import math
from collections import Counter
from typing import Any

import pytest

from translate.config.data import TokenizerConfig
from translate.text.subword_sampling import sample_corpus
from translate.text.tokenizer import UNK, Tokenizer, train_tokenizer

LINES = [f"the quick foxes {word} over {word}ing dogs" for word in ("jump", "walk", "talk", "climb")] * 5
TYPES = ("unigram", "bpe")


def tokenizer_of(kind: Any, size: int = 60) -> Tokenizer:
    return train_tokenizer(LINES, TokenizerConfig(model_type=kind, vocabulary_size=size))


@pytest.mark.parametrize("kind", TYPES)
def test_other_pieces_of_the_same_text_and_the_same_for_the_same_seed(kind: str) -> None:
    tokenizer = tokenizer_of(kind)
    drawn = sample_corpus(tokenizer, LINES, 0.3, [5, 1, 0])
    assert drawn != tokenizer.encode_corpus(LINES)
    assert [tokenizer.decode(ids) for ids in drawn] == LINES
    assert sample_corpus(tokenizer, LINES, 0.3, [5, 1, 0]) == drawn
    assert sample_corpus(tokenizer, LINES, 0.3, [5, 2, 0]) != drawn
    assert len({tuple(ids) for ids in sample_corpus(tokenizer, LINES[:1] * 50, 0.3, [7])}) > 2


def test_without_dropout_bpe_equals_sentencepiece() -> None:
    tokenizer = tokenizer_of("bpe")
    texts = [*LINES, "", "unseen words: jumping, over", "the жук walks", "ж"]
    assert sample_corpus(tokenizer, texts, 1e-12, [1]) == tokenizer.encode_corpus(texts)
    assert UNK in sample_corpus(tokenizer, ["the жук walks"], 0.5, [1])[0]


@pytest.mark.parametrize("kind", TYPES)
def test_a_tag_before_a_sentence_stays_whole(kind: Any) -> None:
    config = TokenizerConfig(model_type=kind, vocabulary_size=60)
    tokenizer = train_tokenizer(LINES, config, symbols=("<2de>", ">>fra<<"))
    for tag in tokenizer.tags:
        for ids in sample_corpus(tokenizer, [f"{tag} {line}" for line in LINES], 0.3, [2]):
            assert tag in tokenizer.pieces(ids)[:2]
            assert UNK not in ids


def test_a_unigram_model_draws_by_smoothed_probability() -> None:
    tokenizer, count, smoothing = tokenizer_of("unigram"), 4000, 0.5
    drawn = Counter(map(tuple, sample_corpus(tokenizer, ["the dogs"] * count, smoothing, [3])))
    best = tokenizer._processor.nbest_encode_as_ids("the dogs", 32)
    weights = {
        tuple(ids): math.exp(smoothing * sum(tokenizer._processor.get_score(i) for i in ids)) for ids in best
    }
    total = sum(weights.values())
    assert len(weights) > 3
    for ids, weight in weights.items():
        assert abs(drawn[ids] / count - weight / total) < 0.04
    many = sample_corpus(tokenizer, LINES, 1e6, [3])  # the best always
    assert many == tokenizer.encode_corpus(LINES)
