"""`translate compare`: figures of sacrebleu, the sentences that differ most, and the systems."""

import json
import re
import shutil
from pathlib import Path
from typing import NamedTuple

import pytest
import sacrebleu

import translate
from tests.cli.commands import Command

QUICK = ("--samples", 30, "--trials", 40)


class Files(NamedTuple):
    source: Path
    reference: Path
    good: Path  # translations with one wrong line
    bad: Path  # nearly nothing is right

    @property
    def options(self) -> tuple[object, ...]:
        return ("--source", self.source, "--reference", self.reference, *QUICK)


@pytest.fixture(scope="module")
def files(grammar_test_set: Path, tmp_path_factory: pytest.TempPathFactory) -> Files:
    folder = tmp_path_factory.mktemp("compared")
    for language in ("en", "fr"):
        shutil.copy(grammar_test_set / f"test.{language}", folder)
    references = (folder / "test.fr").read_text().splitlines()
    good = [*references[:4], "tout autre chose .", *references[5:]]
    bad = [f"{line.split()[0]} <b>non</b> & \x1b[31m ." for line in references]
    for name, lines in (("good", good), ("bad", bad)):
        (folder / f"{name}.fr").write_text("".join(f"{line}\n" for line in lines))
    return Files(*(folder / name for name in ("test.en", "test.fr", "good.fr", "bad.fr")))


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def test_the_record_has_the_figures_of_sacrebleu(files: Files, translate_command: Command) -> None:
    result = translate_command("compare", f"bad={files.bad}", f"good={files.good}", *files.options, "--json")
    assert (result.code, result.err) == (0, "")
    record = json.loads(result.out)
    assert (record["sentences"], record["references"], record["baseline"]) == (17, 1, "bad")
    bad, good = record["systems"]
    references = lines(files.reference)
    for row, path in ((bad, files.bad), (good, files.good)):
        assert row["bleu"]["score"] == pytest.approx(sacrebleu.corpus_bleu(lines(path), [references]).score)
        assert row["chrf"]["score"] == pytest.approx(sacrebleu.corpus_chrf(lines(path), [references]).score)
        assert row["bleu"]["interval"][0] <= row["bleu"]["interval"][1]
    assert "p" not in bad["bleu"]
    assert good["bleu"]["difference"] == pytest.approx(good["bleu"]["score"] - bad["bleu"]["score"])
    assert set(good["bleu"]["p"]) == set(record["signatures"]["bleu"]) == {"bootstrap", "randomisation"}
    assert good["bleu"]["p"]["randomisation"] < 0.05
    assert "seed:12345" in record["signatures"]["bleu"]["bootstrap"]


def test_sentences_that_differ_most_come_first(files: Files, translate_command: Command) -> None:
    systems = (f"reference={files.reference}", f"good={files.good}")
    record = json.loads(translate_command("compare", *systems, *files.options, "--json").out)
    (only,) = record["differences"]  # all other lines are the same
    assert only["line"] == 5
    assert only["source"] == lines(files.source)[4]
    assert only["references"] == [lines(files.reference)[4]]
    assert only["texts"] == {"reference": lines(files.reference)[4], "good": "tout autre chose ."}
    assert only["chrf"]["reference"] == pytest.approx(100)
    assert record["systems"][1]["sentences"] == {"better": 0, "worse": 1, "equal": 16}
    shown = translate_command("compare", *systems, *files.options).out
    assert "\nline 5\n" in shown
    assert re.search(r"^  good \d+\.\d +tout autre chose \.$", shown, flags=re.MULTILINE)
    assert "good against reference, sentences by chrF: 0 better, 1 worse, 16 equal\n" in shown
    none = translate_command("compare", *systems, *files.options, "--sentences", 0).out
    assert "line 5" not in none
    same = translate_command("compare", systems[1], f"copy={files.good}", *files.options).out
    assert "0 worse, 17 equal; all translations are identical\n" in same


