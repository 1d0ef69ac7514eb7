"""The comparison of systems as a page: one HTML file with scores, tests and the sentences that differ most.

The file needs no network and has no script. All text is escaped.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from pathlib import Path

from translate.figures.matrix import is_right_to_left, label
from translate.figures.page import filled, write_page
from translate.text.escape import for_html
from translate.text.words import Word, split_words

_LONGEST = 2000  # characters of a sentence


@dataclass(frozen=True)
class ComparedText:
    """A translation by one system.

    Attributes:
        score: of the sentence.
        hints: (start, end) of a word in the text -> what its hint says.
    """

    name: str
    text: str
    score: float
    hints: Mapping[tuple[int, int], str] = field(default_factory=dict)


@dataclass(frozen=True)
class ComparedSentence:
    """A source sentence with its references and the translations of all systems."""

    name: str
    source: str
    references: Sequence[str]
    texts: Sequence[ComparedText]


@dataclass(frozen=True)
class ComparisonPage:
    """A page about two or more systems.

    Attributes:
        header, rows: of the table of scores.
        notes: lines below the table.
        sentences: in the order in which they are shown.
    """

    title: str
    note: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str]
    sentences: Sequence[ComparedSentence]

    def html(self) -> str:
        """The text of the file; equal pages give equal text."""
        return filled(
            "comparison",
            title=_escape(self.title),
            note=_escape(self.note),
            header="".join(f"<th>{_escape(cell)}</th>" for cell in self.header),
            rows="\n".join(_row(row) for row in self.rows),
            notes="\n".join(f"<p>{_escape(line)}</p>" for line in self.notes),
            sentences="\n".join(_sentence(sentence) for sentence in self.sentences),
        )

    def write(self, path: str | Path) -> Path:
        """Write the page; raises UserError if it cannot be written."""
        return write_page(path, self.html())


def _row(cells: Sequence[str]) -> str:
    return f"<tr>{''.join(f'<td>{_escape(cell)}</td>' for cell in cells)}</tr>"


def _sentence(sentence: ComparedSentence) -> str:
    rows = [_line("source", "", _text(sentence.source))]
    rows += [_line("reference", "", _text(reference)) for reference in sentence.references]
    for one in sentence.texts:
        rows.append(_line(one.name, f"{one.score:.1f}", _marked(one, sentence.references)))
    return f"<section><h2>{_escape(sentence.name)}</h2><table>{''.join(rows)}</table></section>"


def _line(name: str, score: str, text: str) -> str:
    return f"<tr><th>{_escape(name)}</th><td>{score}</td>{text}</tr>"


def _text(text: str) -> str:
    return _cell(text, _escape(text[:_LONGEST]))


def _cell(text: str, content: str) -> str:
    direction = "rtl" if is_right_to_left([text]) else "ltr"
    return f'<td dir="{direction}">{content}</td>'


def _marked(one: ComparedText, references: Sequence[str]) -> str:
    """The text with marks around the words that no reference has in this order, and hints."""
    text = one.text[:_LONGEST]
    words, parts, end = split_words(text), [], 0
    known = _known(words, references)
    for index, word in enumerate(words):
        name = "span" if index in known else "mark"
        hint = one.hints.get((word.start, word.end))
        title = "" if hint is None else f' title="{_escape(hint)}"'
        parts.append(f"{_escape(text[end : word.start])}<{name}{title}>{_escape(word.text)}</{name}>")
        end = word.end
    return _cell(text, "".join([*parts, _escape(text[end:])]))


def _known(words: Sequence[Word], references: Sequence[str]) -> set[int]:
    """Indexes of the words in the longest common subsequence with some reference."""
    found: set[int] = set()
    texts = [word.text for word in words]
    for reference in references:
        other = [word.text for word in split_words(reference[:_LONGEST])]
        for block in SequenceMatcher(None, other, texts, autojunk=False).get_matching_blocks():
            found.update(range(block.b, block.b + block.size))
    return found


def _escape(text: str) -> str:
    return for_html(label(text, _LONGEST))
