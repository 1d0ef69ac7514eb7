from pathlib import Path

import numpy as np
import pytest

import translate
from translate.alignment.extract import METHODS
from translate.errors import UserError
from translate.inspection import draw_heads_of, page_of
from translate.links.links import parse_gold
from translate.translator import Translator

SOURCE, TARGETS = "I love you .", ["je t' aime .", "toi"]


@pytest.fixture(scope="module", params=["transformer", "rnn_luong"])
def translator(tiny_runs: dict[str, Path], request: pytest.FixtureRequest) -> Translator:
    return translate.load(tiny_runs[request.param], device="cpu")


def test_every_view_is_what_the_method_gives(translator: Translator) -> None:
    gold = parse_gold("0-0 2p1", where="x")
    page = page_of(translator, SOURCE, TARGETS, scores=[-0.5, -1], gold=gold, note="here")
    assert list(page.source_words) == SOURCE.split()
    assert page.note.startswith(f"here: layer {translator.choice.layer}, head")
    assert page.languages == translator.languages
    assert [alternative.gold for alternative in page.alternatives] == [gold, None]
    assert [alternative.score for alternative in page.alternatives] == [-0.5, -1]
    # In one batch, as the page does: shares of gradients divide by their sum, which rounding moves otherwise.
    expected = {method: translator.align([SOURCE] * 2, TARGETS, method=method) for method in METHODS}
    for index, alternative in enumerate(page.alternatives):
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
    (alternative,) = page_of(translator, SOURCE, TARGETS[:1], first="erasure").alternatives
    assert next(iter(alternative.views)) == "erasure"
    one, other = alternative.views["alignment"], alternative.views["erasure"]
    for target in range(len(alternative.target_words)):
        differ = other[target].any() and one[target].argmax() != other[target].argmax()
        assert (target in alternative.doubtful) == differ
        if differ:
            first, second = (SOURCE.split()[weights[target].argmax()] for weights in (one, other))
            assert alternative.doubtful[target] == f"attention says {first}, erasure {second}"


def test_wrong_input(translator: Translator, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="nothing to show: 4 source and 0 target words"):
        page_of(translator, SOURCE, [""])
    with pytest.raises(ValueError, match="0 targets"):
        page_of(translator, SOURCE, [])
    with pytest.raises(ValueError, match="2 targets with 1 scores"):
        page_of(translator, SOURCE, TARGETS, scores=[1.0])
    with pytest.raises(ValueError, match="gold link lies outside"):
        page_of(translator, SOURCE, TARGETS, gold=parse_gold("9-0", where="x"))
    with pytest.raises(UserError, match="nothing to draw: 0 source and 1 target words"):
        draw_heads_of(translator, "", "toi", tmp_path / "a.png")