def test_the_terminal_shows_the_same_and_obeys_nothing(files: Files, translate_command: Command) -> None:
    systems = (f"good={files.good}", f"bad={files.bad}")
    record = json.loads(translate_command("compare", *systems, *files.options, "--json", "--ter").out)
    shown = translate_command("compare", *systems, *files.options, "--ter").out
    assert "\x1b" not in shown
    assert "\\x1b[31m" in shown
    for metric, name in (("bleu", "BLEU"), ("chrf", "chrF"), ("ter", "TER")):
        for system in record["systems"]:
            score = f"{system[metric]['score']:.2f}"
            assert re.search(rf"^{name} +{system['name']} +{score} ", shown, flags=re.MULTILINE)
        for test, signature in record["signatures"][metric].items():
            assert f"{name}, {test}: {signature}" in shown
    p = record["systems"][1]["bleu"]["p"]
    cells = [f"{value:.4f}{'*' if value < 0.05 else ''}" for value in p.values()]
    assert re.search("  ".join(re.escape(cell) + " *" for cell in cells), shown)


@pytest.fixture(scope="module")
def runs(tiny_runs: dict[str, Path]) -> tuple[Path, Path]:
    return tiny_runs["rnn_luong"], tiny_runs["transformer"]


def test_runs_are_translated(runs: tuple[Path, Path], files: Files, translate_command: Command) -> None:
    systems = (runs[0], f"new={runs[1]}", f"gold={files.reference}")
    result = translate_command("compare", *systems, *files.options, "--json")
    assert (result.code, result.err) == (0, "")
    record = json.loads(result.out)
    assert [row["name"] for row in record["systems"]] == [runs[0].name, "new", "gold"]
    translator = translate.load(runs[1])
    texts = [result.text for result in translator.translate(lines(files.source))]
    for difference in record["differences"]:
        assert difference["texts"]["new"] == texts[difference["line"] - 1]


def test_a_system_is_scored_with_several_references(files: Files, translate_command: Command) -> None:
    systems = (f"bad={files.bad}", f"good={files.good}")
    two = (*files.options, "--reference", files.good)
    record = json.loads(translate_command("compare", *systems, *two, "--json").out)
    assert record["references"] == 2
    assert record["systems"][1]["bleu"]["score"] == pytest.approx(100)
    alone = translate_command("compare", systems[1], *two)
    assert (alone.code, "p below" in alone.out) == (0, False)
    assert re.search(r"^BLEU  good +100\.00 ", alone.out, re.MULTILINE)


def test_references_that_have_slipped_are_told(translate_command: Command, tmp_path: Path) -> None:
    lines = [f"le chien numéro {number} dort dans le jardin {number + 1} ." for number in range(0, 400, 4)]
    right, slipped = tmp_path / "right.fr", tmp_path / "slipped.fr"
    right.write_text("\n".join(lines))
    slipped.write_text("\n".join([*lines[1:], lines[0]]))
    line = ("compare", f"a={right}", f"b={right}", "--source", right, *QUICK, "--reference")
    says = (
        "translations 1 to 100 are more like the references before or after theirs: has a file slipped there"
    )
    assert says in translate_command(*line, slipped).err
    assert "slipped" not in translate_command(*line, right).err


def test_bleu_by_length_is_drawn(files: Files, translate_command: Command, tmp_path: Path) -> None:
    systems, drawn = (f"good={files.good}", f"bad={files.bad}"), tmp_path / "lengths.svg"
    nowhere = translate_command("compare", *systems, *files.options, "--figure", tmp_path / "no" / "a.svg")
    assert (nowhere.out, "there is no folder" in nowhere.refusal()) == ("", True)
    result = translate_command("compare", *systems, *files.options, "--figure", drawn, "--json")
    assert (result.code, result.err) == (0, "")
    parts = json.loads(result.out)["lengths"]
    labels = {f"{part['shortest']} to {part['longest']}" for part in parts}
    texts = set(re.findall(r"<text[^>]*>([^<]+)</text>", drawn.read_text(encoding="utf-8")))
    assert labels | {"good", "bad", "BLEU", "words of the source"} <= texts


