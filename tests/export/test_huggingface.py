import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from tests.export.contents import SOURCES, TARGETS, of_case, of_transformer, teacher_forced, translations
from translate.errors import UserError
from translate.export import huggingface
from translate.text.tokenizer import BOS, EOS, PAD


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "architecture"),
    [
        ({"pre_norm": False}, "MarianMTModel"),
        ({"pre_norm": False, "tie": "none", "feedforward": "gelu"}, "MarianMTModel"),
        ({"pre_norm": False, "tie": "target", "positions": "learned", "max_length": 64}, "MarianMTModel"),
        ({}, "PegasusForConditionalGeneration"),
    ],
    ids=str,
)
def test_every_piece_has_the_same_probability(
    options: dict[str, object], architecture: str, tmp_path: Path
) -> None:
    library = pytest.importorskip("transformers")
    contents = of_transformer(**options)
    rendered = huggingface.export(contents, tmp_path / "out")(SOURCES)
    assert [(each.text, each.score) == ("", 0.0) for each in rendered] == [not source for source in SOURCES]
    same = [each.text == ours.text for each, ours in zip(rendered, translations(contents), strict=True)]
    assert sum(same) > len(SOURCES) // 2  # though all are cut off at the maximum length, with other scores
    model = library.AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "out").eval()
    assert type(model).__name__ == architecture
    tokenizer = library.AutoTokenizer.from_pretrained(tmp_path / "out")
    for source, target in zip(SOURCES, TARGETS, strict=True):
        ids, wanted = contents.encode(source), contents.tokenizers.target.encode(target)
        assert tokenizer(source)["input_ids"] == ids
        assert tokenizer(text_target=target)["input_ids"][:-1] == wanted
        assert tokenizer.decode([BOS, *wanted, EOS, PAD], skip_special_tokens=True).split() == target.split()
        with torch.no_grad():
            found = model(torch.tensor([ids]), decoder_input_ids=torch.tensor([[BOS, *wanted]])).logits
        ours = teacher_forced(contents, ids, wanted)
        torch.testing.assert_close(torch.log_softmax(found[0], -1), ours, rtol=0, atol=1e-5)


def test_a_run_that_searches_greedily_is_exported(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    contents = of_transformer(pre_norm=False)
    contents = replace(contents, search=replace(contents.search, beam_size=1, length_penalty=0.6))
    huggingface.export(contents, tmp_path / "out")
    generation = json.loads((tmp_path / "out" / "generation_config.json").read_text())
    assert generation.get("num_beams", 1) == 1


@pytest.mark.parametrize(
    ("options", "refused"),
    [
        ({"positions": "rotary"}, "learned, none; train with model.positions=sinusoidal for it)"),
        ({"norm": "rms"}, "model.norm=rms (it has layer)"),
        ({"feedforward": "swiglu"}, "model.feedforward=swiglu (it has relu, gelu, swish)"),
        ({"tie": "target"}, "model.tie=target (it has all where model.pre_norm=true)"),
    ],
)
def test_unsupported_settings_are_named(options: dict[str, object], refused: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="--format huggingface cannot represent") as caught:
        huggingface.export(of_transformer(**options), tmp_path / "out")
    assert refused in str(caught.value)


def test_recurrent_backends_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="model=BahdanauRNN"):
        huggingface.export(of_case("bahdanau"), tmp_path / "out")
