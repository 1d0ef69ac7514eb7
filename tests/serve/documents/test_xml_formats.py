"""DOCX, ODT, PO and XLIFF: other readers see the same structure; what is hostile is refused."""

import io
import tracemalloc
import zipfile

import pytest

from tests.serve.documents.shouting import shout
from translate.errors import UserError
from translate.serve.documents import read
from translate.serve.documents.xml import MAX_FILES, MAX_UNPACKED, Archive, parse_xml

pytest.importorskip("lxml", reason="needs lxml")
pytest.importorskip("polib", reason="needs polib")

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
BOMB = '<!DOCTYPE a [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]><a>&b;</a>'
OUTER = '<!DOCTYPE a [<!ENTITY a SYSTEM "file:///secret.txt">]><a>&a;</a>'


def zipped(**files: str | bytes) -> bytes:
    """An archive; in names ``__`` stands for a slash and ``_`` for a full stop."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name.replace("__", "/").replace("_", "."), content)
    return out.getvalue()


def word(body: str) -> bytes:
    return zipped(word__document_xml=f'<w:document xmlns:w="{W}"><w:body>{body}</w:body></w:document>')


def test_docx_as_python_docx_reads_it() -> None:
    docx = pytest.importorskip("docx", reason="needs python-docx")
    made = docx.Document()
    made.add_heading("A title")
    paragraph = made.add_paragraph("Hello ")
    paragraph.add_run("bold").bold = True
    paragraph.add_run(" world. Second ")
    paragraph.add_run("part").italic = True
    paragraph.add_run(" here.").add_break()
    paragraph.add_run("After\ttab")
    made.add_table(1, 2).cell(0, 0).text = "A cell"
    made.sections[0].header.paragraphs[0].text = "The header"
    out = io.BytesIO()
    made.save(out)
    document = read("a.docx", out.getvalue(), "en")
    assert document.sentences == [
        "A title", "Hello <g0>bold</g0> world.", "Second <g1>part</g1> here.", "After", "tab", "A cell",
        "The header",
    ]  # fmt: skip
    moved = ["Titre", "Monde <g0>gras</g0> !", *shout(document.sentences[2:])]
    found = docx.Document(io.BytesIO(document.write(moved)))
    title, second, *_ = found.paragraphs
    assert (title.text, title.style.name) == ("Titre", "Heading 1")
    assert second.text == "Monde gras ! SECOND PART HERE.\nAFTER\tTAB"
    assert [run.text for run in second.runs if run.bold] == ["gras"]
    assert [run.text for run in second.runs if run.italic] == ["PART"]
    assert found.tables[0].cell(0, 0).text == "A CELL"
    assert found.sections[0].header.paragraphs[0].text == "THE HEADER"


def test_docx_links_fields_and_notes_stay() -> None:
    run = "<w:r>{}<w:t xml:space='preserve'>{}</w:t></w:r>".format
    body = (
        "<w:p><w:pPr><w:keepNext/></w:pPr>"
        + run("<w:rPr><w:lang w:val='en'/></w:rPr>", "See ")
        + "<w:proofErr/><w:hyperlink w:anchor='x'>"
        + run("<w:rPr><w:b/></w:rPr>", "the page")
        + "</w:hyperlink>"
        + run("", " now")
        + "<w:r><w:footnoteReference w:id='2'/></w:r>"
        + run("", ".")
        + "<w:r><w:fldChar w:fldCharType='begin'/></w:r><w:r><w:instrText>PAGE</w:instrText></w:r></w:p>"
    )
    document = read("a.docx", word(body))
    (sentence,) = document.sentences
    assert sentence == "See <g0><g1>the page</g1></g0> now<x2/>."
    written = Archive(document.write(["<g0><g1>La page</g1></g0>, voir<x2/>."]), "a")
    root = parse_xml(written.files["word/document.xml"], "a")
    w = f"{{{W}}}"
    (paragraph,) = root.iter(f"{w}p")
    assert "".join(paragraph.itertext()) == "La page, voir.PAGE"
    assert [each.tag.removeprefix(w) for each in paragraph] == ["pPr", "hyperlink", "r", "r", "r", "r", "r"]
    assert paragraph[1].get(f"{w}anchor") == "x"
    assert [text.text for text in paragraph[1].iter(f"{w}t")] == ["La page"]
    assert paragraph[1].find(f"{w}r/{w}rPr/{w}b") is not None


def test_odt() -> None:
    pytest.importorskip("odf", reason="needs odfpy")
    from odf import teletype
    from odf.opendocument import OpenDocumentText, load
    from odf.text import H, LineBreak, P, S, Span

    made = OpenDocumentText()
    made.text.addElement(H(outlinelevel=1, text="A title"))
    paragraph = P(text="Hello ")
    paragraph.addElement(Span(text="big"))
    paragraph.addText(" world.")
    paragraph.addElement(LineBreak())
    paragraph.addText("12 ")
    paragraph.addElement(S(c=3))
    paragraph.addText("More")
    made.text.addElement(paragraph)
    out = io.BytesIO()
    made.write(out)
    document = read("a.odt", out.getvalue())
    assert document.sentences[:2] == ["A title", "Hello <g0>big</g0> world."]
    content = document.write(shout(document.sentences))
    assert zipfile.ZipFile(io.BytesIO(content)).infolist()[0].filename == "mimetype"
    found = load(io.BytesIO(content))
    assert [teletype.extractText(each) for each in found.getElementsByType(H)] == ["A TITLE"]
    (paragraph,) = found.getElementsByType(P)
    assert teletype.extractText(paragraph).split() == ["HELLO", "BIG", "WORLD.", "12", "MORE"]
    assert [teletype.extractText(each) for each in found.getElementsByType(Span)] == ["BIG"]


def test_notes_boxes_and_page_breaks_of_odt() -> None:
    text, office = (f"urn:oasis:names:tc:opendocument:xmlns:{name}:1.0" for name in ("text", "office"))
    body = (
        "<text:p>Hello world<text:note><text:note-body><text:p>A footnote.</text:p></text:note-body>"
        "</text:note> goes on over<text:soft-page-break/> a page.</text:p>"
    )
    content = f'<office:text xmlns:text="{text}" xmlns:office="{office}">{body}</office:text>'
    document = read("a.odt", zipped(mimetype="application/vnd.oasis.opendocument.text", content_xml=content))
    assert document.sentences == ["Hello world<x0/> goes on over<x1/> a page.", "A footnote."]
    archive = zipfile.ZipFile(io.BytesIO(document.write(shout(document.sentences))))
    written = archive.read("content.xml").decode()
    assert ">HELLO WORLD<" in written
    assert ">A FOOTNOTE.<" in written


def test_hyphens_and_tracked_changes_of_docx_end_no_sentence() -> None:
    run = "<w:r><w:t xml:space='preserve'>{}</w:t></w:r>".format
    body = (
        "<w:p><w:r><w:t>Well</w:t><w:noBreakHyphen/><w:t>known Donau</w:t><w:softHyphen/><w:t>dampf is "
        "long.</w:t></w:r></w:p><w:p>"
        + run("A ")
        + "<w:ins>"
        + run("big ")
        + "</w:ins><w:del><w:r><w:delText>"
        "small </w:delText></w:r></w:del>"
        + "<w:moveFromRangeStart w:id='1'/>"
        + run("dog ")
        + "<w:moveToRangeEnd w:id='2'/>"
        + run("sleeps.")
        + "</w:p>"
    )
    document = read("a.docx", word(body))
    assert document.sentences == [
        "Well\u2011known Donaudampf is long.",
        "A <g0>big </g0><x1/><x2/>dog <x3/>sleeps.",
    ]
    written = document.write(shout(document.sentences))
    assert b"<w:delText>small </w:delText>" in zipfile.ZipFile(io.BytesIO(written)).read("word/document.xml")


PO = r"""# kept
msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\n"
"Plural-Forms: nplurals=3; plural=(n > 1);\n"