def test_sentences_of_one_length_are_scored_without_a_picture(
    translate_command: Command, tmp_path: Path
) -> None:
    text = tmp_path / "same.en"
    text.write_text("a b c d e\n" * 4)
    other = tmp_path / "same.fr"
    other.write_text("a b c d e\n" * 4)
    files = ("--source", text, "--reference", other, *QUICK, "--figure", tmp_path / "a.png")
    result = translate_command("compare", f"same={text}", *files)
    assert (result.code, (tmp_path / "a.png").exists()) == (2, False)
    assert "100.00" in result.out
    assert result.err.startswith("error: --figure: all source sentences are about as long")


@pytest.mark.parametrize(
    ("systems", "options", "message"),
    [
        (["a=good.fr", "a=bad.fr"], [], "two systems have the same name"),
        (["a=good.fr", "b="], [], "'b=': expected RUN, NAME=RUN or NAME=FILE"),
        (["a=good.fr", "b=none.fr"], [], "none.fr: no such file"),
        (["a=good.fr", "none"], [], "none: no such run directory"),
        (["a=good.fr", "good.fr"], [], "good.fr: a file of translations has a name here, NAME=good.fr"),
        (["a=good.fr", "b=short.fr"], [], "short.fr: 1 line; expected 17, as test.en has"),
        (["a=good.fr", "b=bad.fr"], ["--source", "test.en", "--reference", "test.fr"], "2 test sets"),
        (["a=good.fr"], ["--figure", "a.gif"], "a.gif: cannot draw to '.gif'; expected .png, .pdf or .svg"),
    ],
)
def test_wrong_use(
    systems: list[str],
    options: list[str],
    message: str,
    files: Files,
    translate_command: Command,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(files.source.parent)
    Path("short.fr").write_text("a\n")
    given = ("--source", "test.en", "--reference", "test.fr", *QUICK, *options)
    result = translate_command("compare", *systems, *given)
    assert (result.code, result.out) == (2, "")
    assert message in result.err
    assert len(result.err.splitlines()) == 1


@pytest.mark.parametrize("options", [(), ("--reference", "a")])
def test_a_test_set_that_is_missing(
    options: tuple[str, ...], files: Files, translate_command: Command
) -> None:
    result = translate_command("compare", f"a={files.good}", f"b={files.bad}", *options)
    assert (result.code, result.out) == (2, "")
    assert "a test set is --source FILE with its translations, --reference FILE: give both" in result.err


def test_a_beam_for_files_alone_is_refused(files: Files, translate_command: Command) -> None:
    result = translate_command("compare", f"good={files.good}", *files.options, "--beam-size", 3)
    assert "--beam-size: it has no effect on files of translations" in result.refusal()


def test_a_run_of_the_other_direction_is_named(
    tiny_run: Path, files: Files, tmp_path: Path, translate_command: Command
) -> None:
    """Not the files, which are right for the first run."""
    back = tmp_path / "back"
    shutil.copytree(tiny_run, back, symlinks=True)
    text = (back / "config.yaml").read_text()
    swapped = text.replace("source_language: en", "source_language: fr")
    (back / "config.yaml").write_text(swapped.replace("target_language: fr", "target_language: en", 1))
    told = translate_command("compare", tiny_run, back, *files.options).err
    assert f"needs the same languages; {tiny_run.name} translates en to fr, back translates fr to en" in told


def test_runs_that_read_unequally_much_are_told(
    run: Path, files: Files, translate_command: Command, tmp_path: Path
) -> None:
    other = shutil.copytree(run, tmp_path / "other")
    assert "target tokens" not in translate_command("compare", run, other, *files.options).out
    scores = json.loads((other / "scores.json").read_text())
    (other / "scores.json").write_text(json.dumps(scores | {"tokens": 5}))
    told = translate_command("compare", f"a={run}", other, *files.options).out
    assert f"\ntarget tokens in training: a {scores['tokens']:,}, other 5\n" in told
    (other / "scores.json").unlink()
    assert "target tokens" not in translate_command("compare", run, other, *files.options).out
