"""Reading a run back, and what is said when that is not possible."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np
import pytest
import torch
from omegaconf import OmegaConf
from safetensors.torch import load_file, save_file

import translate
from tests.tiny_runs import BACKENDS
from translate.alignment.alignment import AlignmentChoice
from translate.errors import UserError
from translate.runs.calibration import store
from translate.runs.run_directory import RunDirectory
from translate.text.tokenizer import BOS, EOS
from translate.version import __version__


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_run_is_read_back(tiny_runs: dict[str, Path], backend: str) -> None:
    run = tiny_runs[backend]
    translator = translate.load(run, device="cpu")
    weights = load_file(run / "checkpoints" / "best" / "model.safetensors")
    parameters = dict(translator.model.named_parameters())
    assert weights.keys() == parameters.keys()
    assert all(torch.equal(weights[name], parameters[name]) for name in weights)
    assert not translator.model.training
    assert translator.languages == ("en", "fr")
    assert translator.search.beam_size == 2
    chosen = json.loads((run / "alignment.json").read_text())["choice"]
    assert translator.choice == AlignmentChoice.from_dict(chosen)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_scores_of_a_lower_precision_are_nearly_those_of_float32(
    tiny_runs: dict[str, Path], backend: str, precision: str
) -> None:
    sentences = ["I love you .", "she does not like the green apples .", "", "look it up ."]
    translator = translate.load(tiny_runs[backend], device="cpu", precision=precision)
    counted = translate.load(tiny_runs[backend], device="cpu").model.num_parameters()
    assert translator.model.num_parameters() == counted
    model = translator.model
    stored = (model if precision == "float16" else cast(torch.nn.Module, model.output_layer)).parameters()
    assert {each.dtype for each in stored} == {getattr(torch, precision)}
    exact = translate.load(tiny_runs[backend], device="cpu").model
    for beam_size in (1, 2):
        results = translator.translate(sentences, beam_size=beam_size, alignments=True)
        for sentence, result in zip(sentences, results, strict=True):
            assert result.alignment is not None
            assert result.alignment.weights.dtype == np.float32
            if not sentence:
                assert result.text == ""
                continue
            source = torch.tensor([[*translator.tokenizers.source.encode(sentence), EOS]])
            target = [*translator.tokenizers.target.ids(result.tokens), EOS]
            with torch.no_grad():
                hidden = exact.read_target(exact.encode(source, None), torch.tensor([[BOS, *target[:-1]]]))
                scores = exact.logits(hidden)[0].log_softmax(-1)
            expected = float(scores[torch.arange(len(target)), target].mean())
            assert result.score == pytest.approx(expected, abs=0.03)


def test_a_precision_that_is_not_known_or_not_possible(tiny_runs: dict[str, Path]) -> None:
    with pytest.raises(UserError, match="expected one of float32, bfloat16, float16, got 'bf16'"):
        translate.load(tiny_runs["transformer"], precision="bf16")
    with pytest.raises(UserError, match="int8: expected True or False, got 'no'"):
        translate.load(tiny_runs["transformer"], int8="no")  # type: ignore[arg-type]
    with pytest.raises(UserError, match="expected a list of names as plugins"):
        translate.load(tiny_runs["transformer"], plugins="mine")
    with pytest.raises(UserError, match="leave out int8, or bfloat16"):
        translate.load(tiny_runs["transformer"], device="cpu", precision="bfloat16", int8=True)


def test_without_a_best_checkpoint_the_last_is_taken(tiny_runs: dict[str, Path], tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(tiny_runs["rnn_luong"], run, symlinks=True)
    (run / "checkpoints" / "best").unlink()
    (run / "alignment.json").unlink()  # not there before a run has ended
    translator = translate.load(run)
    last = load_file(run / "checkpoints" / "last" / "model.safetensors")
    assert all(torch.equal(last[name], tensor) for name, tensor in translator.model.named_parameters())
    assert translator.translate(["I love you ."], alignments=True)[0].alignment is not None


def _write(name: str, content: str) -> Callable[[Path], object]:
    return lambda run: (run / name).write_text(content)


def _reshape(run: Path) -> None:
    path = run / "checkpoints" / "best" / "model.safetensors"
    weights = load_file(path)
    name = next(iter(weights))
    save_file(weights | {name: torch.zeros(2, 2)}, path)
    path.with_name("SHA256SUMS").unlink()  # which would tell that the file is another one


def _rename(run: Path) -> None:
    path = run / "checkpoints" / "best" / "model.safetensors"
    weights = load_file(path)
    weights["another"] = weights.pop(next(iter(weights)))
    save_file(weights, path)
    path.with_name("SHA256SUMS").unlink()


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (shutil.rmtree, "no such run directory"),
        (lambda run: (run / "config.yaml").unlink(), "not a run directory"),
        (lambda run: (run / "experiment").mkdir(), "not a run directory (it holds the settings of runs)"),
        (_write("config.yaml", "data: [\n"), "config.yaml: not readable as YAML"),
        (_write("config.yaml", "- data\n"), "config.yaml: expected the sections of a run"),
        (
            _write("config.yaml", f"version: {__version__}\ndata: {{}}\n"),
            "config.yaml: the configuration has no section",
        ),
        (
            lambda run: shutil.rmtree(run / "checkpoints"),
            "no such file of a checkpoint; a run has the first one after its first validation",
        ),
        (lambda run: shutil.rmtree(run / "tokenizer"), "tokenizer.json: no such file of a run; has it been"),
        (_write("tokenizer/tokenizer.json", "{"), "tokenizer: not a tokenizer directory"),
        (_write("tokenizer/shared.model", "cut"), "tokenizer: not a tokenizer directory"),
        (_write("alignment.json", "{"), "alignment.json: damaged"),
        (_write("alignment.json", "{}"), "alignment.json: damaged"),
        (
            _write("alignment.json", '{"choice": {"layer": 9, "heads": [0], "shift": 0, "threshold": 0}}'),
            "layer 9 does not exist",
        ),
        (_reshape, " was (2, 2), now ("),
        (_rename, "the checkpoint is of another model"),
    ],
)
def test_what_is_missing_or_damaged_is_named(
    tiny_runs: dict[str, Path], tmp_path: Path, harm: Callable[[Path], None], message: str
) -> None:
    run = tmp_path / "run"
    shutil.copytree(tiny_runs["rnn_luong"], run, symlinks=True)
    harm(run)
    with pytest.raises(UserError) as told:
        translate.load(run)
    assert message in str(told.value)
    assert "\n" not in str(told.value)
    assert str(run) in str(told.value) or "alignment layer" in str(told.value)


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("version: 9.9.9", "version 9.9.9"),
        ("version: 0.1.0", "version 0.1.0"),
        ("", r"an unknown version \(its config.yaml names none\)"),
    ],
)
def test_a_run_of_another_version_is_refused(
    tiny_runs: dict[str, Path], tmp_path: Path, line: str, names: str
) -> None:
    run = Path(shutil.copytree(tiny_runs["rnn_luong"], tmp_path / "run", symlinks=True))
    text = (run / "config.yaml").read_text()
    assert text.startswith(f"version: {__version__}\n")
    (run / "config.yaml").write_text(text.replace(f"version: {__version__}", line, 1))
    with pytest.raises(UserError, match=f"{names} of .* wrote .* version {__version__}, which"):
        translate.load(run, device="cpu")
    (run / "config.yaml").write_text(text.replace(__version__, __version__.rpartition(".")[0] + ".99", 1))
    translate.load(run, device="cpu")


@pytest.mark.parametrize(("weight", "layer"), [(0.5, 0), (0.0, None)])
def test_pictures_tell_which_head_was_guided(
    tiny_runs: dict[str, Path], tmp_path: Path, weight: float, layer: int | None
) -> None:
    run = Path(shutil.copytree(tiny_runs["transformer"], tmp_path / "run", symlinks=True))
    config = OmegaConf.load(run / "config.yaml")
    config.training.guided_alignment = weight
    OmegaConf.save(config, run / "config.yaml")
    translator = translate.load(run, device="cpu")
    assert translator.choice.guided == layer
    translator.choice = replace(translator.choice, layer=0, heads=(0,))
    (result,) = translator.translate(["I sleep ."], alignments=True)
    assert result.alignment is not None
    assert ("(guided)" in result.alignment.method) == (layer == 0)
    store(RunDirectory(run), {"choice": translator.choice.to_dict()}, translator)
    assert translator.choice.guided == layer
