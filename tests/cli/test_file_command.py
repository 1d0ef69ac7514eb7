"""`translate file` writes what the server would answer: the same kind of file, with its markup."""

import json
import math
from pathlib import Path

import pytest

import translate
from tests.cli.commands import Command
from tests.tiny_runs import train_tiny
from translate.config.composer import compose
from translate.runs.fine_tuning import with_model_of_start
from translate.runs.life import train
from translate.serve.documents import read

HTML = """<html lang=en><body><h1>I love you.</h1>
<p>It <b>rains</b>. The cat sleeps.<!-- kept --></p></body></html>"""


def test_a_page_keeps_all_but_its_text(tiny_run: Path, tmp_path: Path, translate_command: Command) -> None:
    page, out = tmp_path / "page.html", tmp_path / "page.fr.html"
    page.write_text(HTML)
    result = translate_command("file", tiny_run, page, "--out", out, "--beam-size", 1)
    assert result.code == 0
    assert result.out == f"{out}: 3 sentences translated\n"
    document = read("page.html", HTML.encode(), "en", "fr")
    found = translate.load(tiny_run).translate(document.sentences, beam_size=1, markup=True)
    assert out.read_bytes() == document.write([sentence.text for sentence in found])
    assert "<html lang=fr>" in out.read_text()
    assert "<!-- kept -->" in out.read_text()


def test_a_glossary_holds_where_its_terms_stand(
    tiny_run: Path, tmp_path: Path, translate_command: Command
) -> None:
    note, out, terms = tmp_path / "note.txt", tmp_path / "note.fr.txt", tmp_path / "terms.tsv"
    note.write_text("It rains.\nThe Cat sleeps.\n")
    terms.write_text("cat\tgarçon\n")
    assert translate_command("file", tiny_run, note, "--out", out, "--glossary", terms).code == 0
    rain, cat = out.read_text().splitlines()
    assert "garç" in cat  # perhaps inflected
    assert "garç" not in rain
    lines = translate_command("text", tiny_run, "It rains.", "The Cat sleeps.", "--glossary", terms).out
    assert lines.splitlines()[0] == rain
    assert lines.splitlines()[1] == cat
    terms.write_text("cat\n")
    told = f"{terms}: line 1: expected a term and its translation, separated by '\\t'"
    assert told in translate_command("text", tiny_run, "a cat", "--glossary", terms).err
    assert "no such file" in translate_command("text", tiny_run, "a cat", "--glossary", "none.tsv").err


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("note.md", "translate file RUN FILE --out note.translated.md"),
        ("test.en", "translate text RUN < FILE"),
        ("pairs.json", "its sentences into a file, one a line, and: translate text RUN < LINES"),
        (
            "a.txt",
            "translate file RUN FILE --out a.translated.txt, or line by line: translate text RUN < FILE",
        ),
    ],
)
def test_a_file_given_to_text_is_told_where_it_belongs(
    tiny_run: Path, tmp_path: Path, translate_command: Command, name: str, command: str
) -> None:
    file = tmp_path / name
    file.write_text("I love you.\n")
    command = command.replace("RUN", str(tiny_run)).replace("FILE", str(file))
    says = f"error: {file} is a file; to translate what is in it, write: {command}\n"
    assert translate_command("text", tiny_run, file) == (2, "", says)


@pytest.mark.parametrize(
    ("name", "out", "message"),
    [
        ("none.txt", "a.txt", "/note.txt?"),
        ("none.pdf", "a.pdf", "none.pdf: no such file"),
        ("table.xlsx", "a.xlsx", "unknown kind of file; expected one of .txt, .html"),
        ("note.en", "a.en", "note.en: unknown kind of file; expected one of .txt, .html"),
        ("note.en", "a.en", "if it has one sentence a line: translate text "),
        ("note.txt", "a.html", "a.html: expected a name in .txt, as the file"),
        ("note.txt", "note.txt", "note.txt: it is a file that is read; expected another name"),
        ("note.txt", "none/a.txt", "there is no folder"),
        ("broken.docx", "a.docx", "broken.docx: "),
        ("no.srt", "a.srt", "no.srt: no text to translate was found in it"),
    ],
)
def test_other_files_are_refused(
    tiny_run: Path, tmp_path: Path, translate_command: Command, name: str, out: str, message: str
) -> None:
    for file in ("note.txt", "table.xlsx", "note.en", "broken.docx", "no.srt"):
        (tmp_path / file).write_text("I love you.\n")
    result = translate_command("file", tiny_run, tmp_path / name, "--out", tmp_path / out)
    assert message in result.refusal()
    assert (tmp_path / "note.txt").read_text() == "I love you.\n"


