"""HTML, Markdown, subtitles and plain text: all but the words stays as it is."""

from unittest.mock import Mock

import pytest

from tests.serve.documents.shouting import shout
from translate.errors import UserError
from translate.serve.documents import FORMATS, MAX_BYTES, document, read

pytest.importorskip("markdown_it", reason="needs markdown-it-py")

HTML = """<!DOCTYPE html><html><head><title>My page</title><script>if (a<b) "x"</script></head>
<body class='x'><h1>Hello <em>big</em> world</h1>
<p>One. <b>Note. Be careful.</b> Then &lt;b&gt; go &amp; <a href="x?a=1&amp;b">see <i>it</i></a>.<br>
Next&nbsp;line.</p>
<p>I saw <b>him. He</b> ran. <code>x = 1</code> is code</p><!-- no --><a href=y><div>Block</div></a> tail
<p>12 <b>3</b></p><pre>kept as is</pre><p translate=no>Brand</p>
<p>A <span class="notranslate">Name</span> car</p>
<p>unclosed <b>tag<p>a &lt; b</p><textarea>kept</textarea></body></html>"""
MARKDOWN = """---
title: kept
---
# Hello *big* world #

Para **one** [a link](http://x/e "t") and [ref][Foo] <http://a.b> ![im](a.png)\\
after a break, `code`, <b>bold</b> and 2 \\* 3.

> quoted words

| left | b \\| c |
|---|---|
| x *y* | 12 |

- item
  - ~~inner~~

```python
kept = 1
```

Setext
======

[FOO]: http://x
"""
SRT = "1\r\n00:00:01,000 --> 00:00:02,000\r\n<i>Hello there,\r\ndear</i> friend.\r\n\r\n2\r\n\
00:00:03,000 --> 00:00:04,000\r\n- Yes?\r\n- No.\r\n\r\n3\r\n00:00:05,000 --> 00:00:06,000\r\n\r\n"
VTT = "WEBVTT - kept\n\nNOTE kept\n\nSTYLE\n::cue{}\n\nid\n00:01.000 --> 00:02.000 align:left\n\
<v Bob>Fish &amp; chips.\nGo <b>now</b>!\n\n00:03.000 --> 00:04.000\nEnd"


@pytest.mark.parametrize(
    ("head", "target", "written"),
    [
        ('<html lang="en">', "fr", '<html lang="fr">'),
        ("<HTML class=a LANG=en-GB>", "PT-BR", "<HTML class=a LANG=pt-br>"),
        ("<html data-lang='x' lang='en'><p lang=en>", "fr", "<html data-lang='x' lang='fr'><p lang=en>"),
        ('<html lang="en">', "", '<html lang="en">'),
        ('<html lang="en">', "Français", '<html lang="">'),
        ('<html lang="en" dir="ltr">', "ar", '<html dir="rtl" lang="ar">'),
        (f"<html dir='rtl'{' ' * 200_000}lang=ar>", "fr", f"<html{' ' * 200_000}lang=ar>"),
        ("<HTML class=a dir=rtl lang=he>", "fr", "<HTML class=a lang=fr>"),
        ("<html><p lang=en>", "fr", "<html><p lang=en>"),
    ],
)
def test_a_page_names_the_language_of_its_translation(head: str, target: str, written: str) -> None:
    page = read("a.html", f"{head}One.".encode(), "en", target)
    assert page.write(["Un."]) == f"{written}Un.".encode()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.html", HTML),
        ("a.htm", HTML.replace("\n", "\r\n")),
        ("a.vtt", VTT),
        ("a.srt", SRT),
        ("a.txt", "One. Two.\r\n\n 3 \n\u2028x\rlast"),
        ("a.md", MARKDOWN.replace("[Foo]", "[FOO]")),
    ],
)
def test_untranslated_documents_come_back(name: str, text: str) -> None:
    document = read(name, text.encode(), "en")
    assert document.write(document.sentences).decode() == text


