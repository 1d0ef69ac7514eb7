"""Whatever a line holds, its time grows with its length alone.

Each text is as long as a line can be. The work takes 0.1 to 0.4 s of the processor; in quadratic time it took
minutes, or half of one at least.
"""

import time
from collections.abc import Callable

import numpy as np
import pytest

from translate.alignment.alignment import Alignment
from translate.alignment.transfer import MAX_PLACED, place_markup
from translate.config.data import TokenizerConfig
from translate.text.lines import MAX_CHARACTERS
from translate.text.markup import MARKUP, read_markup
from translate.text.sentences import split
from translate.text.tokenizer import train_tokenizer
from translate.text.words import split_words

SECONDS = 5.0  # of the processor


def full(unit: str) -> str:
    """A text of as many characters as a line may have."""
    return (unit * (MAX_CHARACTERS // len(unit) + 1))[:MAX_CHARACTERS]


def check(work: Callable[[], object]) -> None:
    began = time.process_time()
    work()
    assert time.process_time() - began < SECONDS


UNCLOSED = "".join(f"<a{n}>" for n in range(4_500)) + "".join(f"</b{n}>" for n in range(4_500))
MARKED = ["<!--", "{a:", "{{ ", "<b>", "<a '\"", "<a x='", "<?", "<a<b", "{", "<b>I</b>", "--><!--", "%1"]


NESTED = ["<a" * 20_000 + ">" * 20_000, "{" * 30_000 + "0" + "}" * 30_000]


@pytest.mark.slow
@pytest.mark.parametrize("text", [*map(full, MARKED), "%" + full("0"), "%" + full("1"), UNCLOSED, *NESTED])
def test_markup(text: str) -> None:
    check(lambda: read_markup(text))


@pytest.mark.parametrize("unit", ["a ", "a", "字", "1.", "e\u0301", "👩\u200d", "-le"])
def test_words(unit: str) -> None:
    check(lambda: split_words(full(unit)))


@pytest.mark.parametrize("unit", ["!", "A. ", '."', "a. b ", "。", "Mr. ", " "])
def test_sentences(unit: str) -> None:
    check(lambda: split(full(unit) + "x"))


@pytest.mark.slow
@pytest.mark.parametrize("model_type", ["unigram", "bpe"])
def test_pieces(model_type: str) -> None:
    config = TokenizerConfig(vocabulary_size=30, model_type=model_type)  # type: ignore[arg-type]
    tokenizer = train_tokenizer(["a b aab", "ba bb aa 字 ab"] * 9, config)
    for unit in ("a", "字", "я ", "ab a"):
        check(lambda unit=unit: tokenizer.encode_words(full(unit)))  # type: ignore[misc]


@pytest.mark.slow
@pytest.mark.parametrize(
    "sentence", ["<b>w </b>" * 7_000, "<b>" * 9_000 + "w" + "</b>" * 9_000, "w<br/>" * 9_000]
)
def test_more_tags_than_are_aligned_keep_their_order(sentence: str) -> None:
    marked = read_markup(sentence)
    assert len(marked.items) > MAX_PLACED
    words = [word.text for word in split_words(marked.text)][:500]
    alignment = Alignment(words, ["v"] * 500, np.ones((500, len(words))))
    placed = ""

    def place() -> None:
        nonlocal placed
        placed = place_markup(marked, " ".join(alignment.target_words), alignment)

    check(place)
    assert [match.group() for match in MARKUP.finditer(placed)] == [item.text for item in marked.items]
