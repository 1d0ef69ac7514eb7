import copy
import pickle
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from tests.one_batch import beam_search
from tests.tiny_models import BACKENDS, tiny_model
from translate.alignment.alignment import NO_ALIGNMENT, AlignmentChoice
from translate.config.data import TokenizerConfig
from translate.config.search import SearchConfig
from translate.errors import UserError
from translate.search.sources import CUT
from translate.text.tokenizer import EOS, TokenizerPair
from translate.translation import ScoredText, Translation
from translate.translator import Translator

SOURCES = [
    "I love you .",
    "the cats sleep on the old bed .",
    "look for it !",
    "it rains again , and the man who laughs sleeps on the bed .",
    "you",
]
TARGETS = ["je t' aime .", "les chats dorment sur le lit .", "cherchez -le !", "il pleut encore", "l' homme"]
SEARCH = SearchConfig(beam_size=4, max_length_ratio=1.0, max_length_extra=3, batch_size=3)


@pytest.fixture(scope="module", params=[True, False], ids=["tokenised", "raw"])
def tokenizers(request: pytest.FixtureRequest) -> TokenizerPair:
    config = TokenizerConfig(vocabulary_size=45)
    return TokenizerPair.train(SOURCES * 5, TARGETS * 5, config, tokenised=request.param)[0]


def build(tokenizers: TokenizerPair, name: str = "transformer", seed: int = 1) -> Translator:
    sizes: Any = {"source_vocabulary": len(tokenizers.source), "target_vocabulary": len(tokenizers.target)}
    choice = AlignmentChoice(0, (0,), 0)
    return Translator(tiny_model(name, seed=seed, **sizes), tokenizers, SEARCH, choice, ("en", "fr"))


@pytest.fixture
def translator(tokenizers: TokenizerPair) -> Translator:
    return build(tokenizers)


@pytest.mark.slow
@pytest.mark.parametrize("name", BACKENDS)
def test_translations_are_those_of_the_search_in_the_order_given(
    tokenizers: TokenizerPair, name: str
) -> None:
    translator = build(tokenizers, name)
    results = translator.translate(SOURCES)
    for source, result in zip(SOURCES, results, strict=True):
        ids = [*translator.tokenizers.source.encode(source), EOS]
        best = beam_search(translator.model, torch.tensor([ids]), None, SEARCH)[0][0]
        assert result.text == translator.tokenizers.target.decode(best.ids)
        assert result.score == pytest.approx(best.score, abs=1e-9)
        assert (result.alignment, result.n_best) == (NO_ALIGNMENT, ())
        with pytest.raises(UserError, match="called without alignments=True"):
            result.alignment.pharaoh()
        assert pickle.loads(pickle.dumps(result)) == copy.deepcopy(result) == result
    assert len({result.text for result in results}) > 2


