"""What a translator makes of its search's settings."""

import math
import re
import threading
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from tests.one_batch import beam_search
from tests.test_translator import SEARCH, SOURCES, build, tokenizers  # noqa: F401 (a fixture)
from tests.tiny_models import BACKENDS
from translate.alignment.alignment import NO_ALIGNMENT, AlignmentChoice
from translate.alignment.methods import align
from translate.alignment.pairs import EncodedPair
from translate.config.data import TokenizerConfig
from translate.errors import UserError
from translate.search.beam import Finished, Hypothesis
from translate.search.running import RunningBatch
from translate.search.sources import CUT, length_batches, read_requests
from translate.text.tokenizer import BOS, EOS, TokenizerPair
from translate.translation import TranslateOptions
from translate.translation_call import UNMET, TranslationCall


@pytest.mark.slow
@torch.no_grad()
def test_the_coverage_penalty_is_that_of_the_shown_attention(tokenizers: TokenizerPair) -> None:  # noqa: F811
    translator = build(tokenizers)
    beta = 0.7
    results = translator.translate(SOURCES, n_best=4, search=replace(SEARCH, coverage_penalty=beta))
    for sentence, result in zip(SOURCES, results, strict=True):
        source = torch.tensor([[*tokenizers.source.encode(sentence), EOS]])
        expected = []
        for each in beam_search(translator.model, source, None, SEARCH)[0]:
            target = torch.tensor([[BOS, *each.ids]])
            weights = translator.model.forced_weights(source, None, target, [0])[0][0, 0, :-1, :-1]
            rows = weights / weights.sum(1, keepdim=True)
            covered = [min(float(column), 1.0) for column in rows.sum(0)]
            expected.append(each.score + beta * sum(math.log(max(value, 1e-6)) for value in covered))
        found = [candidate.score for candidate in result.n_best]
        assert found == pytest.approx(sorted(expected, reverse=True), abs=1e-4)


def test_prefixes_and_constraints_for_each_sentence(tokenizers: TokenizerPair) -> None:  # noqa: F811
    translator = build(tokenizers, "luong")
    plain = translator.translate(SOURCES[:2])
    results = translator.translate(SOURCES[:2], prefix=["", "les"], constraints=[[], ["lit"]])
    assert results[0] == plain[0]
    assert results[1].text.startswith("les")
    assert "lit" in results[1].text
    for options in ({"prefix": ["a"]}, {"constraints": [["a"]]}):
        with pytest.raises(UserError, match="expected one a sentence, that is 2, got 1"):
            translator.translate(SOURCES[:2], **options)
    wrong: list[Any] = ["lit", 3, ["lit", []], [["lit"], None], [1, 2]]
    for constraints in wrong:
        with pytest.raises(UserError, match="list of phrases"):
            translator.translate(SOURCES[:2], constraints=constraints)
    with pytest.raises(UserError, match="prefix: expected text, or a list of texts"):
        translator.translate(SOURCES[:2], prefix=[1, 2])


def test_a_phrase_may_have_other_forms_and_begin_with_a_capital(tokenizers: TokenizerPair) -> None:  # noqa: F811
    translator = build(tokenizers, "luong")
    for result in translator.translate(SOURCES, constraints=["lit|les chat", "je"], beam_size=3):
        assert {"lit", "les chat"} & {*re.findall("lit|les chat", result.text)}
        assert "je" in result.text
    pair = TokenizerPair.train(["a b"] * 9, ["Le lit", "le Lit"] * 9, TokenizerConfig(shared=False))[0]
    (request, _), *_ = read_requests(pair.target, 1, None, ["le|Lit", "lit"], None)
    forms = [pair.target.decode(list(ids)) for ids in request.phrases]
    assert dict(zip(forms, request.wishes, strict=True)) == {"le": 0, "Le": 0, "Lit": 0, "lit": 1}
    with pytest.raises(UserError, match="constraints: 101 phrases of a sentence; expected at most 100"):
        translator.translate(SOURCES, constraints=["lit"] * 101)


@pytest.mark.parametrize("phrase", ["lit", "chat", "les chat", "lit|je"])
def test_a_glossary_leaves_translations_that_have_its_phrases(tokenizers: TokenizerPair, phrase: str) -> None:  # noqa: F811
    translator, term = build(tokenizers, "luong"), {"you": phrase}
    for begin in ("lit", "chats", "je"):
        (plain,) = translator.translate(["I love you ."], prefix=begin)
        (forced,) = translator.translate(["I love you ."], prefix=begin, constraints=[phrase])
        (found,) = translator.translate(["I love you ."], prefix=begin, glossary=term)
        has = re.search(rf"\b({phrase}s?)\b", plain.text.lower())  # chats is four letters and an ending
        assert found == (plain if has else forced)
        assert translator.translate(["you", "I love"], prefix=begin, glossary=term)[1].text.startswith(begin)
    (both,) = translator.translate(["I love you ."], constraints=["les"], glossary=term)
    assert "les" in both.text


