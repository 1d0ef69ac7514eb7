from pathlib import Path
from typing import Any

import numpy as np
import pytest

import translate
from translate.alignment.methods import METHODS
from translate.alignment.views import page_of
from translate.errors import UserError
from translate.figures.page import Page
from translate.links.links import parse_gold
from translate.translator import Translator

SOURCE, TARGETS = "I love you .", ["je t' aime .", "toi"]


def page(translator: Translator, targets: list[str], **options: Any) -> Page:
    pairs = translator.encode_pairs([SOURCE] * len(targets), targets)
    return page_of(translator.model, pairs, translator.choice, **options)


@pytest.fixture(scope="module", params=["transformer", "rnn_luong"])
def translator(tiny_runs: dict[str, Path], request: pytest.FixtureRequest) -> Translator:
    return translate.load(tiny_runs[request.param], device="cpu")


def test_every_view_is_what_the_method_gives(translator: Translator) -> None:
    gold = parse_gold("0-0 2p1", where="x")
    found = page(translator, TARGETS, scores=[-0.5, -1], gold=gold, note="here")
    assert list(found.source_words) == SOURCE.split()
    assert found.note.startswith(f"here: layer {translator.choice.layer}, head")
    assert [alternative.gold for alternative in found.alternatives] == [gold, None]
    assert [alternative.score for alternative in found.alternatives] == [-0.5, -1]
    # In one batch, as the page does: shares of gradients divide by their sum, which rounding moves otherwise.
    expected = {method: translator.align([SOURCE] * 2, TARGETS, method=method) for method in METHODS}
    for index, alternative in enumerate(found.alternatives):
        for method in METHODS:
            name = "alignment" if method == "attention" else method
            np.testing.assert_allclose(alternative.views[name], expected[method][index].weights, atol=1e-5)
        layers, heads = translator.model.num_attention_layers, translator.model.num_attention_heads
        if (layers, heads) == (1, 1):
            assert "attention" not in alternative.views
        else:
            own = alternative.views["attention"][translator.choice.layer][list(translator.choice.heads)]
            np.testing.assert_allclose(own.mean(axis=0), alternative.views["alignment"], atol=1e-5)


def test_words_of_which_attention_and_erasure_differ_are_marked(translator: Translator) -> None:
    (alternative,) = page(translator, TARGETS[:1], first="erasure").alternatives
    assert next(iter(alternative.views)) == "erasure"
    one, other = alternative.views["alignment"], alternative.views["erasure"]
    for target in range(len(alternative.target_words)):
        differ = other[target].any() and one[target].argmax() != other[target].argmax()
        assert (target in alternative.doubtful) == differ
        if differ:
            first, second = (SOURCE.split()[weights[target].argmax()] for weights in (one, other))
            assert alternative.doubtful[target] == f"attention says {first}, erasure {second}"


def test_wrong_input(translator: Translator) -> None:
    with pytest.raises(UserError, match="nothing to show: 4 source and 0 target words"):
        page(translator, [""])
    with pytest.raises(ValueError, match="gold link lies outside"):
        page(translator, TARGETS, gold=parse_gold("9-0", where="x"))