def test_html() -> None:
    document = read("a.html", HTML.encode(), "en")
    assert document.sentences[1:6] == ["Hello <g12>big</g12> world", "One.", "Note.", "Be careful.",
        "Then <x1000000/> go & <g24>see <g26>it</g26></g24>."]  # fmt: skip
    assert read("a.html", b"<p>a</p>").write(["<b> & y"]) == b"<p>&lt;b&gt; &amp; y</p>"
    written = document.write(shout(document.sentences)).decode()
    for expected in (
        '<title>MY PAGE</title><script>if (a<b) "x"</script>',
        "<h1>HELLO <em>BIG</em> WORLD</h1>",
        "<b>NOTE. BE CAREFUL.</b> THEN &lt;b&gt; GO &amp; ",
        '<a href="x?a=1&amp;b">SEE <i>IT</i></a>.<br>\nNEXT&nbsp;LINE.',
        "I SAW <b>HIM. HE</b> RAN. <code>x = 1</code> IS CODE</p>",
        "<!-- no --><a href=y><div>BLOCK</div></a> TAIL",
        "<p>12 <b>3</b></p><pre>kept as is</pre><p translate=no>Brand</p>\n",
        'A <span class="notranslate">Name</span> CAR',
        "UNCLOSED <b>TAG<p>A &lt; B</p><textarea>kept</textarea>",
    ):
        assert expected in written


def test_html_keeps_its_encoding() -> None:
    page = '<meta charset="iso-8859-1"><p>d\xe9j\xe0</p>'
    document = read("a.html", page.encode("latin-1"))
    assert document.sentences == ["déjà"]
    assert document.write(["été ł"]) == b'<meta charset="iso-8859-1"><p>\xe9t\xe9 &#322;</p>'
    assert read("a.html", b'<meta charset="hex"><p>61</p> a').sentences == ["a"]


def test_html_that_declares_utf_16_in_ascii_is_utf_8() -> None:
    """The WHATWG's rule: whoever can read the declaration does not read UTF-16."""
    for declared in ("utf-16", "UTF-16LE", "utf-32"):
        page = f'<meta charset="{declared}"><p>Déjà vu</p>'.encode()
        document = read("a.html", page)
        assert document.sentences == ["Déjà vu"]
        assert document.write(document.sentences) == page


GITHUB = """- [ ] open task
- [x] done task

a note[^1] here, and[^two][^3]

[^1]: Its text. More of it.

| cell[^1] | b |
|---|---|
| x | y |
"""


def test_boxes_and_footnotes_of_github_are_markup() -> None:
    document = read("a.md", GITHUB.encode(), "en")
    assert document.write(document.sentences).decode() == GITHUB
    assert document.sentences[:2] == ["open task", "done task"]
    assert document.sentences[3:5] == ["Its text.", "More of it."]
    written = document.write(shout(document.sentences)).decode()
    assert written == GITHUB.upper().replace("[X] DONE", "[x] DONE").replace("[^TWO]", "[^two]")
    text = "- \\[ \\] no box\n- [y] nor this\n"  # what is none is escaped, as before
    document = read("a.md", text.encode(), "en")
    assert document.write(document.sentences).decode() == text.replace("[y]", "\\[y\\]")


def test_the_first_line_of_a_quotation_may_be_a_heading() -> None:
    text = "> [!NOTE]\n> Two words.\n\n> **Note**\n> two words\n> **more words**\n> go on\n"
    document = read("a.md", text.encode(), "en")
    assert document.sentences[:2] == ["Two words.", "Note"]
    assert document.write(shout(document.sentences)).decode() == (
        "> [!NOTE]\n> TWO WORDS.\n\n> **NOTE**\n> TWO WORDS **MORE WORDS** GO ON\n"
    )


def test_markdown() -> None:
    from markdown_it import MarkdownIt

    document = read("a.md", MARKDOWN.encode(), "en")
    written = document.write(shout(document.sentences)).decode()
    for expected in (
        "---\ntitle: kept\n---\n# HELLO *BIG* WORLD #\n",
        'PARA **ONE** [A LINK](http://x/e "t") AND [REF][FOO] <http://a.b> ![im](a.png)\\\n',
        "AFTER A BREAK, `code`, <b>BOLD</b> AND 2 \\* 3.",
        "> QUOTED WORDS\n\n| LEFT | B \\| C |\n|---|---|\n| X *Y* | 12 |",
        "- ITEM\n  - ~~INNER~~\n\n```python\nkept = 1\n```\n\nSETEXT\n======",
    ):
        assert expected in written

    def shape(text: str) -> list[str]:
        parsed = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text)
        return [each.type for token in parsed for each in [token, *(token.children or [])]]

    assert shape(written) == shape(MARKDOWN)


@pytest.mark.parametrize(
    "translation",
    ["*x*", "_x_", "# x", "1. x", "- x", "> x", "[x](y)", "`x`", "<b>x", "&amp; x", "![x](y)", "===", "---"],
)
def test_a_translation_is_no_markdown(translation: str) -> None:
    from markdown_it import MarkdownIt

    written = read("a.md", b"Word\n").write([translation]).decode()
    tokens = MarkdownIt("commonmark").parse(written)
    assert [token.type for token in tokens] == ["paragraph_open", "inline", "paragraph_close"]
    assert {child.type for child in tokens[1].children or ()} == {"text"}
    assert "".join(child.content for child in tokens[1].children or ()) == translation