def test_a_phrase_of_a_glossary_that_cannot_be_met_is_told(tokenizers: TokenizerPair) -> None:  # noqa: F811
    translator = build(tokenizers, "luong")
    options = TranslateOptions(beam_size=1, search=replace(SEARCH, max_length=6))
    plain = translator.translate(SOURCES, options=options)
    found = translator.translate(SOURCES, options=options, glossary={"love": "lit les chat aime lit"})
    assert found[1:] == plain[1:]
    assert translator.warnings[UNMET] == (found[0] == plain[0])


@pytest.mark.parametrize("phrase", ["lit", "je", "les chat", "l'"])
def test_no_word_goes_on_with_a_phrase(tokenizers: TokenizerPair, phrase: str) -> None:  # noqa: F811
    """Only a phrase that ends with a sign may be the beginning of a word."""
    translator = build(tokenizers, "luong")
    inner = {piece for piece in translator.tokenizers.target.all_pieces if piece[0].isalnum()}
    assert inner
    for result in translator.translate(SOURCES, constraints=[phrase], beam_size=3):
        words = f" {result.text} "
        assert f" {phrase}" in words
        if phrase.isalpha() or " " in phrase:
            assert re.search(rf" {phrase}(?!\w)", words)


def test_settings_of_one_search_are_those_that_it_follows(tokenizers: TokenizerPair) -> None:  # noqa: F811
    translator = build(tokenizers)
    short = translator.translate(SOURCES, search=replace(SEARCH, max_source_pieces=3))
    assert translator.warnings[CUT.format(3)] == len(SOURCES) - 1  # the last is one word
    sampling = build(tokenizers)
    sampling.search = replace(SEARCH, max_source_pieces=3, sample=True)
    assert sampling.translate(SOURCES, beam_size=SEARCH.beam_size) == short


@pytest.mark.slow
def test_an_ensemble_with_itself_is_itself(tokenizers: TokenizerPair) -> None:  # noqa: F811
    translator = build(tokenizers)
    both = translator.join([build(tokenizers)])
    assert "ensemble of 4" in repr(both.join([both]))
    expected, found = translator.translate(SOURCES), both.translate(SOURCES)
    assert [each.text for each in found] == [each.text for each in expected]
    assert [each.score for each in found] == pytest.approx([each.score for each in expected])


def test_batches_have_like_lengths_and_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    lengths = [5, 0, 3, 9, 4, 4, 0, 8]
    monkeypatch.setattr("translate.search.sources.MAX_BATCH_PIECES", 16)
    batches = list(length_batches(lengths, 3))
    assert batches == [[2, 4, 5], [0, 7], [3]]
    assert list(length_batches([100], 3)) == [[0]]
    monkeypatch.setattr("translate.search.sources.MAX_RECORDED", 40)
    assert list(length_batches([4, 4, 5, 5], 3, [(16, 1), (16, 1), (25, 1), (25, 1)])) == [[0, 1], [2], [3]]
    monkeypatch.setattr("translate.search.sources.MAX_CACHED", 8)
    assert list(length_batches([4, 4, 5, 5], 3, [(1, 4), (1, 4), (1, 5), (1, 5)])) == [[0, 1], [2], [3]]


@pytest.mark.slow
@pytest.mark.parametrize(("beam_size", "sampled"), [(1, False), (3, False), (1, True)])
@pytest.mark.parametrize("name", BACKENDS)
def test_recorded_alignments_are_those_of_teacher_forcing(
    tokenizers: TokenizerPair,  # noqa: F811
    name: str,
    beam_size: int,
    *,
    sampled: bool,
) -> None:
    lines = [*SOURCES, "", SOURCES[0] + " " + SOURCES[1]]
    search = replace(SEARCH, sample=sampled)
    for shift in (0, 1):
        translator = build(tokenizers, name)
        layer, heads = translator.model.num_attention_layers - 1, translator.model.num_attention_heads
        translator.choice = AlignmentChoice(layer, (heads - 1, 0) if heads > 1 else (0,), shift)
        options: dict[str, Any] = {"search": replace(search, beam_size=beam_size)}
        plain = translator.translate(lines, **options)
        found = translator.translate(lines, alignments=True, **options)
        assert [replace(each, alignment=NO_ALIGNMENT) for each in found] == plain  # to the last bit
        for line, result in zip(lines, found, strict=True):
            if not line:
                continue
            pieces = [tokenizers.target._processor.piece_to_id(piece) for piece in result.tokens]
            pair = EncodedPair.of(
                tokenizers.source.encode_words(line), tokenizers.target.decode_words(pieces)[1]
            )
            (expected,) = align(translator.model, [pair], translator.choice)
            assert result.alignment.target_words == expected.target_words
            np.testing.assert_allclose(result.alignment.weights, expected.weights, atol=1e-5)
        assert any(each.alignment.weights.size > 4 for each in found)