def test_the_run_comes_first(tiny_run: Path, tmp_path: Path, translate_command: Command) -> None:
    note = tmp_path / "note.txt"
    note.write_text("I love you.\n")
    result = translate_command("file", note, tiny_run, "--out", tmp_path / "a.txt")
    assert (
        result.err
        == f"error: {note}: a file, not a run directory; the run comes first, then what is translated\n"
    )


@pytest.mark.slow
@pytest.mark.parametrize("tags", [("<one>", "<two>"), ("<one>", None)])
def test_a_sentence_without_a_tag_is_told_where_every_corpus_had_one(
    tmp_path: Path,
    translate_command: Command,
    tags: tuple[str, str | None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Back-translation tags one of two corpora; there a sentence without one is as usual."""
    run, note, out = tmp_path / "run", tmp_path / "note.txt", tmp_path / "out.txt"
    corpora = ", ".join(
        f"{name}: {{choice: grammar, tokenised: false, num_train: 40, num_validation: 2, seed: {seed}"
        + (f", tag: {tag}}}" if tag else "}")
        for seed, (name, tag) in enumerate(zip("ab", tags))
    )
    mixed = ("data=mixture", f"data.corpora={{{corpora}}}", "training.max_steps=1")
    assert train_tiny(run, "transformer", *mixed) == 0
    told = "2 sentences: without a tag before the sentence, which the model was trained with; it knows <one>"
    result = translate_command("text", run, "it rains .", "<one> it rains .", "it is cold .")
    assert (told in result.err) == (tags[1] is not None)
    assert translate_command("text", run, "<one> it rains .").err == ""  # a tag is no markup that is lost
    capsys.readouterr()
    more = (
        "data.num_train=40",
        "data.num_validation=2",
        f"training.start_from={run}",
        "training.max_steps=1",
    )
    own = compose([f"run.directory={tmp_path / 'tuned'}", "data=grammar", "data.tokenised=false", *more])
    assert train(with_model_of_start(own, ["data"])) == 0
    assert "reads tags (<one>" in capsys.readouterr().out
    note.write_text("it rains . it is cold .\n")
    assert translate_command("file", run, note, "--out", out, "--tag", "<one>").err == ""
    found = translate.load(run).translate(["<one> it rains .", "<one> it is cold ."])
    assert out.read_text().split() == " ".join(result.text for result in found).split()
    lines, there = tmp_path / "lines.txt", ("--source", note, "--reference", note.with_name("r.txt"))
    there[-1].write_text("il pleut .\n")
    translate_command("evaluate", run, *there, "--tag", "<one>", "--out", lines)
    (scored,) = translate.load(run).translate(["<one> it rains . it is cold ."])
    assert lines.read_text() == f"{scored.text}\n"
    compared = translate_command("compare", f"mine={lines}", run, *there, "--tag", "<one>", "--json").out
    assert json.loads(compared)["systems"][1]["identical"]
    wrong = translate_command("compare", run, *there, "--tag", "<x>")
    assert "--tag <x>: the run was not trained with it; it knows <one>" in wrong.err
    wrong = translate_command("file", run, note, "--out", out, "--tag", "<x>")
    assert "--tag <x>: the run was not trained with it; it knows <one>" in wrong.err


def test_the_least_sure_translations_are_shown(
    tiny_run: Path, tmp_path: Path, translate_command: Command
) -> None:
    note, out = tmp_path / "note.txt", tmp_path / "out.txt"
    words = ["cat", "dog", "man", "bed", "old", "you", "it", "love", "rain", "woman"]
    lines = [f"the {word} sleeps" for word in words]
    note.write_text("\n".join(lines) + "\n")
    printed = translate_command("file", tiny_run, note, "--out", out).out.splitlines()
    assert printed[1] == "least sure, with the mean probability of their pieces:"
    scores = sorted(result.score for result in translate.load(tiny_run).translate(lines))
    assert [line.split()[0] for line in printed[2:]] == [f"{math.exp(score):.2f}" for score in scores[:3]]
    done = tmp_path / "done.po"
    done.write_text('msgid "a cat"\nmsgstr "un chat"\n')
    told = translate_command("file", tiny_run, done, "--out", tmp_path / "out.po").out
    assert told.endswith("0 sentences translated; all of the file's messages have translations already\n")
