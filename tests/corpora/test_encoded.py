"""Ids of a corpus, in memory and mapped from a file, against lists."""

from pathlib import Path

import numpy as np
import pytest

from translate.corpora.encoded import EncodedCorpus, Ragged, collect_encoded, read_encoded

SIDES = ([[4, 5, 6], [], [7]], [[8], [9, 10], [11, 12, 13, 14]], [[65536, 3], [], [1]])
BLOCKS = [[side[:2] for side in SIDES], [side[2:] for side in SIDES]]


def rows(ragged: Ragged) -> list[list[int]]:
    return [ragged.row(i).tolist() for i in range(ragged.num_rows)]


@pytest.mark.parametrize("linked", [False, True])
@pytest.mark.parametrize("in_file", [False, True])
def test_collected_corpora_are_read_back(tmp_path: Path, linked: bool, in_file: bool) -> None:
    path = tmp_path / "a" / "b.arrow"
    assert read_encoded(path) is None
    blocks = BLOCKS if linked else [block[:2] for block in BLOCKS]
    found: EncodedCorpus | None = collect_encoded(blocks, path if in_file else None, linked=linked)
    if in_file:
        found = read_encoded(path)
        assert [file.name for file in path.parent.iterdir()] == ["b.arrow"]
    assert (found.links is not None) == linked
    for name, side in zip(("source", "target", "links")[: 2 + linked], SIDES):
        assert rows(getattr(found, name)) == side
    assert [lengths.tolist() for lengths in found.lengths()] == [[3, 0, 1], [1, 2, 4]]
    assert found.source.row(0).dtype == np.int32
    assert not found.source.row(0).flags.writeable
    found.release()
    assert rows(found.target) == SIDES[1]  # type: ignore[arg-type]


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
def test_a_damaged_file_is_none(tmp_path: Path, share: float) -> None:
    path = tmp_path / "c.arrow"
    collect_encoded(BLOCKS, path, linked=True)
    content = path.read_bytes()
    path.unlink()
    path.write_bytes(content[: int(share * len(content))])
    assert read_encoded(path) is None


def test_ids_in_parts_are_those_of_the_whole() -> None:
    sequences = [list(range(n % 5)) for n in range(11)]
    whole = Ragged.of(sequences)
    parts = Ragged(
        [part for a, b in ((0, 4), (4, 4), (4, 5), (5, 11)) for part in Ragged.of(sequences[a:b]).parts]
    )
    assert rows(parts) == rows(whole) == sequences
    chosen = np.array([10, 3, 3, 7, 0])
    assert parts.lengths_of(chosen).tolist() == whole.lengths_of(chosen).tolist() == [n % 5 for n in chosen]
    assert Ragged.of([]).lengths_of(np.arange(0)).tolist() == []
    assert collect_encoded([], None).lengths()[0].tolist() == []
