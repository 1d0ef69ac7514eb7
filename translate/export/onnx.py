"""Exports any backend as two ONNX graphs for ONNX Runtime: the encoder, and one step of the decoder.

The decoder's state is an input and an output of the step, so nothing is computed twice. The caller searches;
``onnx_search.py`` is an example.
"""

import contextlib
import json
import logging
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from translate.export.contents import Contents, Engine, Rendered, require
from translate.export.onnx_graphs import Reading, Step, dynamic_axes, example, exportable
from translate.export.onnx_search import Graphs, search
from translate.text.tokenizer import UNK

FORMAT = "onnx"
READING, STEP, DESCRIPTION = "encoder.onnx", "step.onnx", "model.json"
# The sizes of two examples, which show the dynamic axes; no two pairs are equal.
SENTENCES, SOURCE, HYPOTHESES, TARGET, PAST = (2, 3), (5, 7), (3, 2), (4, 6), (3, 5)
AXES = {
    SENTENCES: "sentences",
    SOURCE: "source_length",
    HYPOTHESES: "hypotheses",
    TARGET: "target_length",
    PAST: "past_length",
}


def export(contents: Contents, directory: Path) -> Engine:
    """Write ``encoder.onnx``, ``step.onnx``, ``model.json`` and the tokenizer.

    Args:
        contents: of any backend.
        directory: to be created.

    Returns:
        The engine, which translates with the written files.

    Raises:
        UserError: if a package that the export needs is not installed.
    """
    check_packages(FORMAT)
    directory.mkdir(parents=True)
    num_memories = write_graphs(contents, directory)
    description = {
        "memories": num_memories,
        "beam_size": contents.search.beam_size,
        "length_penalty": contents.search.length_penalty,
    }
    (directory / DESCRIPTION).write_text(json.dumps(description, indent=2) + "\n", encoding="utf-8")
    contents.tokenizers.save(directory / "tokenizer")
    return engine(contents, open_graphs(directory, num_memories))


def check_packages(export_format: str) -> None:
    """Raise ``UserError`` if a package that graphs need is not installed."""
    for package in ("onnx", "onnxscript", "onnxruntime"):
        require(package, export_format)


def write_graphs(contents: Contents, directory: Path, *, weights: bool = False) -> int:
    """Write both graphs.

    Args:
        contents: of any backend.
        directory: that is there.
        weights: as :class:`Step`.

    Returns:
        The number of memories of the first graph.
    """
    with torch.no_grad(), _quiet():
        return _write_graphs(contents, directory, weights=weights)


def _write_graphs(contents: Contents, directory: Path, *, weights: bool) -> int:
    model = exportable(contents.model)
    num_ids = len(contents.tokenizers.source)
    sources = [example(SENTENCES[i], SOURCE[i], num_ids) for i in (0, 1)]
    readings = [Reading(model, *source) for source in sources]
    read = [_whole(reading(*source)) for reading, source in zip(readings, sources, strict=True)]
    steps = [Step(reading, weights=weights) for reading in readings]
    inputs = [_advanced(steps[i], sources[i][1], read[i], HYPOTHESES[i], PAST[i]) for i in (0, 1)]
    given = [[ids, mask, *tensors] for ids, mask, tensors in inputs]
    written = [_whole(step(*values)) for step, values in zip(steps, inputs, strict=True)]
    memories = [f"memory_{i}" for i in range(readings[0].num_memories)]
    states = [f"state_{i}" for i in range(len(read[0]) - len(memories))]
    names = ["source", "mask"], [*memories, *states]
    _write(readings[0], sources[0], (sources, read), names, directory / READING)
    names = ["ids", "mask", *memories, *states], ["log_probabilities", *(f"next_{name}" for name in states)]
    names[1].extend(["weights"] * weights)
    _write(steps[0], inputs[0], (given, written), names, directory / STEP)
    return len(memories)


