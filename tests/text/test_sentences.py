"""Sentences of a text, with their positions."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translate.text.sentences import WINDOW, split


def sentences(text: str, language: str = "") -> list[str]:
    return [text[start:end] for start, end in split(text, language)]


SENTENCES = {
    "": [],
    "  \t ": [],
    "One sentence": ["One sentence"],
    "One. Two! Three? Four": ["One.", "Two!", "Three?", "Four"],
    "Mr. Smith met Dr. Jones. They left.": ["Mr. Smith met Dr. Jones.", "They left."],
    "J. R. R. Tolkien wrote. We read.": ["J. R. R. Tolkien wrote.", "We read."],
    "It costs 3.50 euros. Good.": ["It costs 3.50 euros.", "Good."],
    "„Komm!“ Er ging.": ["„Komm!“", "Er ging."],
    "He said “no.” Then he left.": ["He said “no.”", "Then he left."],
    "z. B. Äpfel und u. a. Birnen. Ende.": ["z. B. Äpfel und u. a. Birnen.", "Ende."],
    "Am 3. Mai kam er. Er blieb.": ["Am 3. Mai kam er.", "Er blieb."],
    "Wait... what? Yes.": ["Wait... what?", "Yes."],
    "你好。再见！": ["你好。", "再见！"],
    "see e.g. This one.": ["see e.g. This one."],
    "Élan. Été.": ["Élan.", "Été."],
    "no space.Here": ["no space.Here"],
}


@pytest.mark.parametrize("text", SENTENCES)
def test_sentences(text: str) -> None:
    assert sentences(text) == SENTENCES[text]


@pytest.mark.parametrize(
    ("language", "expected"),
    [
        ("fr", ["M. Dupont est là.", "Mme Curie dort.", "« Vraiment ? » dit-il."]),
        ("fr-CA", ["Il vit.", "P. ex. à Paris."]),
        ("de", ["Er kam am 3. Oktober.", "Ca. 5 Leute."]),
        ("en", ["He saw Mr. X at 5 p.m.", "Then he left!", '"Really?" he said.']),
        ("xx", ["One.", "Two."]),
    ],
)
def test_abbreviations_of_languages(language: str, expected: list[str]) -> None:
    assert sentences("  ".join(expected), language) == expected


@given(st.text(alphabet="aB. !?\n«»\"'日。M5😀", max_size=60))
def test_nothing_is_lost_and_positions_are_right(text: str) -> None:
    found = split(text)
    assert "".join("".join(text[start:end].split()) for start, end in found) == "".join(text.split())
    assert all(text[start:end] == text[start:end].strip() != "" for start, end in found)
    assert all(first[1] <= second[0] for first, second in pairwise(found))


def test_a_sentence_without_end_is_cut_at_white_space() -> None:
    found = sentences("word " * WINDOW)
    assert max(map(len, found)) <= WINDOW
    assert " ".join(found).split() == ["word"] * WINDOW
    assert sum(map(len, sentences("x" * 3 * WINDOW))) == 3 * WINDOW
