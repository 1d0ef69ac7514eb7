"""Damaged documents and odd translations: one clear error, or a document."""

import random

import pytest

from tests.serve.documents.test_text_formats import HTML, MARKDOWN, SRT, VTT
from tests.serve.documents.test_xml_formats import PO, XLIFF_1, XLIFF_2, word, zipped
from translate.errors import UserError
from translate.serve.documents import read

pytest.importorskip("lxml", reason="needs lxml")
pytest.importorskip("polib", reason="needs polib")
pytest.importorskip("markdown_it", reason="needs markdown-it-py")

RUN = (
    "<w:r><w:rPr><w:b/></w:rPr><w:t>Hello</w:t><w:tab/></w:r>"
    "<w:hyperlink><w:r><w:t xml:space='preserve'> you</w:t></w:r></w:hyperlink>"
)
WORD = f"<w:p>{RUN}</w:p><w:p>A<w:sdt><w:sdtContent>{RUN}</w:sdtContent></w:sdt>{RUN}</w:p>"
ODT = (
    '<office xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"><text:p>Hello <text:span>big'
    '<text:s text:c="3"/></text:span><text:note>n<text:p>inner</text:p></text:note> day.<text:tab/>now'
    "</text:p></office>"
)
WHOLE = {
    ".html": HTML, ".md": MARKDOWN, ".srt": SRT, ".vtt": VTT, ".txt": MARKDOWN, ".po": PO,
    ".xlf": XLIFF_1, ".xliff": XLIFF_2, ".docx": WORD, ".odt": ODT,
}  # fmt: skip
BITS = (
    *("<", ">", "</b>", "<b>", "\n", "\r", "\\", "*", "_", "[", "](", "`", "&", "&#", '"', "'", "{", "}"),
    *("-->", "\x00", "\x1b", "é", "日", "😀", "|", "~~", " ", 'msgid "', "msgstr[9]", "#, fuzzy\n"),
    *("<g id='1'>", "<g0>", "</g0>", "<x1/>", "<w:r>", "</w:r>", "-1", "99999999999"),
)


def damaged(text: str, dice: random.Random) -> str:
    """The text with a few pieces lost, repeated, moved or put in."""
    for _ in range(dice.randint(1, 6)):
        start = dice.randint(0, len(text))
        end = min(len(text), start + dice.randint(0, 20))
        other = dice.randint(0, len(text))
        text = dice.choice(
            (
                text[:start] + text[end:],
                text[:start] + dice.choice(BITS) + text[start:],
                text[:start] + text[start:end] * 3 + text[end:],
                text[:start] + text[other : other + 30] + text[start:],
            )
        )
    return text


def packed(suffix: str, text: str) -> bytes:
    if suffix == ".docx":
        return word(text)
    return zipped(content_xml=text) if suffix == ".odt" else text.encode()


@pytest.mark.parametrize("suffix", WHOLE)
def test_nothing_else_is_ever_raised(suffix: str) -> None:
    whole = read(f"a{suffix}", packed(suffix, WHOLE[suffix]), "en")
    assert whole.sentences
    for seed in range(60):
        dice = random.Random(seed)
        content = packed(suffix, damaged(WHOLE[suffix], dice))
        try:
            document = read(f"a{suffix}", content, "en")
        except UserError:
            continue
        assert document.sentences == read(f"a{suffix}", content, "en").sentences
        document.write([damaged(sentence, dice) for sentence in document.sentences])
