"""How often words are right: counted by hand, stored with a run, told to clients."""

import json
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli.commands import run as run_command
from tests.serve.client import Client
from translate.errors import UserError
from translate.runs.load import load
from translate.serve.catalogue import open_catalogue
from translate.serve.word_confidence import EDGES, FILE, Band, Confidence, count, store, stored
from translate.text.documents import ContextSize
from translate.translator import Translator

SOURCES = ["I love you .", "the old woman sees the dog .", "", "a man sleeps ."]
FOUND = Confidence("dev", 4, (Band(0.0, 0.5, 3, 1), Band(0.5, 1.0, 30, 27)))


def test_each_word_of_the_reference_makes_one_word_right(client: Client, translator: Translator) -> None:
    """The oracle takes words and probabilities from the server, and counts each band by itself."""
    references = ["je t' aime .", "la vieille femme voit le chien .", "", "un homme dort ."]
    found = count(translator, SOURCES, references, "dev")
    rows = client.post("/v1/translate", text=SOURCES).json["translations"]
    assert (found.pairs, found.split) == (4, "dev")
    for band, start, end in zip(found.bands, EDGES[:-1], EDGES[1:], strict=True):
        assert (band.start, band.end) == (start, end)
        inside = [
            (word["text"], number)
            for number, row in enumerate(rows)
            for word in row["target_words"]
            if start <= word["confidence"] < end or end == word["confidence"] == 1
        ]
        assert band.words == len(inside)
    total = sum(
        (Counter(word["text"] for word in row["target_words"]) & Counter(reference.split())).total()
        for row, reference in zip(rows, references, strict=True)
    )
    assert sum(band.right for band in found.bands) == total
    same = count(translator, SOURCES, [row["text"] for row in rows], "dev")
    assert all(band.right == band.words for band in same.bands)
    twice = count(translator, SOURCES[:1], [rows[0]["target_words"][0]["text"]], "dev")
    assert sum(band.right for band in twice.bands) == 1


def test_words_are_counted_with_the_context_that_the_server_reads(translator: Translator) -> None:
    reading = replace(translator, context=ContextSize(1, 50), warnings=Counter())
    context = [[], SOURCES[:1], SOURCES[1:2], SOURCES[1:2]]
    found = reading.translate(SOURCES, context=context)
    same = count(reading, SOURCES, [each.text for each in found], "dev", context)
    assert all(band.right == band.words for band in same.bands)
    assert not any("previous" in warning for warning in reading.warnings)
    assert count(reading, SOURCES, [each.text for each in found], "dev") != same


@pytest.fixture
def copied(tiny_run: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(tiny_run, tmp_path / "run"))


def test_what_is_stored_is_read_while_the_weights_are_the_same(copied: Path, translator: Translator) -> None:
    assert stored(copied, translator.model) is None
    store(copied, FOUND, translator.model)
    assert stored(copied, translator.model) == FOUND
    changed = load(copied, device="cpu")
    next(changed.model.parameters()).data[0] += 1
    assert stored(copied, changed.model) is None
    served = open_catalogue({"a": [copied]}, {}, lambda path: load(path, device="cpu"), None).models[0]
    assert served.confidence == FOUND
    assert (
        open_catalogue({"a": [copied] * 2}, {}, lambda path: load(path, device="cpu"), None)
        .models[0]
        .confidence
        is None
    )  # an ensemble has other probabilities


@pytest.mark.parametrize("content", ["{", "[]", '{"model": "a", "split": "b", "pairs": -1, "bands": []}'])
def test_a_damaged_file_is_told(copied: Path, translator: Translator, content: str) -> None:
    (copied / FILE).write_text(content)
    with pytest.raises(UserError, match="damaged"):
        stored(copied, translator.model)


def test_the_command(copied: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, reference = tmp_path / "a.en", tmp_path / "a.fr"
    source.write_text("I love you .\na man sleeps .\n")
    reference.write_text("je t' aime .\nun homme dort .\n")
    command = ["confidence", str(copied), "--source", str(source), "--device", "cpu"]
    assert run_command([*command, "--reference", str(reference)]) == 0
    assert "2 pairs of a.en and a.fr; stored in" in capsys.readouterr().out
    assert json.loads((copied / FILE).read_text())["pairs"] == 2
    assert run_command([*command, "--reference", str(reference), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["pairs"] == 2
    swapped = ["confidence", str(copied), "--source", str(reference), "--reference", str(source)]
    assert run_command(swapped) == 2
    assert "--source and --reference may be swapped" in capsys.readouterr().err
    assert run_command(command) == 2
    assert "--source and --reference go together" in capsys.readouterr().err
    assert run_command([*command, "--reference", str(reference), "--data-from-run"]) == 2
    assert "leave out --data-from-run" in capsys.readouterr().err
