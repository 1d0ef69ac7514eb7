from pathlib import Path

import numpy as np
import pytest

from translate.corpora.batching import EncodedCorpus, Ragged
from translate.corpora.columns.fingerprint import fingerprint
from translate.corpora.encoded_cache import cache_directory, read_encoded, write_encoded

SIDES = ([[4, 5, 6], [], [7]], [[8], [9, 10], [11, 12, 13, 14]], [[65536, 3], [], [1]])


@pytest.mark.parametrize("count", [2, 3])
def test_written_corpora_are_read_back_without_a_copy(tmp_path: Path, count: int) -> None:
    corpus, path = EncodedCorpus(*map(Ragged.of, SIDES[:count])), tmp_path / "a" / "b.arrow"
    assert read_encoded(path) is None
    write_encoded(path, corpus)
    found = read_encoded(path)
    assert found is not None
    assert (found.links is None) == (count == 2)
    for name, side in zip(("source", "target", "links"), SIDES[:count]):
        ragged: Ragged = getattr(found, name)
        assert [ragged.row(i).tolist() for i in range(3)] == side
        assert ragged.lengths.tolist() == [len(row) for row in side]
        assert ragged.values.dtype == np.int32
        assert not ragged.values.flags.writeable  # it is the file itself
    assert [each.name for each in path.parent.iterdir()] == ["b.arrow"]


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
def test_a_damaged_file_is_none(tmp_path: Path, share: float) -> None:
    path = tmp_path / "c.arrow"
    write_encoded(path, EncodedCorpus(*map(Ragged.of, SIDES[:2])))
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    assert read_encoded(path) is None


def test_a_fingerprint_is_of_the_parts_and_where_they_end() -> None:
    assert fingerprint(["ab", "c"]) != fingerprint(["a", "bc"])
    assert fingerprint(["ab", "c"]) == fingerprint([b"ab", b"c"])
    assert fingerprint(["\udce9"]) != fingerprint([])  # a lone surrogate is no reason to fail


def test_where_the_cache_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert cache_directory(None) is None
    assert cache_directory("/somewhere") == Path("/somewhere")
    monkeypatch.setenv("TRANSLATE_CACHE", str(tmp_path))
    assert cache_directory("auto") == tmp_path
    monkeypatch.delenv("TRANSLATE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_directory("auto") == tmp_path / "translate"
