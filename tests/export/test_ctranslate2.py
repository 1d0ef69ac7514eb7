from pathlib import Path

import pytest
import torch

from tests.export.contents import SOURCES, TARGETS, of_case, of_transformer, teacher_forced, translations
from translate.errors import UserError
from translate.export import ctranslate2
from translate.text.tokenizer import EOS


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"pre_norm": False, "tie": "none"},
        {"norm": "rms", "feedforward": "swiglu", "tie": "target"},
        {"positions": "learned", "max_length": 64, "feedforward": "gelu"},
        {"positions": "none"},
        {"positions": "rotary"},
    ],
    ids=str,
)
def test_every_piece_has_the_same_probability(options: dict[str, object], tmp_path: Path) -> None:
    library = pytest.importorskip("ctranslate2")
    contents = of_transformer(**options)
    before = {name: tensor.clone() for name, tensor in contents.model.state_dict().items()}
    rendered = ctranslate2.export(contents, tmp_path / "out")(SOURCES)
    assert [(each.text, each.score) == ("", 0.0) for each in rendered] == [not source for source in SOURCES]
    assert all(torch.equal(before[name], tensor) for name, tensor in contents.model.state_dict().items())
    engine = library.Translator(str(tmp_path / "out"), compute_type="float32")
    both = contents.tokenizers
    for source, target in zip(SOURCES, TARGETS, strict=True):
        if not source:
            continue
        ids, wanted = contents.encode(source), both.target.encode(target)
        pieces = both.source.pieces(ids[:-1]), both.target.pieces(wanted)
        (found,) = engine.score_batch([pieces[0]], [pieces[1]])
        ours = teacher_forced(contents, ids, wanted)[range(len(wanted) + 1), [*wanted, EOS]]
        torch.testing.assert_close(torch.tensor(found.log_probs), ours, rtol=0, atol=2e-4)


def test_quantisation_leaves_the_run_as_it_is(tmp_path: Path) -> None:
    pytest.importorskip("ctranslate2")
    contents = of_transformer()
    before = translations(contents)
    sizes = []
    for quantization in ("float32", "int8"):
        ctranslate2.export(contents, tmp_path / quantization, quantization)(SOURCES)
        sizes.append((tmp_path / quantization / "model.bin").stat().st_size)
    assert sizes[1] < sizes[0]
    assert translations(contents) == before


@pytest.mark.parametrize(
    ("name", "refused"),
    [
        ("luong", "model=LuongRNN, only Transformers; use --format onnx or bundle"),
        ("transformer-additive", "model.attention=Additive (it has multi_head)"),
        ("transformer", "model.attention.num_heads=3 (it has the 2 of the self-attention)"),
        ("transformer-one-layer", "model.attention.attention_size=7 (it has width=12)"),
    ],
)
def test_unsupported_settings_are_named(name: str, refused: str, tmp_path: Path) -> None:
    with pytest.raises(UserError) as caught:
        ctranslate2.export(of_case(name), tmp_path / "out")
    assert str(caught.value).startswith("--format ctranslate2 cannot represent ")
    assert refused in str(caught.value)
    assert not (tmp_path / "out").exists()
