"""Exports and reports of a stranger's run: what it names is escaped, and no file that it names is read."""

import os
import shutil
from pathlib import Path

import pytest

from translate.errors import UserError
from translate.export.export_run import export_run
from translate.runs.calibration import pairs_of_run
from translate.runs.run_directory import RunDirectory


@pytest.fixture
def stranger(tiny_run: Path, tmp_path: Path) -> Path:
    """A copy of a run, to be made hostile."""
    return Path(shutil.copytree(tiny_run, tmp_path / "stranger", symlinks=True))


def change(run: Path, before: str, after: str) -> None:
    text = (run / "config.yaml").read_text()
    assert before in text
    (run / "config.yaml").write_text(text.replace(before, after, 1))


def of_files(run: Path, source: Path) -> None:
    """Let the configuration name files as its corpus."""
    change(run, "name: grammar\n  kind: grammar", "name: files\n  kind: files")
    change(
        run,
        "train:\n    source: null\n    target: null",
        f"train:\n    source: {source}\n    target: {source.with_suffix('.de')}",
    )
    for key, value in (("num_train", 1000), ("num_validation", 11), ("num_test", 13)):
        change(run, f"{key}: {value}", f"{key}: 0")


def test_the_card_of_an_export_holds_no_markup_of_the_run(stranger: Path, tmp_path: Path) -> None:
    change(stranger, "source_language: en", r'source_language: "<script>x</script> | `a` \n---\n# b"')
    (stranger / "README.md").write_text("---\na: b\n---\n# Run\n<img src=x>\n\n[a](javascript:b)\n\n| c |\n")
    export_run(stranger, "bundle", tmp_path / "out", num_sentences=2)
    card = (tmp_path / "out" / "README.md").read_text()
    assert "<" not in card.replace("<script", "")
    assert "<script" not in card
    assert "](" not in card
    assert "\n---\n" not in card
    assert "\n# b" not in card
    assert "\\`a\\`" in card
    assert "| c |" in card
    assert "## Run" in card


@pytest.mark.parametrize("file", ["README.md", "scores.json"])
def test_special_files_are_not_copied_into_an_export(stranger: Path, tmp_path: Path, file: str) -> None:
    (stranger / file).unlink(missing_ok=True)
    (stranger / file).symlink_to("/etc/hostname")
    with pytest.raises(UserError, match="link to a file outside"):
        export_run(stranger, "bundle", tmp_path / "out", num_sentences=2)
    (stranger / file).unlink()
    os.mkfifo(stranger / file)
    with pytest.raises(UserError, match="expected a regular file"):
        export_run(stranger, "bundle", tmp_path / "out", num_sentences=2)
    assert not (tmp_path / "out").exists()


def test_the_proof_reads_no_file_that_the_run_names(
    stranger: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    secret = tmp_path / "secret.en"
    secret.write_text("my secret is 12345 .\n" * 3)
    of_files(stranger, secret)
    capsys.readouterr()
    export_run(stranger, "bundle", tmp_path / "out", num_sentences=3)
    assert capsys.readouterr().out.splitlines() == [
        "writing bundle",
        "the proof uses generated English sentences, since data that a run names are not read; for others "
        f"add --sentences {secret}",
        "translating 3 sentences with the run and with the export",
    ]
    assert "secret is" not in (tmp_path / "out" / "README.md").read_text()


def test_calibration_reads_files_that_the_run_names_only_on_request(stranger: Path, tmp_path: Path) -> None:
    source = tmp_path / "text.en"
    source.write_text("I love you .\n" * 3)
    source.with_suffix(".de").write_text("ich liebe dich .\n" * 3)
    of_files(stranger, source)
    change(stranger, "target_language: fr", "target_language: de")
    with pytest.raises(UserError, match=r"text\.en\), which is read only if .* add --data-from-run"):
        pairs_of_run(RunDirectory(stranger))
    assert pairs_of_run(RunDirectory(stranger), trusted=True).source[0] == "I love you ."


def test_calibration_on_the_embedded_grammar_needs_no_request(stranger: Path) -> None:
    assert len(pairs_of_run(RunDirectory(stranger)).source) == 7
