import re

import numpy as np
import pytest

from translate.alignment.alignment import Alignment
from translate.alignment.transfer import MAX_COPIED, replace_unknown
from translate.text.tokenizer import UNKNOWN


def alignment(source: str, target: list[str], looks_at: list[int | None]) -> Alignment:
    weights = np.zeros((len(target), len(source.split())), dtype=np.float32)
    for row, column in enumerate(looks_at):
        if column is not None:
            weights[row, column] = 1.0
    places = [match.span() for match in re.finditer(r"\S+", source)]
    return Alignment(source.split(), target, weights, places)


@pytest.mark.parametrize(
    ("text", "words", "looks_at", "wanted", "left"),
    [
        ("je ⁇ .", ["je", "⁇", "."], [0, 2, 3], "je Łukasz .", ["je", "Łukasz", "."]),
        ("⁇ukasz dort.", ["⁇", "ukasz", "dort", "."], [2, 2, 1, 3], "Łukasz dort.", ["Łukasz", "dort", "."]),
        ("⁇.", ["⁇", "."], [2, 3], "Łukasz.", ["Łukasz", "."]),
        ("Luk⁇⁇z ⁇", ["Luk", "⁇⁇", "z", "⁇"], [2, 2, 2, 0], "Łukasz I", ["Łukasz", "I"]),
        ("je vois ⁇", ["je", "vois", "⁇"], [0, 1, None], "je vois ⁇", ["je", "vois", "⁇"]),
        ("je vois", ["je", "vois"], [0, 1], "je vois", ["je", "vois"]),
    ],
)  # fmt: skip
def test_unknown_words_become_those_they_look_at(
    text: str, words: list[str], looks_at: list[int | None], wanted: str, left: list[str]
) -> None:
    found, changed = replace_unknown(text, alignment("I see Łukasz .", words, looks_at))
    assert (found, changed.target_words) == (wanted, left)
    assert changed.weights.shape == (len(left), 4)
    assert changed.source_offsets == [(0, 1), (2, 5), (6, 12), (13, 14)]
    if UNKNOWN in text:
        assert [found[begin:end] for begin, end in changed.target_offsets] == left


def test_a_very_long_word_is_not_copied() -> None:
    weights = np.ones((1, 1), dtype=np.float32)
    for length, copied in ((MAX_COPIED, True), (MAX_COPIED + 1, False)):
        text, _ = replace_unknown(UNKNOWN, Alignment(["x" * length], [UNKNOWN], weights))
        assert (text == "x" * length) == copied
