"""The work for one sentence is bounded, whatever it holds."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from tests.test_translator import SOURCES, TARGETS, build
from translate.alignment.alignment import Alignment
from translate.alignment.transfer import MAX_PLACED
from translate.config.data import TokenizerConfig
from translate.errors import UserError
from translate.search.sources import CUT, UNKNOWN
from translate.text.lines import MAX_CHARACTERS
from translate.text.tokenizer import LONGEST_PIECE, WORDS_A_PIECE, TokenizerPair
from translate.translation_call import TranslationCall
from translate.translator import MANY_TAGS, Translator

LIMIT = 9  # pieces


@pytest.fixture(scope="module")
def tokenizers() -> TokenizerPair:
    return TokenizerPair.train(SOURCES * 5, TARGETS * 5, TokenizerConfig(vocabulary_size=45))[0]


@pytest.fixture
def translator(tokenizers: TokenizerPair) -> Translator:
    translator = build(tokenizers)
    translator.search = replace(translator.search, max_source_pieces=LIMIT, beam_size=2, length_penalty=0.0)
    return translator


@pytest.mark.parametrize(
    "line", ["a " * 40_000, "a" * 90_000, "字" * 90_000, "字 a" * 30_000, "<!--" * 20_000]
)
def test_only_the_words_that_are_read_have_weights(translator: Translator, line: str) -> None:
    (found,) = translator.translate([line], alignments=True, markup=True, replace_unknown=True, n_best=2)
    assert found.alignment is not None
    assert len(found.alignment.source_words) <= LIMIT * WORDS_A_PIECE
    assert sum(map(len, found.alignment.source_words)) <= LIMIT * LONGEST_PIECE
    assert translator.warnings[CUT.format(LIMIT)] == 1
    assert translator.warnings[f"line cut at {MAX_CHARACTERS:,} characters"] == (len(line) > MAX_CHARACTERS)


def test_a_thousand_nested_tags(translator: Translator) -> None:
    plain, marked = "I love you .", "<b>" * 1000 + "I love you ." + "</b>" * 1000
    found = translator.translate([plain, marked], markup=True)
    assert found[1].text.replace("<b>", "").replace("</b>", "").split() == found[0].text.split()
    assert (found[1].text.count("<b>"), found[1].text.count("</b>")) == (1000, 1000)
    assert translator.warnings[MANY_TAGS] == 1
    few = "<b>" * (MAX_PLACED // 2) + "I love you ." + "</b>" * (MAX_PLACED // 2)
    translator.translate([few], markup=True)
    assert translator.warnings[MANY_TAGS] == 1


def test_learned_positions_are_a_limit_of_the_source(tokenizers: TokenizerPair) -> None:
    translator = build(tokenizers, "transformer-learned")
    limit = translator.model.max_target_length
    (found,) = translator.translate(["I <b>love</b> you . " * 60], markup=True, n_best=2, alignments=True)
    assert translator.warnings[CUT.format(limit - 1)] == 1
    assert found.text.count("<b>") == 60


def test_tags_that_the_model_made_up_cost_no_alignment_of_what_was_not_read(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The text without them is aligned with the words that were read, not with the whole line."""
    target, align = translator.tokenizers.target, TranslationCall.align
    words, seen = target.decode_words, []

    def noted(call: TranslationCall, index: int, targets: Sequence[str]) -> list[Alignment]:
        seen.append(call.present[index].pieces)
        return align(call, index, targets)

    monkeypatch.setattr(target, "decode_words", lambda ids: ("x <i>y</i>", words(ids)[1]))
    monkeypatch.setattr(TranslationCall, "align", noted)
    (found,) = translator.translate(["you <b>love</b> " * 99], markup=True, alignments=True)
    assert "<i>" not in found.text
    assert len(seen) == 1
    assert len(seen[0].ids) == LIMIT


def test_weights_of_long_sentences_are_the_same_alone_and_together(
    tokenizers: TokenizerPair, monkeypatch: pytest.MonkeyPatch
) -> None:
    translator = build(tokenizers)
    together = translator.translate(SOURCES, alignments=True)
    monkeypatch.setattr("translate.alignment.methods.MAX_CELLS", 1)
    monkeypatch.setattr("translate.alignment.pairs.MAX_CELLS", 1)
    for one, other in zip(together, translator.translate(SOURCES, alignments=True), strict=True):
        np.testing.assert_allclose(one.alignment.weights, other.alignment.weights, atol=1e-6)


def test_an_ensemble_counts_a_sentence_that_any_member_cuts_or_does_not_know_once(
    tokenizers: TokenizerPair, translator: Translator
) -> None:
    letters = TokenizerPair.train(
        ["a b"] * 9, TARGETS * 5, TokenizerConfig(vocabulary_size=45, shared=False)
    )[0]
    other = build(TokenizerPair(letters.source, tokenizers.target))
    other.search = replace(other.search, max_source_pieces=3)
    other.translate(["z"])  # of its own
    both = translator.join([other, other])
    for _ in range(2):
        both.translate(["I love you ."])
    assert both.warnings == {CUT.format(3): 2, UNKNOWN: 2}
    assert both.unknown > {"I"}
    assert "z" not in both.unknown


def test_half_a_character_is_an_error_of_the_user(translator: Translator) -> None:
    for call in (
        lambda: translator.translate(["I", "\ud800"]),
        lambda: translator.align(["I", "\ud800"], TARGETS[:2]),
    ):
        with pytest.raises(UserError, match="sentence 2 is no text: it has a lone surrogate"):
            call()
