"""`translate file` writes what the server would answer: the same kind of file, with its markup."""

from pathlib import Path

import pytest

import translate
from tests.cli.commands import Command
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


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("note.md", "translate file RUN FILE --out note.translated.md"),
        ("test.en", "translate text RUN < FILE"),
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
        ("note.en", "a.en", "for sentences, one a line: translate text "),
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