def test_emphasis_that_markdown_would_not_see_is_written_in_html() -> None:
    document = read("a.md", b"the *green* apple\n")
    assert document.write(["l' <g1>verte</g1> pomme"]) == b"l' *verte* pomme\n"
    assert document.write(["pomme<g1>'verte'</g1>pomme"]) == b"pomme<em>'verte'</em>pomme\n"


def test_captions_keep_their_lines() -> None:
    document = read("a.srt", SRT.encode(), "en")
    assert document.sentences == ["<g0>Hello there, dear</g0> friend.", "Yes?", "No."]
    written = document.write(["<g0>Bonjour</g0> à toi mon cher ami .", "Oui ?", "Non ."]).decode()
    expected = SRT.replace("Yes?", "Oui ?").replace("No.", "Non .")
    caption = "<i>Bonjour</i> à toi\r\nmon cher ami ."
    assert written == expected.replace("<i>Hello there,\r\ndear</i> friend.", caption)


def test_another_reader_sees_the_same_captions() -> None:
    webvtt = pytest.importorskip("webvtt", reason="needs webvtt-py")
    written = read("a.vtt", VTT.encode()).write(["Poisson & frites .", "Va <g1>vite</g1> !", "Fin"]).decode()
    before, after = webvtt.from_string(VTT), webvtt.from_string(written)
    ids = [[(each.start, each.end, each.identifier) for each in captions] for captions in (before, after)]
    assert ids[0] == ids[1]
    texts = [" ".join(caption.text.split()) for caption in after]
    assert texts == ["Poisson &amp; frites . Va vite !", "Fin"]
    assert written.startswith(VTT.partition("<v Bob>")[0])


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.pdf", b"x", "unknown kind of file"),
        ("a", b"x", "unknown kind of file"),
        ("a\n\x1b[2J.exe", b"x", r"^a\\n\\x1b\[2J\.exe: unknown"),
        ("a.txt", b"\xff", "not utf-8; convert"),
        ("a.txt", b"", "a.txt: no text to translate was found in it"),
        ("a.txt", b"42\n", "a.txt: no text to translate was found in it"),
        ("a.srt", b"Hello.\n", "no text to translate"),
        ("a.srt", b"1\n00:01 --> 00:02\nA\n\n2\n00:02 -> 00:03\nB\n", "line 6: expected 00:00:01,000 --> "),
        ("a.vtt", b"WEBVTT\n\n00:01.000 - 00:02.000\nHello.\n", "line 3: .*, got 00:01.000 - 00:02.000$"),
        ("a.txt", b"x" * (MAX_BYTES + 1), "bytes; expected at most"),
        ("a.md", b"[" * 2000, "line 1: a paragraph has more than 1,000"),
        ("a.md", b"\n\n" + b"x" * (3 << 20), "bytes of Markdown"),
    ],
)
def test_what_is_no_document(name: str, content: bytes, message: str) -> None:
    with pytest.raises(UserError, match=message) as raised:
        read(name, content)
    assert len(str(raised.value)) < 250


def test_the_number_of_sentences_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """No more lines are cut into sentences than one document may have, but for the first beyond."""
    cut = Mock(wraps=document.cut)
    monkeypatch.setattr(document, "cut", cut)
    assert len(read("a.txt", b"a\n" * 20_000).sentences) == 20_000
    cut.reset_mock()
    with pytest.raises(UserError, match="more than 20,000 sentences; split it"):
        assert read("a.txt", b"a\n" * 30_000).sentences
    assert cut.call_count == 20_001


UNITS = ["<a ", '<a "', "<!--", "<script>", "</script ", "<b>", "&amp", "<![CDATA[", "class=", "</b>", "[a]("]
UNITS += ["<i>", "-->\n", "\r", "« ", "*a ", "``a", "- ", ">", "{\\", "<v ", "00:00 --> \n", "1:1", "0:0 - "]


@pytest.mark.slow
@pytest.mark.timeout(60)  # linear ones take seconds, quadratic ones many minutes
@pytest.mark.parametrize("unit", UNITS)
def test_the_time_is_about_linear(unit: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("WARNING", "markdown_it")  # it writes a line of its log for each block
    for suffix in (".html", ".md", ".srt", ".vtt", ".txt"):
        content = (unit * (200_000 // len(unit))).encode()
        try:
            document = FORMATS[suffix](content, "a")
            written = document.write(document.sentences)
        except UserError:
            continue  # a bound of this format
        assert written
