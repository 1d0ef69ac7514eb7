"""Runs of strangers: sizes, numbers, types and weights that nobody honest writes."""

import json
import os
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

import translate
from translate.errors import UserError
from translate.models.sizes import SizeLimit

WEIGHTS = Path("checkpoints") / "best" / "model.safetensors"
SPECIAL = (
    *("config.yaml", "alignment.json", "tokenizer/tokenizer.json", "tokenizer/shared.model"),
    *(str(WEIGHTS), "checkpoints/best/SHA256SUMS"),
)


@pytest.fixture
def stranger(tiny_run: Path, tmp_path: Path) -> Path:
    """A copy of a run, to be made hostile."""
    run = Path(shutil.copytree(tiny_run, tmp_path / "stranger", symlinks=True))
    (run / "checkpoints" / "best" / "SHA256SUMS").unlink()  # a checkpoint without sums is trusted
    return run


def refusal(run: Path) -> str:
    """What loading says; at most 400 characters beside the paths, on one line."""
    with pytest.raises(UserError) as told:
        translate.load(run, device="cpu")
    message = str(told.value)
    assert "\n" not in message
    assert len(message.replace(str(run), "")) < 400
    return message


def change(run: Path, before: str, after: str) -> None:
    text = (run / "config.yaml").read_text()
    assert before in text
    (run / "config.yaml").write_text(text.replace(before, after, 1))


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        ("encoder_layers: 1", "encoder_layers: 1000000000", "model.encoder_layers: expected 1 to 1,000"),
        ("  width: 24", "  width: 1000000000", "model.width: expected 1 to 65,536"),
        ("max_length: 1024", "max_length: 1000000000", "model.max_length: expected 1 to 1,000,000"),
        ("beam_size: 2", "beam_size: 1000000000", "search.beam_size: expected 1 to 1,000"),
        ("max_length_ratio: 2.0", "max_length_ratio: 1e9", "search.max_length_ratio: expected"),
        ("  dropout: 0\n", "  dropout: 1.0e+308\n", "model.dropout: expected a number of at most"),
        ("max_steps: 160", f"max_steps: 0x{'f' * 5000}", "a number of over 1,000 digits"),
        ("max_steps: 160", f"max_steps: {'9' * 5000}", "not readable as YAML"),
        ("plugins: []", "plugins: 1", "run.plugins: expected a list"),
        ("  name: grammar", f"  name: {['x' * 999] * 99}", "data.name: expected text"),
        ("language: en", "language: en${oc.env:SECRET}", "data.source_language: expected a plain"),
        ("language: en", "language: &a [*a]", "alias"),
        ("language: en", f"language: {'[' * 100_000}", "nested too deeply"),
        ("  name: grammar", f"  {'y' * 999}: 1", "unknown key"),
        ("data:", "data: [x]\ndatb:", "data: expected a section of keys and values, got ['x']"),
        ("_target_: translate.models.Transformer", f"_target_: {'x' * 5000}", "model._target_"),
        ("_target_: translate.attention.MultiHead", "_target_: translate.models.SelfEncoder", "model."),
        ("_target_: translate.attention.MultiHead", "_target_: torch.nn.Linear", "model.attention"),
        (
            "    _target_: translate.attention.MultiHead\n    _partial_: true\n",
            "    _target_: translate.runs.reports.TensorBoard\n    directory: owned\n",
            "is not a class of translate",
        ),
    ],
    ids=range(19),
)
def test_a_value_of_a_stranger_is_refused_by_its_path(
    stranger: Path, before: str, after: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(stranger.parent)
    monkeypatch.setenv("SECRET", "never shown")
    change(stranger, before, after)
    message = refusal(stranger)
    assert reason in message
    assert "never shown" not in message
    assert not Path("owned").exists()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("encoder_layers: 1", "encoder_layers: 1000"),
        ("  width: 24", "  width: 49152"),
        ("feedforward_size: 40", "feedforward_size: 65536"),
        ("positions: sinusoidal\n  max_length: 1024", "positions: learned\n  max_length: 1000000"),
    ],
    ids=["layers", "width", "feed-forward", "positions"],
)
def test_a_model_larger_than_its_weights_is_not_built(stranger: Path, before: str, after: str) -> None:
    change(stranger, before, after)
    message = refusal(stranger)
    assert "model: asks for more than the" in message
    assert str(stranger) in message


