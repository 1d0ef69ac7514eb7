"""Where the cache is."""

from pathlib import Path

import pytest

from translate.corpora.caches import cache_directory


def test_where_the_cache_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert cache_directory(None) is None
    assert cache_directory("/somewhere") == Path("/somewhere")
    monkeypatch.setenv("TRANSLATE_CACHE", str(tmp_path))
    assert cache_directory("auto") == tmp_path
    monkeypatch.delenv("TRANSLATE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_directory("auto") == tmp_path / "translate"
