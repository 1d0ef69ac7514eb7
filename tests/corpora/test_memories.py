"""Translation memories: the pairs of TMX, and what is refused."""

import gzip
from pathlib import Path

import pytest

from translate.corpora.tables import read_table
from translate.errors import UserError

HEAD = """<?xml version="1.0"?>
<!DOCTYPE tmx SYSTEM "tmx14.dtd">
<tmx version="1.4"><header srclang="en-US"/><body>"""
UNITS = """
<tu tuid="1"><prop type="x">no text</prop>
 <tuv xml:lang="en-US"><seg>Press <bpt i="1">&lt;b&gt;</bpt>Start<ept i="1">&lt;/b&gt;</ept> &amp;
   wait<ph>{0}</ph>.</seg></tuv>
 <tuv xml:lang="DE_at"><note>none</note><seg>Drücken Sie <hi>Start</hi>.</seg></tuv>
 <tuv xml:lang="de-DE"><seg>Noch einmal.</seg></tuv></tu>
<tu><tuv lang="EN"><seg>One side.</seg></tuv></tu>
<tu><tuv xml:lang="de"><seg>Ja.</seg></tuv><tuv xml:lang="en"><seg>Yes.</seg></tuv></tu>
"""
FOOT = "</body></tmx>\n"
PAIRS = [["Press Start & wait.", "One side.", "Yes."], ["Drücken Sie Start.", "", "Ja."]]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_units_are_pairs(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "memory.tmx"
    path.write_bytes((HEAD + UNITS + FOOT).encode(encoding))
    table = read_table(path)
    assert table.names == ["en", "de"]  # without regions, in the order of the file
    assert table.columns("en", "de") == PAIRS


def test_a_packed_memory_of_many_units(tmp_path: Path) -> None:
    path = tmp_path / "memory.tmx.gz"
    path.write_bytes(gzip.compress((HEAD + 5000 * UNITS + FOOT).encode()))
    assert read_table(path).columns("de") == [5000 * PAIRS[1]]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", "m.tmx, line 1: not valid XML (the file ends too early)"),
        ("plain text", "m.tmx, line 1: not valid XML (syntax error)"),
        ("<html></html>", "m.tmx: expected <tmx> as its first element, got <html>"),
        (HEAD + UNITS, "m.tmx, line 11: not valid XML (the file ends too early)"),
        (HEAD + 200_000 * "<tu>", "m.tmx: nested too deeply"),
        (HEAD + "<tu></seg>", "m.tmx, line 3: not valid XML (mismatched tag)"),
        (HEAD + "<tu><tuv xml:lang='en'><seg>" + "word " * 300_000, "line 3: a unit has more than 1,048,576"),
        (
            '<!DOCTYPE tmx [<!ENTITY a "a"><!ENTITY b "&a;&a;">]><tmx><seg>&b;</seg></tmx>',
            "m.tmx, line 1: declares an entity; expected plain text in a memory",
        ),
    ],
)
def test_what_is_no_memory(tmp_path: Path, content: str, expected: str) -> None:
    path = tmp_path / "m.tmx"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(UserError) as caught:
        read_table(path).columns("en")
    assert expected in str(caught.value)
