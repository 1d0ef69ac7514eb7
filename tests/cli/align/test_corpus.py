import json
from dataclasses import replace
from pathlib import Path

import pytest

import translate
from tests.cli.align.pairs import PAIR, write
from tests.cli.commands import Command
from translate.alignment.alignment import Alignment
from translate.cli.align.corpus import _combined_links
from translate.cli.align.options import WeightOptions
from translate.cli.options import BatchMachine
from translate.corpora.split import Split
from translate.links.links import format_pharaoh, swapped
from translate.links.symmetrise import symmetrise
from translate.text.documents import ContextSize
from translate.translator import Translator


def test_blank_lines(
    run: Path, tmp_path: Path, translator: Translator, alignment: Alignment, translate_command: Command
) -> None:
    source = write(tmp_path / "text.en", PAIR[0], "", "I love", "you", PAIR[0])
    target = write(tmp_path / "text.fr", PAIR[1], "", "", "toi", PAIR[1])
    line = ("align", "corpus", run, "--source", source, "--target", target)
    result = translate_command(*line, "--batch-size", 2)
    you = translator.align(["you"], ["toi"])[0].pharaoh()
    assert result.out.split("\n") == [alignment.pharaoh(), "", "", you, alignment.pharaoh(), ""]
    out = tmp_path / "out.txt"
    translate_command(*line, "--out", out)
    assert out.read_text() == result.out
    table = write(tmp_path / "text.tsv", "en\tfr", f"{PAIR[0]}\t{PAIR[1]}", "you\ttoi")
    found = translate_command("align", "corpus", run, "--source", table).out
    assert found.splitlines() == [alignment.pharaoh(), you]


def test_weights(
    own_run: Path, tmp_path: Path, files: list[object], test_split: Split, translate_command: Command
) -> None:
    out = tmp_path / "a.jsonl"
    line = ("align", "corpus", own_run, *files, "--out", out, "--whitespace")
    assert translate_command(*line) == (0, f"weights written to {out}\n", "")
    found = [Alignment.from_dict(json.loads(row)) for row in out.read_text(encoding="utf-8").splitlines()]
    assert [" ".join(alignment.target_words) for alignment in found] == test_split.target


def _symmetrised(there: list[Alignment], back: list[Alignment], heuristic: str) -> list[str]:
    both = ((ahead.links(), swapped(behind.links())) for ahead, behind in zip(there, back, strict=True))
    return [format_pharaoh(symmetrise(*links, heuristic)) for links in both]


def test_two_directions_of_a_corpus(
    own_run: Path,
    tmp_path: Path,
    backward: Path,
    files: list[object],
    test_split: Split,
    translate_command: Command,
) -> None:
    reverse = backward
    itself = translate_command("align", "symmetrise", own_run, *files, "--reverse", own_run)
    assert "run: it translates en to fr; expected a run from fr to en" in itself.refusal()
    line = ("align", "symmetrise", own_run, *files, "--reverse", reverse)
    there = translate.load(own_run, device="cpu").align(test_split.source, test_split.target)
    back = translate.load(reverse, device="cpu").align(test_split.target, test_split.source)
    for options, heuristic in (([], "grow-diag-final-and"), (["--heuristic", "union"], "union")):
        expected = _symmetrised(there, back, heuristic)
        assert translate_command(*line, *options).out.splitlines() == expected
    out = tmp_path / "a.txt"
    assert translate_command(*line, "--out", out).out == f"links written to {out}\n"
    assert out.read_text() == translate_command(*line).out


def test_a_long_corpus_says_once_what_its_run_reads(
    translator: Translator, test_split: Split, capsys: pytest.CaptureFixture[str]
) -> None:
    """Blank pairs fill the first 2,048, which are in memory at a time."""
    reading = replace(translator, context=ContextSize(1, 50))
    blank = [("", "")] * 2_050
    pairs = [*blank, *zip(test_split.source, test_split.target, strict=True)]
    lines = _combined_links((reading, translator), pairs, "union", None, WeightOptions(), BatchMachine())
    there = translator.align(test_split.source, test_split.target)
    back = translator.align(test_split.target, test_split.source)
    assert list(lines) == [""] * len(blank) + _symmetrised(there, back, "union")
    assert capsys.readouterr().err.count("this run reads previous sentences") == 1
