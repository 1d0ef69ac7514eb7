import threading

import pytest

from translate.text.sampling import sample_corpus
from translate.text.tokenizer import Tokenizer, TokenizerConfig, train_tokenizer

LINES = [f"the quick foxes {word} over {word}ing dogs" for word in ("jump", "walk", "talk", "climb")] * 5


@pytest.fixture(scope="module", params=["unigram", "bpe"])
def tokenizer(request: pytest.FixtureRequest) -> Tokenizer:
    config = TokenizerConfig(model_type=request.param, vocabulary_size=60)
    return train_tokenizer(LINES, config).tokenizer


def test_other_pieces_of_the_same_text_and_the_same_for_the_same_seed(tokenizer: Tokenizer) -> None:
    drawn = sample_corpus(tokenizer, LINES, 0.3, [5, 1, 0])
    assert drawn != tokenizer.encode_corpus(LINES)
    assert [tokenizer.decode(ids) for ids in drawn] == LINES
    found: list[list[list[int]]] = []
    thread = threading.Thread(target=lambda: found.append(sample_corpus(tokenizer, LINES, 0.3, [5, 1, 0])))
    thread.start()
    thread.join()
    assert found == [drawn]  # whatever was drawn before, and wherever
    assert sample_corpus(tokenizer, LINES, 0.3, [5, 2, 0]) != drawn


def test_equal_lines_are_cut_in_many_ways(tokenizer: Tokenizer) -> None:
    drawn = sample_corpus(tokenizer, LINES[:1] * 50, 0.3, [7])
    assert len({tuple(ids) for ids in drawn}) > 2
