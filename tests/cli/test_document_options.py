"""Lines of documents on standard input and in files."""

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from translate.cli.evaluate import with_documents
from translate.cli.source_options import TextDocuments
from translate.cli.test_sets import EvaluationSet
from translate.errors import UserError
from translate.text.documents import ContextSize

LINES = ["a", "b", "", "c", "d", "e", "f"]
READS: Any = SimpleNamespace(context=ContextSize(2, 100), most_context=2)
READS_NONE: Any = SimpleNamespace(context=ContextSize(), most_context=0)


def cut(lines: Sequence[str], sizes: Sequence[int]) -> list[list[str]]:
    rest, found = list(lines), []
    for size in sizes:
        found.append(rest[:size])
        rest = rest[size:]
    return found


@pytest.mark.parametrize("sizes", [[7], [1] * 7, [2, 1, 4], [5, 2]])
def test_a_blank_line_ends_a_document_whatever_the_blocks(sizes: list[int]) -> None:
    blocks = list(TextDocuments().follow(cut(LINES, sizes), 2))
    assert [len(block) for block in blocks] == sizes
    found = [line for block in blocks for line in block]
    assert [line.text for line in found] == LINES
    assert [line.previous for line in found] == [[], ["a"], ["a", "b"], [], ["c"], ["c", "d"], ["d", "e"]]


@pytest.mark.parametrize("sizes", [[7], [1] * 7, [3, 4]])
def test_another_id_begins_a_document(tmp_path: Path, sizes: list[int]) -> None:
    path = tmp_path / "ids"
    path.write_text("x\nx\nx\nx\ny\ny\ny\n")
    blocks = TextDocuments(document_ids=path).follow(cut(LINES, sizes), 1)
    found = [line.previous for block in blocks for line in block]
    assert found == [[], ["a"], ["b"], [], [], ["d"], ["e"]]


@pytest.mark.parametrize(("count", "told"), [(5, "5 ids of documents for more than 6 lines"), (9, "9 ids")])
def test_as_many_ids_as_lines_are_expected(tmp_path: Path, count: int, told: str) -> None:
    path = tmp_path / "ids"
    path.write_text("x\n" * count)
    with pytest.raises(UserError, match=told):
        list(TextDocuments(document_ids=path).follow([LINES], 2))


def test_options_without_effect_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "ids"
    for options in (TextDocuments(document_ids=path), TextDocuments(no_context=True)):
        with pytest.raises(UserError, match="this run reads no previous sentences"):
            options.most(READS_NONE)
    with pytest.raises(UserError, match="no effect with --no-context"):
        TextDocuments(document_ids=path, no_context=True).most(READS)
    with pytest.raises(UserError, match="reads no previous sentence"):
        with_documents(READS_NONE, [EvaluationSet("", ["a"], [["b"]])], [path])


def test_contexts_of_test_sets(tmp_path: Path) -> None:
    path = tmp_path / "ids"
    path.write_text("x\nx\ny\n")
    (found,) = with_documents(READS, [EvaluationSet("", ["a", "b", "c"], [])], [path])
    assert found.context == [[], ["a"], []]
    with pytest.raises(UserError, match="3 ids of documents for 2 sentences"):
        with_documents(READS, [EvaluationSet("", ["a", "b"], [])], [path])
