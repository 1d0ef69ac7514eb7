"""Which engine translates, and what is said where CTranslate2 cannot."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

import translate
from tests.search.ctranslate2.conftest import Chosen
from translate.errors import UserError
from translate.search.ctranslate2 import choosing
from translate.translator import Translator

pytestmark = pytest.mark.slow  # each needs a trained run


@pytest.mark.parametrize(
    ("backend", "reason"),
    [
        ("rnn_luong", "only Transformers, and the model is of the class LuongRNN"),
        ("rnn_bahdanau", "only Transformers, and the model is of the class BahdanauRNN"),
        ("transformer", "model.attention.num_heads=3 (it has the 2 of the self-attention)"),
    ],
)
def test_a_model_that_it_cannot_hold(tiny_runs: dict[str, Path], backend: str, reason: str) -> None:
    run = tiny_runs[backend]
    with pytest.raises(UserError) as told:
        translate.load(run, device="cpu", engine="ctranslate2")
    assert reason in str(told.value)
    translator = translate.load(run, device="cpu", engine="auto")
    assert translator.engine.name == "torch"
    assert translator.engine.note.startswith("torch translates, since CTranslate2 ")
    assert reason in translator.engine.note
    plain = translate.load(run, device="cpu").translate(["I love you ."])
    assert translator.translate(["I love you ."]) == plain


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"prefix": "je"}, "prefix"),
        ({"constraints": ["aime"]}, "constraints"),
        ({"mbr": 2}, "sample, mbr"),
        ({"search": {"coverage_penalty": 0.2}}, "coverage_penalty"),
        ({"search": {"length_normalisation": "gnmt"}}, "length_normalisation"),
        ({"search": {"min_length": 9}}, "min_length"),
        ({"search": {"no_repeat_ngram": 2}}, "no_repeat_ngram"),
        ({"beam_size": 200}, "beam as wide as half of the vocabulary"),
    ],
    ids=str,
)
def test_an_option_that_it_does_not_have(
    ours: Translator, engine_of: Chosen, options: dict[str, Any], reason: str
) -> None:
    options = dict(options)
    if "search" in options:
        options["search"] = replace(ours.search, **options["search"])
    demanded = engine_of(ours)
    with pytest.raises(UserError, match=f"CTranslate2 cannot do this: {reason}; leave out ctranslate2"):
        replace(ours, engine=demanded).translate(["I love you ."], **options)
    auto = replace(ours, engine=replace(demanded, asked="auto"), warnings=Counter())
    (found,) = auto.translate(["I love you ."], **options)
    assert found == ours.translate(["I love you ."], **options)[0]
    assert found.engine == "torch"
    assert auto.translate(["I love you ."])[0].engine == "ctranslate2"


def _lacking(name: str) -> Sequence[str] | None:
    return None


def test_without_the_package(even_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choosing, "find_spec", _lacking)
    with pytest.raises(UserError) as told:
        translate.load(even_run, device="cpu", engine="ctranslate2")
    assert "pip install 'seq2seq-translate[export]'" in str(told.value)
    translator = translate.load(even_run, device="cpu", engine="auto")
    assert "pip install 'seq2seq-translate[export]'" in translator.engine.note


def test_a_device_and_a_precision_that_it_is_not_used_with(ours: Translator) -> None:
    pytest.importorskip("ctranslate2", reason="says which types it has")

    def chosen(device: str, compute_type: str) -> str | None:
        return choosing.choose(
            "auto",
            ours.model,
            ours.tokenizers,
            ours.search,
            ours.choice,
            device=torch.device(device),
            compute_type=compute_type,
        ).refusal

    assert chosen("cuda:1", "float32") == (
        "CTranslate2 is used on the CPU, and the device is cuda:1 (--device cpu takes the CPU)"
    )
    assert chosen("cpu", "float16") == "CTranslate2 does not compute in float16 on this processor"


def test_a_folder_for_temporary_files_is_needed(
    ours: Translator, engine_of: Chosen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "missing"))
    with pytest.raises(UserError, match="missing: cannot be written"):
        engine_of(ours)


def test_another_name_is_refused(even_run: Path) -> None:
    with pytest.raises(UserError, match="engine: expected one of torch, ctranslate2, auto, got 'marian'"):
        translate.load(even_run, engine="marian")


def test_loading_changes_no_number_of_threads(ours: Translator, engine_of: Chosen) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        theirs = replace(ours, engine=engine_of(ours))
        assert torch.get_num_threads() == 2
        theirs.translate(["I love you ."], alignments=True)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