#: a.c:3
#, c-format
msgid "Hello <b>%s</b>.\n"
"See you\n"
msgstr ""

msgid "One file"
msgid_plural "%d files"
msgstr[0] ""
msgstr[1] ""
msgstr[2] ""

msgid "One page"
msgid_plural "%d pages"
msgstr[0] "Une page (gardée)"
msgstr[1] ""
msgstr[2] ""

#, fuzzy
msgid "unsure"
msgstr "incertain"

msgid "Done"
msgstr "Fini"
"""


def test_po() -> None:
    import polib

    document = read("a.po", PO.encode(), "en")
    assert document.sentences == [
        "Hello <g0>%s</g0>.",
        "See you",
        "One file",
        "%d files",
        "One page",
        "%d pages",
    ]
    translations = ["<g0>%s</g0>, salut .", "À bientôt", "Un fichier", "%d fichiers", "Une page", "%d pages"]
    written = document.write(translations).decode()
    found = {entry.msgid: entry for entry in polib.pofile(written)}
    assert found["Hello <b>%s</b>.\nSee you\n"].msgstr == "<b>%s</b>, salut .\nÀ bientôt\n"
    assert found["Hello <b>%s</b>.\nSee you\n"].flags == ["c-format"]
    assert found["One file"].msgstr_plural == {0: "Un fichier", 1: "%d fichiers", 2: "%d fichiers"}
    assert found["One page"].msgstr_plural == {0: "Une page (gardée)", 1: "%d pages", 2: "%d pages"}
    assert (found["unsure"].msgstr, found["Done"].msgstr) == ("incertain", "Fini")
    assert written.startswith("# kept\n")


def test_a_language_with_one_form_gets_the_plural() -> None:
    text = 'msgid "One file"\nmsgid_plural "%d files"\nmsgstr[0] ""\n'
    document = read("a.po", text.encode(), "en")
    assert '"%D FILES"' in document.write(shout(document.sentences)).decode()


@pytest.mark.parametrize("line", ['msgid "Hello', "Hello", 'msgid Hello"', 'msgstr "a "b" c"'])
def test_a_damaged_line_of_po_is_named(line: str) -> None:
    with pytest.raises(UserError, match="line 3: no line of a PO file"):
        read("a.po", f'# "a\nmsgid "Hi"\n{line}\nmsgstr ""\n'.encode(), "en")


XLIFF_1 = """<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2"><file original="a"><body>
<trans-unit id="1"><source>A <g id="1">big</g> <x id="2"/>day.</source>
</trans-unit><trans-unit id="2"><source>Old</source><target>Vieux</target></trans-unit>
<trans-unit id="3" translate="no"><source>No</source></trans-unit></body></file></xliff>"""
XLIFF_2 = """<xliff version="2.0" srcLang="en" xmlns="urn:oasis:names:tc:xliff:document:2.0"><file id="f">
<unit id="1">
<segment><source>A <pc id="1">big</pc> <ph id="2"/>day.</source></segment></unit></file></xliff>"""


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.po", PO.replace('"Plural', '"Language: fr_CA\\n"\n"Plural')),
        ("a.xlf", XLIFF_1.replace("<file", '<file target-language="fr"')),
        ("a.xlf", XLIFF_2.replace("srcLang", 'trgLang="fr" srcLang')),
    ],
)
def test_a_catalogue_of_another_language_is_refused(name: str, text: str) -> None:
    assert read(name, text.encode(), "en", "fr").sentences
    with pytest.raises(UserError, match=r"its header says fr(_CA)?, the run translates into de; take"):
        read(name, text.encode(), "en", "de")


@pytest.mark.parametrize(
    ("text", "target"),
    [
        (XLIFF_1, '<target>Jour <x id="2"/><g id="1">grand</g>.</target>'),
        (XLIFF_2, '<target>Jour <ph id="2"/><pc id="1">grand</pc>.</target>'),
    ],
)
def test_xliff(text: str, target: str) -> None:
    document = read("a.xlf", text.encode())
    assert document.sentences == ["A <g0>big</g0> <x1/>day."]
    written = document.write(["Jour <x1/><g0>grand</g0>."]).decode()
    state = ' state="needs-review-translation"' if text == XLIFF_1 else ""
    target = target.replace("<target", f"<target{state}")
    assert target in written
    written = written.replace('<segment state="translated">', "<segment>")
    head, _, tail = written.partition(target)
    assert (head + tail).replace("\n", "").endswith(text[text.index("<file") :].replace("\n", ""))


@pytest.mark.parametrize(
    ("text", "state", "then"),
    [
        (
            XLIFF_1.replace(">Vieux", ' state="needs-translation">Old'),
            "needs-translation",
            "needs-review-translation",
        ),
        (
            XLIFF_2.replace("<segment>", '<segment state="initial">').replace(
                "</segment>", "<target>A big day.</target></segment>"
            ),
            "initial",
            "translated",
        ),
    ],
)
def test_a_copy_of_the_source_that_waits_for_its_translation(text: str, state: str, then: str) -> None:
    document = read("a.xlf", text.encode())
    assert len(document.sentences) == text.count("<source>") - text.count('translate="no"')
    written = document.write(["x"] * len(document.sentences)).decode()
    assert f'state="{then}"' in written
    assert f'state="{state}"' not in written
    final = read("a.xlf", text.replace(f'state="{state}"', 'state="final"').encode())
    assert 'state="final"' in final.write(["x"] * len(final.sentences)).decode()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no well-formed XML"),
        (b"<a>", "no well-formed XML"),
        (b"<a>\xff</a>", "no well-formed XML"),
        (b"<a/>", "no XLIFF file"),
        (BOMB.encode(), "declares a document type"),
        (BOMB.encode("utf-16"), "declares a document type"),
        (OUTER.encode(), "declares a document type"),
        (b"<a>" * 300, "no well-formed XML: Excessive depth"),
    ],
)
def test_hostile_xml(content: bytes, message: str) -> None:
    with pytest.raises(UserError, match=message):
        read("a.xliff", content)
    with pytest.raises(UserError, match=r"lacks|XML|type"):
        read("a.docx", zipped(word__document_xml=content) if content != b"<a/>" else zipped(x="y"))


@pytest.mark.parametrize("name", ["a.docx", "a.odt"])
def test_hostile_archives(name: str) -> None:
    good = word("<w:p/>")
    for content, message in (
        (b"", "damaged"),
        (b"PK\x03\x04" + bytes(99), "damaged"),
        (good[:-30], "damaged"),
        (zipped(**{f"f{number}": "" for number in range(MAX_FILES + 1)}), "files; expected at most"),
        (zipped(other="x"), "lacks"),
    ):
        with pytest.raises(UserError, match=message):
            read(name, content)


def test_a_zip_bomb_is_not_unpacked() -> None:
    bomb = zipped(word__document_xml=b"<a>" + bytes(3 * MAX_UNPACKED))
    assert len(bomb) < MAX_UNPACKED / 100
    tracemalloc.start()
    with pytest.raises(UserError, match="unpacks to more than 64 MiB"):
        read("a.docx", bomb)
    assert tracemalloc.get_traced_memory()[1] < 1.5 * MAX_UNPACKED
    tracemalloc.stop()


@pytest.mark.parametrize("name", ["a.xlf", "a.docx"])
def test_a_translation_that_xml_cannot_hold(name: str) -> None:
    content = XLIFF_2.encode() if name == "a.xlf" else word("<w:p><w:r><w:t>A</w:t></w:r></w:p>")
    document = read(name, content)
    written = document.write(["x\0y\x1b<\ufffe" for _ in document.sentences])
    shown = written if name == "a.xlf" else Archive(written, name).files["word/document.xml"]
    assert "x\ufffdy\ufffd&lt;\ufffd".encode() in shown


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_methods_of_packing_are_refused(method: int) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        archive.writestr("word/document.xml", bytes(range(256)) * 20)
    with pytest.raises(UserError, match="an unusual archive"):
        read("a.docx", out.getvalue())


def test_a_damaged_member_is_refused() -> None:
    """Wherever the packed bytes are damaged."""
    content = zipped(word__document_xml=bytes(range(256)) * 20)
    start, end = content.index(b".xml") + 4, content.index(b"PK\x01\x02")
    for place in range(start, end, 7):
        with pytest.raises(UserError, match=r"damaged|XML"):
            read("a.docx", content[:place] + b"\xff\x00\xff\x00" + content[place + 4 :])
