import json
import shutil
from pathlib import Path

import pytest

import translate
from tests.cli.commands import Command
from translate.corpora.split import Split
from translate.links.links import score
from translate.runs.calibration import gold_links


@pytest.mark.slow
def test_gold_chooses_the_lowest_error_rate(
    own_run: Path, files: list[object], gold: list[object], test_split: Split, translate_command: Command
) -> None:
    row = json.loads(translate_command("align", "calibrate", own_run, *files, *gold, "--json").out)
    assert row["criterion"] == "aer"
    assert row["validation_aer"] == pytest.approx(min(tried["aer"] for tried in row["table"]), abs=1e-6)
    assert json.loads((own_run / "alignment.json").read_text()) == row
    translator = translate.load(own_run, device="cpu")
    assert translator.choice.to_dict() == row["choice"]
    links = [a.links() for a in translator.align(test_split.source, test_split.target, whitespace=True)]
    assert score(links, gold_links(test_split)).aer == pytest.approx(row["validation_aer"])
    batches = translate_command("align", "calibrate", own_run, *files, *gold, "--json", "--batch-size", 3)
    assert json.loads(batches.out)["choice"] == row["choice"]


def test_a_choice_made_with_gold_is_not_replaced_without(
    tiny_runs: dict[str, Path], tmp_path: Path, files: list[object], translate_command: Command
) -> None:
    run = tmp_path / "run"
    shutil.copytree(tiny_runs["transformer"], run, symlinks=True)
    stored = run / "alignment.json"
    before = stored.read_text()
    result = translate_command("align", "calibrate", run, *files)
    assert (result.code, result.out) == (2, "")
    assert result.err == (
        f"error: {stored}: the stored choice was made with gold links; give --gold FILE, or --force\n"
    )
    assert stored.read_text() == before
    assert translate_command("align", "calibrate", run, *files, "--force").code == 0
    assert json.loads(stored.read_text())["criterion"] != "aer"
    assert translate_command("align", "calibrate", run, *files).code == 0


def test_gold_of_the_validation_set_decides(own_run: Path, translate_command: Command) -> None:
    result = translate_command("align", "calibrate", own_run)
    assert result.err == "note: 46 sure gold links: so few choose by chance\n"
    assert "chosen by aer on validation" in result.out


def test_report(own_run: Path, files: list[object], gold: list[object], translate_command: Command) -> None:
    row = json.loads(translate_command("align", "report", own_run, *files, *gold, "--json").out)
    assert row["pairs"] == 11
    assert set(row["scores"]) == {"attention", "gradient", "erasure", "norm"}
    result = translate_command("align", "report", own_run)
    assert result.code == 0
    assert "attention and erasure disagree on" in result.out
    assert all(word in result.out for word in ("rank correlation", "AER"))
