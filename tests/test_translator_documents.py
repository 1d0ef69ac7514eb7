"""Translating with the previous sentences of a document."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.one_batch import beam_search
from tests.tiny_models import tiny_model
from translate.alignment.alignment import AlignmentChoice
from translate.alignment.methods import align
from translate.alignment.pairs import EncodedPair
from translate.config.data import TokenizerConfig
from translate.config.search import SearchConfig
from translate.errors import UserError
from translate.models import Seq2Seq
from translate.text.documents import ContextSize, in_context
from translate.text.tokenizer import BOS, EOS, TokenizerPair
from translate.translator import WITHOUT_CONTEXT, Translator

LINES = ["the dog runs .", "it barks .", "the cat sleeps on the bed .", "it is old ."]
TARGETS = ["le chien court .", "il aboie .", "le chat dort sur le lit .", "il est vieux ."]
SEARCH = SearchConfig(beam_size=3, max_length_ratio=1.0, max_length_extra=3, batch_size=3)
CONTEXT = [[], LINES[:1], LINES[:2], LINES[1:3]]


@pytest.fixture(scope="module")
def tokenizers() -> TokenizerPair:
    return TokenizerPair.train(LINES * 5, TARGETS * 5, TokenizerConfig(vocabulary_size=60), tokenised=True)[0]


def build(tokenizers: TokenizerPair, size: ContextSize, name: str = "bahdanau-hierarchical") -> Translator:
    sizes: Any = {"source_vocabulary": len(tokenizers.source), "target_vocabulary": len(tokenizers.target)}
    model: Seq2Seq = tiny_model(name, seed=4, **sizes)
    model.read_documents(size.sentences)
    return Translator(model, tokenizers, SEARCH, AlignmentChoice(0, (0,), 0), ("en", "fr"), context=size)


def joined(tokenizers: TokenizerPair, index: int) -> list[int]:
    encode = tokenizers.source.encode
    return [*(piece for line in CONTEXT[index] for piece in (*encode(line), BOS)), *encode(LINES[index]), EOS]


@pytest.mark.parametrize("name", ["bahdanau-hierarchical", "transformer-hierarchical", "luong"])
def test_translations_are_those_of_the_joined_source(tokenizers: TokenizerPair, name: str) -> None:
    translator = build(tokenizers, ContextSize(2, 100), name)
    found = translator.translate(LINES, context=CONTEXT, alignments=True)
    limits = replace(SEARCH, max_length_ratio=0.0)
    for index, result in enumerate(found):
        own = len(tokenizers.source.encode(LINES[index])) + 1
        config = replace(limits, max_length_extra=own + SEARCH.max_length_extra)
        source = torch.tensor([joined(tokenizers, index)])
        ids = beam_search(translator.model, source, None, config)[0][0].ids
        assert result.text == tokenizers.target.decode(ids)
        assert len(result.tokens) < own + SEARCH.max_length_extra  # not those of a longer source
        assert result.alignment.source_words == LINES[index].split()
    assert not translator.warnings
    alone = translator.translate(LINES)
    assert [each.score for each in alone[1:]] != [each.score for each in found[1:]]
    assert alone[0].text == found[0].text
    assert translator.warnings == {WITHOUT_CONTEXT: 4}
    assert translator.translate(LINES, context=[[]] * 4) == alone


def test_a_recorded_alignment_is_that_of_teacher_forcing(tokenizers: TokenizerPair) -> None:
    translator = build(tokenizers, ContextSize(2, 100))
    for index, result in enumerate(translator.translate(LINES, context=CONTEXT, alignments=True)):
        before = [tokenizers.source.encode(line) for line in CONTEXT[index]]
        source = in_context(tokenizers.source.encode_words(LINES[index]), before)
        target = tokenizers.target.decode_words(tokenizers.target.ids(result.tokens))[1]
        (forced,) = align(translator.model, [EncodedPair.of(source, target)], translator.choice)
        np.testing.assert_allclose(result.alignment.weights, forced.weights, atol=1e-5)


def test_only_the_nearest_sentences_within_both_limits_are_read(tokenizers: TokenizerPair) -> None:
    def found(size: ContextSize, before: list[str]) -> tuple[str, float]:
        (result,) = build(tokenizers, size).translate(LINES[3:], context=[before])
        return result.text, result.score

    def assert_equal(one: tuple[str, float], other: tuple[str, float]) -> None:
        assert one[0] == other[0]
        assert one[1] == pytest.approx(other[1], abs=1e-9)

    more = ["it is old .", "", *LINES[1:3]]  # a blank one is none
    assert_equal(found(ContextSize(2, 100), more), found(ContextSize(2, 100), LINES[1:3]))
    pieces = len(tokenizers.source.encode(LINES[2])) + 1
    assert_equal(found(ContextSize(2, pieces), LINES[1:3]), found(ContextSize(1, 100), LINES[2:3]))
    assert_equal(found(ContextSize(2, pieces - 1), LINES[1:3]), found(ContextSize(2, pieces - 1), []))


def test_context_that_does_not_fit_is_refused(tokenizers: TokenizerPair) -> None:
    with pytest.raises(UserError, match="reads no previous sentence"):
        build(tokenizers, ContextSize()).translate(LINES, context=CONTEXT)
    translator = build(tokenizers, ContextSize(1, 9))
    with pytest.raises(UserError, match="2 lists of previous sentences for 4 sentences"):
        translator.translate(LINES, context=CONTEXT[:2])
    with pytest.raises(UserError, match="expected a list of sentences, got one string"):
        translator.align(LINES[:1], TARGETS[:1], context=["the dog"])
    with pytest.raises(UserError, match="reads no previous sentence"):
        build(tokenizers, ContextSize()).align_document(LINES[1], TARGETS[1], LINES[:1])


def test_markup_of_previous_sentences_is_not_read(tokenizers: TokenizerPair) -> None:
    translator = build(tokenizers, ContextSize(1, 100))
    marked = [["the <b>dog</b> runs ."]]
    found = translator.translate(["it <i>barks</i> ."], context=marked, markup=True)
    plain = translator.translate(["it <i>barks</i> ."], context=[LINES[:1]], markup=True)
    assert found == plain


def test_both_levels_of_a_document(tokenizers: TokenizerPair, tmp_path: Path) -> None:
    translator = build(tokenizers, ContextSize(2, 100))
    document = translator.align_document(LINES[2], "lit", LINES[:2])
    words = document.words
    assert words.source_words == [*LINES[0].split(), *LINES[1].split(), *LINES[2].split()]
    assert list(document.starts) == [0, 4, 7]
    target = tokenizers.target.encode_words("lit")
    source = torch.tensor([joined(tokenizers, 2)])
    with torch.no_grad():
        (pieces,) = translator.model.forced_weights(source, None, torch.tensor([[BOS, *target.ids]]), [0])
    rows = pieces[0, 0, : len(target.ids)].numpy()
    lengths = [len(tokenizers.source.encode(line)) for line in LINES[:3]]
    edges = np.cumsum([0, lengths[0] + 1, lengths[1] + 1, lengths[2]])
    inside = np.stack([rows[:, a : a + n].sum(1) for a, n in zip(edges, lengths)], 1)
    expected = (inside / inside.sum(1, keepdims=True)).mean(0)
    np.testing.assert_allclose(document.sentences.weights[0], expected, atol=1e-5)
    assert document.sentences.source_words == ["2 before", "1 before", "this sentence"]
    own = words.weights[:, 7:]
    (alone,) = translator.align([LINES[2]], ["lit"], context=[LINES[:2]])
    if len(target.ids) == 1:  # else rows of pieces are normalised before their mean
        np.testing.assert_allclose(own / own.sum(), alone.weights, atol=1e-5)
    drawn = document.draw(tmp_path / "document.svg")
    text = drawn.read_text()
    assert all(f">{word}<" in text for word in ("sentences", "words", "1 before", "barks", "lit"))
    plain = document.words.heatmap(tmp_path / "words.svg").read_text()
    assert text.count("#ff7f0e") == 2  # a line before each sentence but the first
    assert "#ff7f0e" not in plain