@pytest.mark.slow
def test_batches_whose_attention_is_recorded_are_bounded(
    tokenizers: TokenizerPair,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    translator = build(tokenizers)
    sizes: list[int] = []
    step = RunningBatch.step

    def spy(running: RunningBatch) -> list[Finished]:
        sizes.append(len(running.live))
        return step(running)

    monkeypatch.setattr(RunningBatch, "step", spy)
    monkeypatch.setattr("translate.search.sources.MAX_RECORDED", 1)
    found = translator.translate(SOURCES * 2, batch_size=4)
    assert max(sizes) > 1
    sizes.clear()
    bounded = translator.translate(SOURCES * 2, batch_size=4, alignments=True)
    assert max(sizes) == 1
    assert [each.text for each in bounded] == [each.text for each in found]


@pytest.mark.slow
def test_an_interrupt_leaves_nothing_running(
    tokenizers: TokenizerPair,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    translator, running = build(tokenizers), threading.active_count()
    translator.workers = 2
    steps = 0
    step = RunningBatch.step

    def interrupted(batch: RunningBatch) -> list[Finished]:
        nonlocal steps
        steps += 1
        if steps == 9:
            raise KeyboardInterrupt
        return step(batch)

    monkeypatch.setattr(RunningBatch, "step", interrupted)
    with pytest.raises(KeyboardInterrupt):
        translator.translate(SOURCES * 20, batch_size=2)
    assert threading.active_count() == running
    assert steps < 40  # the other worker stopped at its next step


@pytest.mark.slow
def test_options_are_the_keywords(tokenizers: TokenizerPair) -> None:  # noqa: F811
    translator = build(tokenizers)
    options = TranslateOptions(batch_size=2, prefix="les", constraints=["lit"])
    expected = translator.translate(SOURCES, batch_size=2, prefix="les", constraints=["lit"])
    assert translator.translate(SOURCES, options=options) == expected
    assert translator.translate(SOURCES, options=options, constraints=None) == translator.translate(
        SOURCES, prefix="les", batch_size=2
    )
    with pytest.raises(UserError, match="prefixes"):
        translator.translate(SOURCES, prefixes="les")


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("je {0} lit", "<b>je</b> {0} lit"),  # the model has kept the placeholder
        ("je lit", "<b>lit</b> {0}"),
        ("je {0} {1} lit", "<b>lit</b> {0}"),
        ("je {0} { lit", "<b>lit</b> {0}"),
    ],
)
def test_a_model_that_keeps_placeholders_writes_them_itself(
    monkeypatch: pytest.MonkeyPatch, written: str, expected: str
) -> None:
    lines = ["<b>I</b> {0} {1} { } bed", "je {0} lit"] * 9
    pair, _ = TokenizerPair.train(lines, lines, TokenizerConfig(vocabulary_size=60))
    translator, read = build(pair, "luong"), []

    def search(call: TranslationCall, chosen: list[int], _: int) -> list[Finished]:
        read.append([(pair.source.decode(call.present[i].pieces.ids), call.present[i].whole) for i in chosen])
        found = []
        for index in chosen:
            attempt = call.present[index]
            ids = pair.target.encode(written if attempt.whole else "lit")
            weights = torch.full((len(ids) + 1, 1, len(attempt.pieces.ids) + 1), 0.1)
            weights[0, 0, 0] = 1.0  # the first piece looks at the first
            found.append(Finished(index, [Hypothesis(ids, 0.0, weights)]))
        return found

    monkeypatch.setattr(TranslationCall, "_search", search)
    (found,) = translator.translate(["<b>I</b> {0} bed"], markup=True)
    assert read[0] == [("I {0} bed", True)]
    assert read[1:] == ([] if expected.startswith("<b>je") else [[("I bed", False)]])
    assert found.text == expected
    assert not translator.warnings
