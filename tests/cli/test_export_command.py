import os
import shutil
import sys
from pathlib import Path

import pytest

import translate
from tests.cli.commands import Command
from tests.disks import largest_file
from tests.tiny_runs import BACKENDS
from translate.errors import UserError, optional

SENTENCES = ["I love you .", "", "the cat sleeps on the bed ."]


@pytest.fixture
def sentences(tmp_path: Path) -> Path:
    path = tmp_path / "sentences.en"
    path.write_text("".join(f"{sentence}\n" for sentence in SENTENCES), encoding="utf-8")
    return path


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_bundle_translates_and_aligns_like_its_run(
    tiny_runs: dict[str, Path], backend: str, sentences: Path, tmp_path: Path, translate_command: Command
) -> None:
    run, out = Path(shutil.copytree(tiny_runs[backend], tmp_path / "run", symlinks=True)), tmp_path / "mine"
    (run / "confidence.json").write_text("{}")  # of translate confidence
    result = translate_command("export", run, "--format", "bundle", "--out", out, "--sentences", sentences)
    assert (result.code, result.err) == (0, "")
    proof = "3 sentences translated by both: 0 differ, greatest difference of a score 0.00e+00"
    assert result.out.splitlines() == [
        "writing bundle",
        "translating 3 sentences with the run and with the export",
        proof,
        f"bundle written to {out}",
    ]
    ours, theirs = (translate.load(folder).translate(SENTENCES, alignments=True) for folder in (run, out))
    assert [result.text for result in ours] == [result.text for result in theirs]
    assert [result.alignment.weights.tolist() for result in ours if result.alignment] == [
        result.alignment.weights.tolist() for result in theirs if result.alignment
    ]
    assert (out / "confidence.json").read_text() == "{}"
    card = (out / "README.md").read_text(encoding="utf-8")
    assert card.startswith("# mine\n")
    assert proof in card
    assert "### Test scores" in card
    size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    assert size < 0.7 * sum(path.stat().st_size for path in run.rglob("*") if path.is_file())


def test_the_validation_split_is_the_default(run: Path, tmp_path: Path, translate_command: Command) -> None:
    bundle = ("--format", "bundle", "--out")
    result = translate_command("export", run, *bundle, tmp_path / "b", "--num-sentences", 7)
    assert result.out.splitlines()[2].startswith("7 sentences translated by both: 0 differ")
    # A bundle is a run to whatever takes one, to this command too.
    again = translate_command("export", tmp_path / "b", *bundle, tmp_path / "c")
    assert (again.code, again.out.splitlines()[2][:2]) == (0, "11")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--format", "ctranslate2"], "model.attention.num_heads=3 (it has the 2 of the self-attention)"),
        (["--format", "huggingface"], "model.attention.num_heads=3 (it has the 2 of the self-attention)"),
        (["--format", "onnx", "--quantization", "int8"], "--quantization is for --format ctranslate2"),
        (["--format", "onnx", "--runtime", "x.tgz"], "--runtime is for --format page; onnx does not run in"),
        (["--format", "marian"], "'marian'"),
        (["--format", "bundle", "--sentences", "nowhere.en"], "nowhere.en: no such file"),
        (["--format", "bundle", "--sentences", "pairs.tsv"], "pairs.tsv is a table; the proof of an export"),
        (["--format", "bundle", "--sentences", os.devnull], "expected a file, got a pipe or a device"),
        (["--format", "bundle", "--num-sentences", "0"], "--num-sentences"),
    ],
)
def test_what_cannot_be_is_said(
    run: Path, arguments: list[str], message: str, tmp_path: Path, translate_command: Command
) -> None:
    result = translate_command("export", run, *arguments, "--out", tmp_path / "out")
    assert (result.code, message in result.err) == (2, True)
    assert not any(tmp_path.iterdir())


def test_nothing_that_is_there_is_harmed(run: Path, tmp_path: Path, translate_command: Command) -> None:
    for out, message in ((tmp_path, "exists already"), (tmp_path / "no" / "where", "there is no folder")):
        assert message in translate_command("export", run, "--format", "bundle", "--out", out).refusal()


@pytest.mark.parametrize("package", ["ctranslate2", "transformers", "onnx"])
def test_a_missing_package_names_the_extra(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from translate.export import contents

    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(UserError, match=rf"{package}, which is not installed; make install .*\[export\]"):
        contents.require(package, "onnx")


@pytest.mark.parametrize("size", [100, 40_000])
def test_a_full_disk_leaves_no_export(
    tiny_runs: dict[str, Path], sentences: Path, tmp_path: Path, translate_command: Command, size: int
) -> None:
    out = tmp_path / "mine"
    arguments = ("export", tiny_runs["rnn_luong"], "--format", "bundle", "--sentences", sentences)
    with largest_file(size):
        result = translate_command(*arguments, "--out", out)
    assert result.code == 2
    assert result.err.startswith(f"error: {out}: cannot be written (File too large); ")
    assert result.err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == [sentences.name]


def test_a_broken_package_tells_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken_package.py").write_text("import no_such_dependency\n")
    (tmp_path / "torn_package.py").write_text("raise ImportError('libx.so: cannot open')\n")
    monkeypatch.syspath_prepend(tmp_path)
    for name, reason in (
        ("broken", "No module named 'no_such_dependency'"),
        ("torn", "libx.so: cannot open"),
    ):
        with pytest.raises(UserError) as error:
            optional(f"{name}_package", "this", "export")
        assert f"the package {name}-package, which cannot be imported ({reason}); " in str(error.value)
    with pytest.raises(UserError, match="no-such-package, which is not installed"):
        optional("no_such_package.inner", "this", "export")