def _write(
    graph: Reading | Step,
    inputs: tuple[Any, ...],
    examples: tuple[Sequence[Sequence[Tensor]], Sequence[Sequence[Tensor]]],
    names: tuple[list[str], list[str]],
    path: Path,
) -> None:
    """Trace a graph and write it.

    Args:
        graph: to trace.
        inputs: to trace it with.
        examples: for inputs and for outputs, two lists of tensors of different sizes.
        names: of the inputs and of the outputs.
        path: of the file.
    """
    axes = [dynamic_axes(*sides) for sides in examples]
    free = [dict.fromkeys(dynamic, torch.export.Dim.DYNAMIC) for dynamic in axes[0]]
    shapes = tuple(free) if isinstance(graph, Reading) else (*free[:2], free[2:])
    program = torch.onnx.export(
        graph,
        inputs,
        input_names=names[0],
        output_names=names[1],
        dynamic_shapes=shapes,
        dynamo=True,
        verbose=False,
    )
    assert program is not None
    shape = require("onnx_ir", FORMAT).Shape
    for node in program.model.graph:
        for value in node.outputs:
            value.shape = None  # for recurrences the exporter writes the sizes of the example
    sides = (program.model.graph.inputs, program.model.graph.outputs)
    for values, (one, _), found in zip(sides, examples, axes, strict=True):
        for value, tensor, changing in zip(values, one, found, strict=True):
            sizes = [AXES[changing[i]] if i in changing else size for i, size in enumerate(tensor.shape)]
            value.shape = shape(sizes)
    program.save(path, external_data=False)


def _advanced(
    step: Step, mask: Tensor, read: Sequence[Tensor], hypotheses: int, num_steps: int
) -> tuple[Tensor, Tensor, list[Tensor]]:
    """Inputs of a step after ``num_steps`` others: ids, mask, and memories and states."""
    memories = read[: step.num_memories]
    states = [state.repeat_interleave(hypotheses, 1) for state in read[step.num_memories :]]
    ids = torch.full((len(mask), hypotheses, 1), UNK)
    for _ in range(num_steps):
        states = _whole(step(ids, mask, [*memories, *states])[1 : 1 + len(states)])
        ids = torch.cat([ids, ids[:, :, :1]], dim=2)
    return ids, mask, [*memories, *states]


def _whole(tensors: Sequence[Tensor]) -> list[Tensor]:
    """Copies of the tensors: the exporter would write the strides of views, which ONNX cannot express."""
    return [tensor.clone(memory_format=torch.contiguous_format) for tensor in tensors]


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Silence the exporter's remarks about optional packages."""
    logger = logging.getLogger("torch.onnx")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(before)


def open_graphs(directory: Path, num_memories: int) -> Graphs:
    """The graphs that :func:`write_graphs` wrote into ``directory``, in ONNX Runtime."""
    library = require("onnxruntime", FORMAT)
    options = library.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()

    def session(name: str) -> Any:
        return library.InferenceSession(str(directory / name), options, providers=["CPUExecutionProvider"])

    return Graphs(session(READING), session(STEP), num_memories)


def engine(contents: Contents, graphs: Graphs) -> Engine:
    """The engine that translates with ``graphs``."""
    limit = contents.longest_target

    def translate(sentences: Sequence[str]) -> list[Rendered]:
        sources = [contents.encode(sentence) for sentence in sentences]
        order = sorted((i for i, ids in enumerate(sources) if len(ids) > 1), key=lambda i: len(sources[i]))
        found = {i: Rendered("", 0.0) for i in range(len(sentences))}
        size = contents.search.batch_size
        for begin in range(0, len(order), size):
            rows = order[begin : begin + size]
            chosen = [sources[i] for i in rows]
            longest = [min(limit, contents.search.longest(len(source))) for source in chosen]
            for i, best in zip(rows, search(graphs, chosen, longest, contents.search), strict=True):
                text = contents.tokenizers.target.decode(best.ids)
                found[i] = Rendered(text, best.score, ids=best.ids)
        return [found[i] for i in range(len(sentences))]

    return translate
