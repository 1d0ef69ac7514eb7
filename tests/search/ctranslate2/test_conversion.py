"""A converted model shows the run's own heads; settings that it cannot hold are refused in one message."""

from pathlib import Path

import pytest
import torch

from tests.export.contents import of_transformer
from tests.tiny_models import SELF_ATTENTIVE, attention
from translate.alignment.alignment import AlignmentChoice
from translate.config.search import SearchConfig
from translate.errors import UserError
from translate.models import Transformer
from translate.search.ctranslate2.conversion import (
    Convertible,
    convert,
    refuse_attentions,
    refuse_search,
)


def test_settings_of_the_search_that_others_do_not_have_are_named() -> None:
    with pytest.raises(UserError) as told:
        refuse_search(SearchConfig(length_normalisation="gnmt", min_length=3), "--format onnx")
    assert str(told.value) == (
        "--format onnx cannot represent search.length_normalisation=gnmt (it has average), "
        "search.min_length=3 (it has 0)"
    )


def test_a_window_is_named() -> None:
    model = Transformer(23, 23, attention("multi_head", num_heads=2, window=3), **SELF_ATTENTIVE)
    assert refuse_attentions(model, "--format ctranslate2").found == [
        "model.attention.window=3 (it has null)"
    ]


def test_the_heads_that_show_the_alignment_come_first(tmp_path: Path) -> None:
    library, contents = pytest.importorskip("ctranslate2"), of_transformer()
    model, tokenizers = contents.model, contents.tokenizers
    assert isinstance(model, Transformer)
    run = Convertible(model, tokenizers, AlignmentChoice(1, (2,), 0), 20, 30)
    convert(library, run, tmp_path / "out", "float32")
    engine = library.Translator(str(tmp_path / "out"), compute_type="float32")
    source = tokenizers.source.encode("I love you .")
    pieces = [tokenizers.source.pieces(source)]
    (found,) = engine.translate_batch(pieces, beam_size=1, return_attention=True, max_decoding_length=5)
    ids = tokenizers.target.ids(found.hypotheses[0])
    with torch.no_grad():
        (forced,) = model.forced_weights(torch.tensor([[*source, 3]]), None, torch.tensor([[2, *ids]]), [1])
    expected = forced[0, 2, : len(ids), : len(source)]
    torch.testing.assert_close(torch.tensor(found.attention[0]), expected, atol=1e-4, rtol=0)
