"""What a translator makes of its search's settings."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.test_translator import SEARCH, SOURCES, build, tokenizers  # noqa: F401 (a fixture)
from translate.alignment.choice import AlignmentChoice
from translate.alignment.forced import encoded_batches
from translate.errors import UserError
from translate.search import beam_search, length_batches
from translate.text.tokenizer import BOS, EOS, TokenizerPair


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
    with pytest.raises(UserError, match="list of phrases"):
        translator.translate(SOURCES[:2], constraints="lit")


def test_an_ensemble_with_itself_is_itself(tokenizers: TokenizerPair) -> None:  # noqa: F811
    translator = build(tokenizers)
    both = translator.join([build(tokenizers)])
    expected, found = translator.translate(SOURCES), both.translate(SOURCES)
    assert [each.text for each in found] == [each.text for each in expected]
    assert [each.score for each in found] == pytest.approx([each.score for each in expected])


def test_minimum_risk_does_not_depend_on_the_batch(tokenizers: TokenizerPair) -> None:  # noqa: F811
    translator = build(tokenizers)
    together = translator.translate(SOURCES, mbr=6, n_best=2)
    alone = [translator.translate([sentence], mbr=6, n_best=2)[0] for sentence in SOURCES]
    assert together == alone
    assert all(each.n_best[0].score >= each.n_best[-1].score for each in together)


def test_batches_have_like_lengths_and_a_limit() -> None:
    lengths = [5, 0, 3, 9, 4, 4, 0, 8]
    batches = list(length_batches(lengths, 3, max_pieces=16))
    assert batches == [[2, 4, 5], [0, 7], [3]]
    assert list(length_batches([100], 3, max_pieces=16)) == [[0]]


@pytest.mark.slow
@pytest.mark.parametrize("beam_size", [1, 3])
@pytest.mark.parametrize("name", ["transformer", "bahdanau", "luong"])
def test_alignments_of_the_search_are_those_of_a_forced_pass(
    tokenizers: TokenizerPair,  # noqa: F811
    name: str,
    beam_size: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lines = [*SOURCES, "", SOURCES[0] + " " + SOURCES[1]]
    for shift in (0, 1):
        translator = build(tokenizers, name)
        translator.choice = AlignmentChoice(translator.model.num_attention_layers - 1, (0,), shift)
        plain = translator.translate(lines, beam_size=beam_size)
        noted = translator.translate(lines, beam_size=beam_size, alignments=True)
        with monkeypatch.context() as patched:
            patched.setattr("translate.search.batch_search.MAX_NOTED", 0)  # as for long batches
            forced = translator.translate(lines, beam_size=beam_size, alignments=True)
            patched.setitem(encoded_batches.__kwdefaults__ or {}, "max_cells", 1)
            parted = translator.translate(lines, beam_size=beam_size, alignments=True)
        for one, *others in zip(plain, noted, forced, parted, strict=True):
            for other in others:
                assert replace(other, alignment=None) == one  # to the last bit
                assert other.alignment.target_words == others[0].alignment.target_words
                np.testing.assert_allclose(other.alignment.weights, others[0].alignment.weights, atol=1e-5)
        assert any(each.alignment.weights.size > 4 for each in noted)