def test_a_size_limit_counts_numbers_and_tensors_before_they_are_made() -> None:
    shapes = [(7, 11), (13,)]
    with SizeLimit(shapes, "here"):
        assert torch.nn.Linear(11, 7).weight.shape == (7, 11)
    for size in ((1 << 62,), (1 << 40, 3)):
        with SizeLimit(shapes, "here"), pytest.raises(UserError, match="more than the 90 numbers that here"):
            torch.empty(*size)
        with SizeLimit(shapes, "here"), pytest.raises(UserError):
            torch.full(size, 0.0)
        with SizeLimit(shapes, "here"), pytest.raises(UserError):
            torch.zeros(size=size)
    with SizeLimit(shapes, "here"):
        made = (torch.empty(1) for _ in range(5000))
        with pytest.raises(UserError):
            list(made)


@pytest.mark.parametrize("dtype", [torch.int8, torch.bool, torch.int64])
def test_weights_that_are_no_floating_point_numbers_are_refused(stranger: Path, dtype: torch.dtype) -> None:
    weights = load_file(stranger / WEIGHTS)
    save_file({name: tensor.to(dtype) for name, tensor in weights.items()}, stranger / WEIGHTS)
    assert "expected floating-point numbers" in refusal(stranger)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_weights_of_other_precisions_are_read(stranger: Path, dtype: torch.dtype) -> None:
    weights = load_file(stranger / WEIGHTS)
    save_file({name: tensor.to(dtype) for name, tensor in weights.items()}, stranger / WEIGHTS)
    assert translate.load(stranger, device="cpu").translate(["I love you ."])[0].text


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_not_finite_are_named(stranger: Path, value: float) -> None:
    weights = load_file(stranger / WEIGHTS)
    name = next(iter(weights))
    weights[name].view(-1)[3] = value
    save_file(weights, stranger / WEIGHTS)
    assert f"{name} holds NaN or infinite numbers" in refusal(stranger)


def test_large_finite_weights_are_read(stranger: Path) -> None:
    """Their sum overflows, which is not mistaken for an infinite weight."""
    weights = load_file(stranger / WEIGHTS)
    name = next(name for name, tensor in weights.items() if tensor.numel() > 10)
    save_file(weights | {name: torch.full_like(weights[name], 3e38)}, stranger / WEIGHTS)
    translator = translate.load(stranger, device="cpu")
    for alignments in (False, True):
        with pytest.raises(UserError, match="no finite score for a sentence"):
            translator.translate(["I love you ."], alignments=alignments)


def test_names_and_shapes_of_a_header_are_shortened(stranger: Path) -> None:
    weights = load_file(stranger / WEIGHTS)
    save_file(weights | {"<b>" * 3000: torch.zeros(1)}, stranger / WEIGHTS)
    assert "the checkpoint is of another model" in refusal(stranger)


@pytest.mark.parametrize("file", SPECIAL)
@pytest.mark.parametrize("kind", ["pipe", "zeros", "outside", "folder", "huge", "circle"])
def test_special_files_are_refused_at_once(stranger: Path, file: str, kind: str) -> None:
    path = stranger / file
    path.unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "circle":
        path.symlink_to(path.name)
    elif kind == "huge":
        with path.open("wb") as sparse:
            sparse.truncate(1 << 40)
    else:
        path.symlink_to("/dev/zero" if kind == "zeros" else "/etc/hostname")
    assert str(path) in refusal(stranger)


def test_a_header_of_gibibytes_is_not_read(stranger: Path) -> None:
    with (stranger / WEIGHTS).open("wb") as file:
        file.write((1 << 33).to_bytes(8, "little"))
        file.truncate(1 << 34)
    assert "the checkpoint is damaged" in refusal(stranger)


@pytest.mark.parametrize(
    "choice",
    [
        {"layer": "x" * 9999, "heads": [0], "shift": 0},
        {"layer": 0, "heads": ["x" * 9999], "shift": 0},
        {"layer": 0, "heads": list(range(9999)), "shift": 0},
        {"layer": 0, "heads": [10**9], "shift": 0},
        {"layer": 0, "heads": [0], "shift": [["x"] * 999]},
        {"layer": 0, "heads": [0], "shift": 0, "threshold": 1e308},
        {"x" * 9999: 1},
        [["x"]],
        None,
    ],
    ids=range(9),
)
def test_a_stored_choice_of_a_stranger_is_checked(stranger: Path, choice: object) -> None:
    (stranger / "alignment.json").write_text(json.dumps({"choice": choice}))
    assert "alignment" in refusal(stranger)
