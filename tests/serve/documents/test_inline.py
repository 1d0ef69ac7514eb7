"""Sentences of a run with inline markup, and the run again."""

from collections.abc import Sequence
from typing import SupportsIndex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translate.serve.documents import document
from translate.serve.documents.document import InlineSentence, Tag, Token, cut, join
from translate.text.markup import read_markup


def element(number: int, *content: Token) -> list[Token]:
    return [Tag("start", number), *content, Tag("end", number)]


def translated(tokens: Sequence[Token], words: dict[str, str]) -> list[Token]:
    """The run with another text for each sentence, by its text."""
    parts: list[Token] = []
    for part in cut(tokens, "en"):
        parts += part.tokens(words.get(part.text, part.text)) if isinstance(part, InlineSentence) else [part]
    return join(parts)


def sentences(tokens: Sequence[Token]) -> list[str]:
    return [part.text for part in cut(tokens, "en") if isinstance(part, InlineSentence)]


def test_markup_around_a_sentence_stays_outside() -> None:
    tokens = [" ", *element(0, "One. Two."), "  Three ", *element(1, "four", Tag("alone", 2)), " five."]
    assert sentences(tokens) == ["One.", "Two.", "Three <g1>four<x2/></g1> five."]
    assert translated(tokens, {"One.": "Un.", "Three <g1>four<x2/></g1> five.": "<x2/><g1>4</g1> ."}) == [
        " ", Tag("start", 0), "Un. Two.", Tag("end", 0), "  ",
        Tag("alone", 2), Tag("start", 1), "4", Tag("end", 1), " .",
    ]  # fmt: skip


class Counted(str):
    """A text that counts the characters that are copied out of it."""

    copied = 0

    def __getitem__(self, key: SupportsIndex | slice) -> "Counted":
        part = Counted(super().__getitem__(key))
        Counted.copied += len(part)
        return part


def test_a_long_text_is_copied_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What follows a sentence is not copied for each of them."""
    monkeypatch.setattr(Counted, "copied", 0)
    monkeypatch.setattr(document, "_merged", list)
    text = "Aa bb. " * 300
    assert sentences([Counted(text)]) == ["Aa bb."] * 300
    assert 300 * len("Aa bb.") <= Counted.copied <= len(text)


def test_an_element_across_sentences_is_cut_and_joined() -> None:
    tokens = ["I saw ", *element(3, "him. He"), " ran."]
    assert sentences(tokens) == ["I saw <g3>him.</g3>", "<g3>He</g3> ran."]
    assert translated(tokens, {}) == tokens
    apart = translated(tokens, {"<g3>He</g3> ran.": "Ran <g3>he</g3>."})
    assert apart == ["I saw ", *element(3, "him. "), "Ran ", *element(3, "he"), "."]


def test_a_break_ends_a_sentence() -> None:
    tokens = ["One two", Tag("break", 0), "three ", *element(1, "four", Tag("break", 2), "five")]
    assert sentences(tokens) == ["One two", "three <g1>four</g1>", "five"]
    assert translated(tokens, {}) == tokens


def test_text_that_looks_like_markup_stays_text() -> None:
    tokens = ["Write <b>x</b> or <g0> and <x0/> <!-- in ", *element(0, "HTML"), "."]
    (sentence,) = sentences(tokens)
    assert "<b>" not in sentence
    assert read_markup(sentence).unbalanced == 0
    assert translated(tokens, {}) == tokens


@pytest.mark.parametrize(
    "lost",
    ["no tags", "<g0>half", "</g0>a<g0>", "<g0><g1></g0></g1><x2/>", "<g0></g0><g0></g0><g1></g1><x2/>", ""],
)
def test_no_markup_is_ever_lost(lost: str) -> None:
    tokens = ["A ", *element(0, "b ", *element(1, "c"), Tag("alone", 2)), " d."]
    (sentence,) = sentences(tokens)
    found = translated(tokens, {sentence: lost})
    assert [each for each in found if isinstance(each, Tag)] == [
        each for each in tokens if isinstance(each, Tag)
    ]


TEXTS = st.sampled_from(["Aa ", "bb. ", "Cc.", " ", "1 ", "Dd", ". ", "<b>", "{0}"])
TREES = st.recursive(
    st.lists(TEXTS | st.sampled_from(["alone", "break"]), max_size=4),
    lambda inner: st.lists(TEXTS | inner, max_size=4),
    max_leaves=12,
)


def flattened(tree: list[object], numbers: list[int]) -> list[Token]:
    tokens: list[Token] = []
    for each in tree:
        numbers[0] += 1
        number = numbers[0]
        if isinstance(each, list):
            tokens += element(number, *flattened(each, numbers))
        elif each in ("alone", "break"):
            tokens.append(Tag(each, number))  # type: ignore[arg-type]
        else:
            tokens.append(str(each))
    return tokens


@given(TREES)
def test_untranslated_runs_come_back(tree: list[object]) -> None:
    tokens = flattened(tree, [0])
    expected: list[Token] = []
    for token in tokens:  # texts side by side are one
        if isinstance(token, str) and expected and isinstance(expected[-1], str):
            expected[-1] += token
        else:
            expected.append(token)
    found = translated(tokens, {})
    shown = ["".join(each.split()) if isinstance(each, str) else each for each in found]
    assert [each for each in shown if each] == [
        each for each in ("".join(e.split()) if isinstance(e, str) else e for e in expected) if each
    ]


@given(TREES)
def test_lost_markup_comes_back_nested(tree: list[object]) -> None:
    tokens = flattened(tree, [0])
    found = translated(tokens, dict.fromkeys(sentences(tokens), "x"))
    path: list[int] = []
    for token in found:
        if isinstance(token, Tag) and token.kind == "start":
            path.append(token.number)
        elif isinstance(token, Tag) and token.kind == "end":
            assert path.pop() == token.number
    assert path == []
    assert {each for each in found if isinstance(each, Tag)} == {
        each for each in tokens if isinstance(each, Tag)
    }
