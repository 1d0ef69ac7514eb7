import re
from dataclasses import replace
from pathlib import Path

import pytest

import translate
from tests.cli.align.pairs import PAIR
from tests.cli.commands import Command
from translate.alignment.alignment import Alignment, AlignmentChoice
from translate.translator import Translator

NO_EFFECT = "has no effect on"


def test_links_go_to_standard_output(run: Path, alignment: Alignment, translate_command: Command) -> None:
    result = translate_command("align", "pair", run, *PAIR)
    assert result == (0, alignment.pharaoh() + "\n", "")
    largest = translate_command("align", "pair", run, *PAIR, "--threshold", 0)  # not that of the run
    assert largest == (0, alignment.pharaoh(0) + "\n", "")
    assert len(largest.out.split()) == 4


def test_the_shift_of_another_layer_is_told(own_run: Path, translate_command: Command) -> None:
    choice = translate.load(own_run, device="cpu").choice
    other, shift = str(1 - choice.layer), choice.shift
    says = f"note: shift {shift} was chosen for layer {choice.layer}; layer {other} may fit better with "
    line = ("align", "pair", own_run, *PAIR, "--layer")
    assert translate_command(*line, other).err == f"{says}--shift {1 - shift}\n"
    assert translate_command(*line, other, "--shift", str(shift)).err == ""
    assert translate_command(*line, str(choice.layer)).err == ""


def test_a_target_that_is_absent_is_translated(
    run: Path, translator: Translator, translate_command: Command
) -> None:
    found = translator.translate([PAIR[0]], alignments=True)[0]
    assert found.alignment is not None
    result = translate_command("align", "pair", run, PAIR[0])
    assert result.out == f"{found.text}\n{found.alignment.pharaoh()}\n"
    result = translate_command("align", "pair", run, PAIR[0], "tu")
    assert result.err == "note: tu is taken as the translation; a sentence is put in quotes\n"
    result = translate_command("align", "pair", run, PAIR[0], " ")
    assert result.code == 2
    assert "name of a file; to write it: --out a.png" in translate_command("align", run, PAIR[0], "a.png").err
    assert "TARGET is empty; left out, the model translates SOURCE" in result.err
    scored = translator.align([PAIR[0]], [found.text], whitespace=True)[0]
    result = translate_command("align", "pair", run, PAIR[0], "--whitespace")
    assert result.out == f"{found.text}\n{scored.pharaoh()}\n"


@pytest.mark.parametrize("method", ["gradient", "erasure", "norm"])
def test_methods(own_run: Path, method: str, translate_command: Command) -> None:
    found = translate.load(own_run, device="cpu").align([PAIR[0]], [PAIR[1]], method=method)[0]
    result = translate_command("align", "pair", own_run, *PAIR, "--method", method, "--weights")
    assert result == (0, found.pharaoh(weights=True) + "\n", "")


@pytest.mark.parametrize(("options", "heads"), [(["--head", 1], (1,)), ([], (0, 1, 2))])
def test_a_layer_and_a_head_in_place_of_the_chosen_ones(
    own_run: Path, translate_command: Command, options: list[object], heads: tuple[int, ...]
) -> None:
    translator = translate.load(own_run, device="cpu")
    chosen = translator.choice
    other = AlignmentChoice(0, heads, chosen.shift)
    translator.choice = chosen if replace(chosen, threshold=0.0) == other else other
    expected = translator.align([PAIR[0]], [PAIR[1]])[0].pharaoh(weights=True)
    result = translate_command("align", "pair", own_run, *PAIR, "--layer", 0, *options, "--weights")
    assert result == (0, f"{expected}\n", "")


def test_a_command_in_the_place_of_the_sentence_is_told(own_run: Path, translate_command: Command) -> None:
    says = "note: heads is aligned as a sentence; the command is: translate align heads RUN\n"
    assert translate_command("align", own_run, "heads").err == says


def test_the_other_shift(own_run: Path, translate_command: Command) -> None:
    translator = translate.load(own_run, device="cpu")
    chosen = translator.choice
    translator.choice = replace(chosen, shift=1 - chosen.shift, threshold=0.0)
    expected = translator.align([PAIR[0]], [PAIR[1]])[0].pharaoh(weights=True)
    result = translate_command(
        "align", "pair", own_run, *PAIR, "--shift", translator.choice.shift, "--weights"
    )
    assert result == (0, f"{expected}\n", "")


def test_a_heatmap_is_named_for_its_run(run: Path, tmp_path: Path, translate_command: Command) -> None:
    out = tmp_path / "A.SVG"
    result = translate_command("align", "pair", run, *PAIR, "--out", out, "--values")
    assert result == (0, f"heatmap written to {out}\n", "")
    shown = out.read_text(encoding="utf-8")
    assert all(f">{word}<" in shown for word in (run.name, "love", "aime"))


def test_a_page(run: Path, tmp_path: Path, translator: Translator, translate_command: Command) -> None:
    out = tmp_path / "a.html"
    result = translate_command("align", "pair", run, *PAIR, "--out", out, "--links", "0-0 2p1")
    assert result == (0, f"page written to {out}\n", "")
    given = out.read_text(encoding="utf-8")
    assert f"rnn_luong: layer {translator.choice.layer}" in given
    assert '"gold":{"sure":[[0,0]],"possible":[[0,0],[2,1]]}' in given
    result = translate_command("align", "pair", run, PAIR[0], "--out", out)
    best = translator.translate([PAIR[0]], n_best=min(3, translator.search.beam_size))[0]
    assert result == (0, f"{best.text}\npage written to {out}\n", "")
    scores = ",".join(f'"score":{candidate.score}' for candidate in best.n_best if candidate.text)
    found = re.findall(r'"score":[-0-9.e]+', out.read_text(encoding="utf-8"))
    assert ",".join(found) == scores


@pytest.mark.parametrize("name", ["a.txt", "a.LINKS", "a.pharaoh"])
def test_links_to_a_file(
    run: Path, tmp_path: Path, name: str, alignment: Alignment, translate_command: Command
) -> None:
    out = tmp_path / name
    assert translate_command("align", "pair", run, *PAIR, "--out", out).out == f"links written to {out}\n"
    assert out.read_text() == alignment.pharaoh() + "\n"