@pytest.mark.slow
@pytest.mark.parametrize("batch_size", [1, 2])
@pytest.mark.parametrize("beam_size", [1, 3])
def test_batches_and_order_change_nothing(translator: Translator, batch_size: int, beam_size: int) -> None:
    expected = translator.translate(SOURCES, beam_size=beam_size)
    for step in (1, -1):
        found = translator.translate(SOURCES[::step], beam_size=beam_size, batch_size=batch_size)[::step]
        assert [each.text for each in found] == [each.text for each in expected]
        assert [each.score for each in found] == pytest.approx([each.score for each in expected], abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("search", [SEARCH, replace(SEARCH, sample=True, seed=3)], ids=["beam", "sample"])
def test_workers_change_nothing(translator: Translator, search: SearchConfig) -> None:
    sentences, found = SOURCES * 4, []
    for workers in (1, 3):
        several = replace(translator, workers=workers)
        found.append(several.translate(sentences, alignments=True, search=search, batch_size=2))
    for one, other in zip(*found, strict=True):
        assert one.text == other.text
        assert one.score == pytest.approx(other.score, abs=1e-12)
        np.testing.assert_allclose(one.alignment.weights, other.alignment.weights, atol=1e-12)


def test_blank_lines_stay_in_place(translator: Translator) -> None:
    lines = ["", SOURCES[0], "   ", "\u2028\t", SOURCES[1], ""]
    results = translator.translate(lines, n_best=2, alignments=True)
    expected = translator.translate([SOURCES[0], SOURCES[1]])
    assert [each.text for each in results] == ["", expected[0].text, "", "", expected[1].text, ""]
    for place in (0, 2, 3, 5):
        blank = results[place]
        assert (blank.score, [each.text for each in blank.n_best]) == (0.0, [""])
        assert blank.alignment.weights.shape == (0, 0)
        assert blank.alignment.pharaoh() == ""
    assert translator.translate([]) == []
    assert translator.align([], []) == []
    assert translator.warnings == {"blank, so the translation is empty": 4}


def test_too_long_a_source_is_cut_and_counted(translator: Translator) -> None:
    translator.search = replace(SEARCH, max_source_pieces=7)
    long = SOURCES[3]
    ids = translator.tokenizers.source.encode(long)
    assert len(ids) > 7
    results = translator.translate([long, SOURCES[4], long], alignments=True)
    assert translator.warnings == {CUT.format(7): 2}
    source = torch.tensor([[*ids[:7], EOS]])
    best = beam_search(translator.model, source, None, translator.search)[0][0]
    assert results[0].text == results[2].text == translator.tokenizers.target.decode(best.ids)
    alignment = results[0].alignment
    kept = translator.tokenizers.source.encode_words(long).piece_words[:7]
    assert len(alignment.source_words) == max(kept) + 1  # no word that was not read
    assert long.startswith(" ".join(alignment.source_words))
    np.testing.assert_allclose(alignment.weights.sum(1), 1, atol=1e-5)


def test_n_best(translator: Translator) -> None:
    for result in translator.translate(SOURCES, n_best=3):
        assert len(result.n_best) == 3
        assert result.n_best[0] == ScoredText(result.text, result.score, result.tokens)
        scores = [candidate.score for candidate in result.n_best]
        assert scores == sorted(scores, reverse=True)
    assert len(translator.translate(SOURCES[:1], beam_size=9, n_best=9)[0].n_best) == 9


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"batch_size": -3}, "batch_size: expected 1 to 100,000, got -3"),
        ({"beam_size": 2, "n_best": 3}, "n_best: expected 1 to beam_size=2, got 3"),
        ({"beam": 5}, "translate: no option beam; did you mean beam_size?"),
        ({"verbose": True}, "translate: no option verbose; expected one of beam_size, n_best, "),
        ({"length_penalty": 0.6}, r"write search=replace\(translator.search, length_penalty=...\)"),
        ({"markup": "no"}, "markup: expected True or False, got 'no'"),
        ({"alignments": "attention"}, "alignments: expected True or False"),
        ({"search": replace(SEARCH, top_p=0.3)}, "search: top_p is for samples; add sample=True"),
        ({"options": {"beam_size": 2}}, r"options: expected TranslateOptions\(...\), got"),
        ({"context": "The first."}, "context: expected a list of previous sentences for each sentence"),
        *(({"n_best": many}, f"n_best: expected an integer, got {many}") for many in (None, True)),
        ({"mbr": False}, "mbr: expected an integer, got False"),
        *(({"mbr": 6, "beam_size": size}, "beam_size: it is for beam search") for size in (1, 900)),
        ({"search": replace(SEARCH, sample=True), "beam_size": 1}, "beam_size: it is for beam search"),
        ({"mbr": 2.5}, "mbr: expected an integer, got 2.5"),
    ],
)
def test_impossible_options_are_errors_of_the_user(
    translator: Translator, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(UserError, match=message):
        translator.translate(SOURCES, **options)


def test_one_string_is_not_a_list_of_sentences(translator: Translator) -> None:
    with pytest.raises(UserError, match="list of sentences"):
        translator.translate("I love you .")
    with pytest.raises(UserError, match="sentence 2 is no string, but NoneType"):
        translator.translate(["I love you .", None])  # type: ignore[list-item]
    with pytest.raises(UserError, match="sentence 1 is no string, but an empty cell, NaN"):
        translator.translate([float("nan")])  # type: ignore[list-item]
    for sentences in (None, iter(["I love you ."]), {"I love you ."}, {"I love you .": 1}):
        with pytest.raises(UserError, match="expected a list of sentences, got "):
            translator.translate(sentences)  # type: ignore[arg-type]
    for source, target in (("you", ["toi"]), (["you"], "toi"), ("you", "toi")):
        with pytest.raises(UserError, match="list of sentences"):
            translator.align(source, target)


def test_a_table_is_no_list_of_sentences(translator: Translator) -> None:
    class Table(list[str]):
        columns = ("en", "fr")

    with pytest.raises(UserError, match="got a table; give one of its columns"):
        translator.translate(Table(["en", "fr"]))


def test_what_would_have_no_effect_on_a_translator_is_refused(translator: Translator) -> None:
    for name in ("beam_size", "layer"):
        with pytest.raises(UserError, match=f"{name}: a translator has no such setting"):
            setattr(translator, name, 1)
    with pytest.raises(UserError, match=r"choice: expected AlignmentChoice, got \(1, 0\)"):
        translator.choice = (1, 0)  # type: ignore[assignment]
    with pytest.raises(UserError, match="workers: expected int, got 'a'"):
        translator.workers = "a"  # type: ignore[assignment]
    with pytest.raises(UserError, match=r"search: expected SearchConfig, got \{'beam_size': 2\}"):
        translator.search = {"beam_size": 2}  # type: ignore[assignment]


def test_an_ensemble_is_of_translators(translator: Translator, tokenizers: TokenizerPair) -> None:
    for others in (build(tokenizers), ["runs/mine"]):
        with pytest.raises(UserError, match="join: expected a list of translators"):
            translator.join(others)  # type: ignore[arg-type]


def test_pairs_must_be_pairs(translator: Translator) -> None:
    with pytest.raises(UserError, match="2 sources but 1 targets"):
        translator.align(SOURCES[:2], TARGETS[:1])
    with pytest.raises(UserError, match="batch size is 0"):
        translator.align(SOURCES[:2], TARGETS[:2], batch_size=0)


@pytest.mark.parametrize(
    "line", ["I\x00love", "you\r", "you\u2028love you .", "I 👍🏽 love 👩\u200d👧", "e\u0301", "\ufeffyou"]
)
def test_odd_lines_neither_fail_nor_disturb_others(translator: Translator, line: str) -> None:
    alone = translator.translate([SOURCES[0]])[0]
    results = translator.translate([line, SOURCES[0], line], alignments=True)
    assert results[1].text == alone.text
    assert results[0].text == results[2].text
    words = [word.text for word in translator.tokenizers.source.encode_words(line).words]
    alignment = results[0].alignment
    assert alignment.source_words == words
    assert [line[begin:end] for begin, end in alignment.source_offsets] == words
    written = [results[0].text[begin:end] for begin, end in alignment.target_offsets]
    assert written == alignment.target_words
    assert len(results[0].alignment.target_words) == len(results[0].alignment.weights)


def test_forced_pairs_keep_their_order_and_do_not_depend_on_the_batch(translator: Translator) -> None:
    together = translator.align(SOURCES, TARGETS)
    for source, target, found in zip(SOURCES, TARGETS, together, strict=True):
        (alone,) = translator.align([source], [target], batch_size=1)
        assert found.source_words == alone.source_words == source.split()
        assert found.target_words == alone.target_words == target.split()
        np.testing.assert_allclose(found.weights, alone.weights, rtol=0, atol=1e-6)
    assert translator.align(["it rains."], ["l'été"], whitespace=True)[0].target_words == ["l'été"]


def test_the_model_is_left_as_it_was(translator: Translator) -> None:
    expected = translator.translate(SOURCES)
    translator.model.train()
    assert [each.text for each in translator.translate(SOURCES)] == [each.text for each in expected]
    assert translator.model.training
    assert isinstance(expected[0], Translation)


def test_the_tag_of_a_mixture_stays_before_a_sentence_with_markup() -> None:
    config = TokenizerConfig(vocabulary_size=48)
    tokenizers = TokenizerPair.train(SOURCES * 5, TARGETS * 5, config, symbols=("<own>", "<law>"))[0]
    translator = build(tokenizers)
    plain, marked = (
        translator.translate([line], beam_size=1, alignments=True, markup=markup)[0]
        for line, markup in (("<own> I love you .", False), ("<own> I <b>love</b> you .", True))
    )
    assert marked.alignment.source_words == ["<own>", "I", "love", "you", "."]
    assert marked.score == pytest.approx(plain.score, abs=1e-5)
    assert "<own>" not in marked.text
    assert marked.text.count("<b>") == marked.text.count("</b>") == 1


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"search": {"beam_size": 3}}, "search: expected a SearchConfig, got {'beam_size': 3}"),
        ({"prefix": 3}, "prefix: expected text, got 3"),
        ({"glossary": "a=b"}, "glossary: expected phrases by their terms, got 'a=b'"),
        ({"glossary": {"a": 3}}, "glossary: expected texts by their terms, got {'a': 3}"),
    ],
)
def test_options_of_another_type(tokenizers: TokenizerPair, given: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=re.escape(message)):
        build(tokenizers).translate(["a"], **given)
