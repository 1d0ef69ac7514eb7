"""Alignments written and read back."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from translate.alignment.alignment import Alignment
from translate.alignment.formats import write_alignments
from translate.errors import UserError

FIRST = Alignment(
    ["I", "love", "you"],
    ["je", "t'", "aime"],
    np.array([[0.94, 0.06, 0], [0, 0.12, 0.88], [0, 0.95, 0.05]]),
    [(0, 1), (2, 6), (7, 10)],
    [(0, 2), (3, 5), (5, 9)],
)
ODD = Alignment(["<script>", "a\tb\\n", "e\u0301"], ["x\ny"], np.array([[0.25, 0.5, 0.25]]))
EMPTY = Alignment(["a"], [], np.zeros((0, 1)))
OWN = replace(FIRST, threshold=0.05)
ALL = [FIRST, EMPTY, ODD]


def test_links(tmp_path):
    path = write_alignments(iter(ALL), tmp_path / "a.txt")
    assert path.read_text() == "0-0 1-2 2-1\n\n1-0\n"
    write_alignments(ALL, path, threshold=0.2)
    assert path.read_text() == "0-0 1-2 2-1\n\n0-0 1-0 2-0\n"
    write_alignments(ALL, path, weights=True)
    assert path.read_text() == "0-0:0.9400 1-2:0.9500 2-1:0.8800\n\n1-0:0.5000\n"


@pytest.mark.parametrize("given", [ALL, [ODD, FIRST], [OWN, FIRST]])
def test_written_alignments_read_back(tmp_path, given):
    lines = write_alignments(given, tmp_path / "a.jsonl").read_text(encoding="utf-8").splitlines()
    for one, line in zip(given, lines, strict=True):
        other = Alignment.from_dict(json.loads(line))
        assert (one.source_words, one.target_words) == (other.source_words, other.target_words)
        np.testing.assert_allclose(one.weights, other.weights, atol=1e-6)
        assert one.links() == other.links()
        assert [tuple(o) for o in one.source_offsets] == list(other.source_offsets)


def test_json_of_one_is_an_object_with_offsets(tmp_path):
    row = json.loads(write_alignments([FIRST], tmp_path / "a.json").read_text())
    assert row["links"] == "0-0 1-2 2-1"
    assert row["target_offsets"] == [[0, 2], [3, 5], [5, 9]]
    assert json.loads(write_alignments([], tmp_path / "b.json").read_text()) == []


def test_wrong_values(tmp_path):
    with pytest.raises(UserError, match=r"expected a list of alignments; write \[alignment\]"):
        write_alignments(FIRST, tmp_path / "one.json")  # type: ignore[arg-type]
    with pytest.raises(UserError, match=r"a\.xml: expected one of \.txt"):
        write_alignments(ALL, tmp_path / "a.xml")
    wrong: tuple[Any, ...] = (
        {"source_words": ["a"], "target_words": ["b"], "weights": [[1, 2]]},
        "no alignment",
    )
    for values in wrong:
        with pytest.raises(UserError, match="not an alignment"):
            Alignment.from_dict(values)
    with pytest.raises(ValueError, match="source_offsets: 1 for 2 words"):
        Alignment(["a", "b"], ["c"], np.zeros((1, 2)), [(0, 1)])


def test_a_threshold_asked_for_is_kept(tmp_path):
    written = json.loads(write_alignments([FIRST], tmp_path / "a.json", threshold=0.1).read_text())
    assert Alignment.from_dict(written).links() == FIRST.links(0.1) != FIRST.links()
