"""The graphs and the search in torch and numpy alone, and one real export."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import torch

from tests.export.contents import SEARCH, SOURCES, of_case, of_transformer, translations
from tests.tiny_models import CASES
from translate.export import onnx
from translate.export.contents import prove
from translate.export.onnx import Reading, Step, example, exportable
from translate.export.onnx_search import Graphs, search
from translate.text.tokenizer import BOS


class Name(NamedTuple):
    name: str


class Session:
    """A graph instead of a session of onnxruntime."""

    def __init__(self, graph: Reading | Step) -> None:
        self.graph = graph

    def get_inputs(self) -> list[Name]:
        return [
            Name(each)
            for each in ("ids", "mask", *(f"{k}_{i}" for k in ("memory", "state") for i in range(99)))
        ]

    def run(self, _: None, inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
        first, mask, *rest = (torch.from_numpy(np.ascontiguousarray(each)) for each in inputs.values())
        with torch.no_grad():
            found = self.graph(first, mask, rest) if isinstance(self.graph, Step) else self.graph(first, mask)
        return [each.numpy() for each in found]


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_graphs_and_search_translate_like_the_run(name: str) -> None:
    contents = of_case(name)
    with torch.no_grad():
        reading = Reading(exportable(contents.model), *example(2, 5, 11))
    graphs = Graphs(Session(reading), Session(Step(reading)), reading.num_memories)
    sources = [contents.encode(each) for each in SOURCES if each]
    longest = [min(SEARCH.longest(len(each)), contents.longest_target) for each in sources]
    found = search(graphs, sources, longest, SEARCH)
    wanted = [each for each, source in zip(translations(contents), SOURCES, strict=True) if source]
    assert [contents.tokenizers.target.decode(each.ids) for each in found] == [each.text for each in wanted]
    assert [each.score for each in found] == pytest.approx([each.score for each in wanted], abs=1e-5)


@pytest.mark.slow
def test_onnxruntime_translates_alike(tmp_path: Path) -> None:
    for package in ("onnx", "onnxscript", "onnxruntime"):
        pytest.importorskip(package)
    contents = of_case("luong")
    proof = prove(SOURCES, translations(contents), onnx.export(contents, tmp_path / "out")(SOURCES))
    assert proof.differing == 0
    assert proof.score_difference < 1e-5


def test_learned_positions_limit_the_pieces_that_an_export_reads() -> None:
    contents = of_transformer(positions="learned", max_length=11)
    long = " ".join(SOURCES * 3)
    assert (contents.longest_source, len(contents.encode(long))) == (11, 11)
    assert contents.translate([long])[0].text == contents.translate([long[: len(long) // 2]])[0].text
    assert len(contents.encode("you")) < 11
    contents.model(torch.tensor([contents.encode(long)]), None, torch.tensor([[BOS]]))  # it was an error
    assert of_transformer(max_length=11).longest_source == SEARCH.max_source_pieces + 1
