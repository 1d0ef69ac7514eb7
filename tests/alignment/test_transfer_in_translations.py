"""Markup and unknown words, through a whole translation."""

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import translate
from translate.text.markup import MARKUP, read_markup
from translate.text.tokenizer import UNKNOWN
from translate.translator import Translator


@pytest.fixture(scope="module")
def translator(tiny_runs: dict[str, Path]) -> Translator:
    return translate.load(tiny_runs["transformer"], device="cpu")


words = st.sampled_from(["I", "love", "you", "the cat", "sleeps", ".", "{0}", "<br/>", "&lt;"])
sentences = st.recursive(
    st.lists(words, max_size=4).map(" ".join),
    lambda inner: st.tuples(inner, st.sampled_from("bi"), inner).map(
        lambda found: f"{found[0]} <{found[1]}>{found[2]}</{found[1]}>"
    ),
    max_leaves=4,
)


@pytest.mark.slow
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(sentences, min_size=1, max_size=5))
def test_the_text_is_the_translation_of_the_text_without_markup(
    translator: Translator, lines: list[str]
) -> None:
    found = translator.translate(lines, markup=True, beam_size=1)
    plain = translator.translate([read_markup(line).text for line in lines], beam_size=1)
    for line, result, other in zip(lines, found, plain, strict=True):
        tags = Counter(each.text for each in read_markup(line).items)
        assert Counter(match.group() for match in MARKUP.finditer(result.text)) == tags
        without = read_markup(result.text).text if tags else result.text
        assert "".join(without.split()) == "".join(other.text.split())
        assert result.score == pytest.approx(other.score, abs=1e-5)
        assert not result.alignment


@pytest.mark.parametrize(
    "line", ["I <b>love</b> you .", "<b>I</b> {0} b <i>love <b>b</b></i>you<br/> b .", "b"]
)
def test_offsets_are_into_the_marked_texts(translator: Translator, line: str) -> None:
    (found,) = translator.translate([line], markup=True, alignments=True)
    aligned = found.alignment
    assert aligned is not None
    for text, words, offsets in (
        (line, aligned.source_words, aligned.source_offsets),
        (found.text, aligned.target_words, aligned.target_offsets),
    ):
        assert words
        assert [MARKUP.sub("", text[begin:end]) for begin, end in offsets] == words
        within = {place for match in MARKUP.finditer(text) for place in range(*match.span())}
        assert within.isdisjoint(place for begin, end in offsets for place in (begin, end - 1))


def test_unbalanced_tags_are_counted_and_kept(translator: Translator) -> None:
    translator.warnings.clear()
    found = translator.translate(["I <b>love you .", "I love you .", "</i> you"], markup=True)
    assert [len(MARKUP.findall(each.text)) for each in found] == [1, 0, 1]
    assert dict(translator.warnings) == {"tags without a partner or crossing, kept as well as possible": 2}
    translator.warnings.clear()


def test_unknown_words_are_copied(translator: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = translator.translate(["I love you ."])[0]
    assert translator.translate(["I love you ."], replace_unknown=True)[0] == plain
    # A model that has no word but the unknown one.
    tokenizer = translator.tokenizers.target
    words = tokenizer.decode_words

    def nothing_known(ids: list[int]) -> object:
        pieces = words(ids)[1]
        unknown = [each._replace(text=UNKNOWN) for each in pieces.words]
        return " ".join(each.text for each in unknown), pieces._replace(words=unknown)

    monkeypatch.setattr(tokenizer, "decode_words", nothing_known)
    (found,) = translator.translate(["I love you ."], replace_unknown=True, alignments=True)
    assert found.text
    assert set(found.text.split()) <= {"I", "love", "you", "."}
    assert found.alignment.target_words == found.text.split()
