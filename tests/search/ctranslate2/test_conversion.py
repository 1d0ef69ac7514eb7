"""Settings that an export does not hold are refused, all in one message."""

from dataclasses import replace

import pytest

from tests.tiny_models import SELF_ATTENTIVE, attention
from translate.config.search import SearchConfig
from translate.errors import UserError
from translate.models import Transformer
from translate.search.ctranslate2.conversion import Refusals, refuse_attentions, refuse_search


def test_settings_of_the_search_that_others_do_not_have_are_named() -> None:
    with pytest.raises(UserError) as told:
        refuse_search(SearchConfig(length_normalisation="gnmt", min_length=3), "--format onnx")
    assert str(told.value) == (
        "--format onnx cannot represent search.length_normalisation=gnmt (it has average), "
        "search.min_length=3 (it has 0)"
    )


def test_supported_settings_are_not_named() -> None:
    search = SearchConfig(beam_size=2, length_penalty=0.6, max_length_ratio=1.5, coverage_penalty=0.2)
    with pytest.raises(UserError) as told:
        refuse_search(search, "--format ctranslate2")
    assert str(told.value) == "--format ctranslate2 cannot represent search.coverage_penalty=0.2 (it has 0.0)"
    refuse_search(replace(search, coverage_penalty=0.0), "--format ctranslate2")


def test_a_window_is_named() -> None:
    model = Transformer(23, 23, attention("multi_head", num_heads=2, window=3), **SELF_ATTENTIVE)
    refusals = Refusals("--format ctranslate2")
    refuse_attentions(model, refusals)
    assert refusals.found == ["model.attention.window=3 (it has null)"]
