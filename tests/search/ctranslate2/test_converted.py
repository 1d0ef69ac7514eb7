"""The cache of converted models: found again, never stale or damaged, and not needed."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.export.contents import of_transformer
from translate.alignment.alignment import AlignmentChoice
from translate.errors import UserError
from translate.models import Transformer
from translate.search.ctranslate2 import converted
from translate.search.ctranslate2.conversion import Convertible, convert
from translate.search.ctranslate2.converted import cached, identity


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRANSLATE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "ctranslate2"


@pytest.fixture
def run() -> Convertible:
    contents = of_transformer()
    assert isinstance(contents.model, Transformer)
    return Convertible(contents.model, contents.tokenizers, contents.choice, 20, 30)


@pytest.fixture
def library() -> Any:
    pytest.importorskip("ctranslate2.converters", reason="its converter writes the files")
    return pytest.importorskip("ctranslate2")


def content(folder: Path) -> bytes:
    """Stands for the engine: the weights as they are loaded."""
    return (folder / "model.bin").read_bytes()


def forbid(*arguments: object) -> None:
    raise AssertionError("it was converted again")


def test_a_model_is_converted_once(
    library: Any, run: Convertible, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = cached(library, run, content)
    (folder,) = cache.iterdir()  # nothing else is left behind
    assert (folder / "model.bin").read_bytes() == first
    monkeypatch.setattr(converted, "convert", forbid)
    assert cached(library, run, content) == first


def test_a_new_checkpoint_and_another_choice_are_converted_anew(
    library: Any, run: Convertible, cache: Path
) -> None:
    first = cached(library, run, content)
    with torch.no_grad():
        run.model.output_weight.mul_(1.5)
    assert cached(library, run, content) != first
    other = replace(run, choice=AlignmentChoice(0, (2,), 0))
    assert cached(library, other, content) != first
    assert len(list(cache.iterdir())) == 3
    names = {identity(replace(run, longest_target=31), "1"), identity(run, "1"), identity(run, "2")}
    assert len(names) == 3


@pytest.mark.parametrize("damage", ["cut", "missing"])
def test_a_damaged_model_is_replaced(library: Any, run: Convertible, cache: Path, damage: str) -> None:
    def load(folder: Path) -> bytes:
        library.Translator(str(folder))
        return content(folder)

    first = cached(library, run, load)
    (folder,) = cache.iterdir()
    weights = folder / "model.bin"
    if damage == "cut":
        weights.write_bytes(first[: len(first) // 2])
    else:
        weights.unlink()
    assert cached(library, run, load) == first
    assert list(cache.iterdir()) == [folder]
    assert weights.read_bytes() == first


def test_a_cache_that_cannot_be_written_is_not_needed(
    library: Any, run: Convertible, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("TRANSLATE_CACHE", str(tmp_path / "file"))
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    assert cached(library, run, content)
    assert not list(temporary.iterdir())
    assert (tmp_path / "file").read_text() == "not a folder"


def test_no_place_at_all_is_told(
    library: Any, run: Convertible, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("TRANSLATE_CACHE", str(tmp_path / "file"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "file"))
    with pytest.raises(UserError, match="cannot be written, nor into a temporary folder"):
        cached(library, run, content)


def test_several_may_convert_at_once(library: Any, run: Convertible, cache: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: cached(library, run, content), range(4)))
    assert len(set(found)) == 1
    assert len(list(cache.iterdir())) == 1


def test_another_process_may_remove_a_model_while_it_is_loaded(
    library: Any, run: Convertible, cache: Path
) -> None:
    first = cached(library, run, content)
    calls = []

    def load(folder: Path) -> bytes:
        calls.append(folder)
        if len(calls) == 1:
            raise RuntimeError("Unable to open file 'model.bin'")
        return content(folder)

    assert cached(library, run, load) == first
    assert len(calls) == 2


def test_the_heads_that_show_the_alignment_come_first(library: Any, run: Convertible, tmp_path: Path) -> None:
    run = replace(run, choice=AlignmentChoice(1, (2,), 0))
    convert(library, run, tmp_path / "out", "float32")
    engine = library.Translator(str(tmp_path / "out"), compute_type="float32")
    source = run.tokenizers.source.encode("I love you .")
    (found,) = engine.translate_batch(
        [run.tokenizers.source.pieces(source)], beam_size=1, return_attention=True, max_decoding_length=5
    )
    ids = run.tokenizers.target.ids(found.hypotheses[0])
    with torch.no_grad():
        (forced,) = run.model.forced_weights(
            torch.tensor([[*source, 3]]), None, torch.tensor([[2, *ids]]), [1]
        )
    expected = forced[0, 2, : len(ids), : len(source)]
    torch.testing.assert_close(torch.tensor(found.attention[0]), expected, atol=1e-4, rtol=0)
