"""Exports any backend as two ONNX graphs for ONNX Runtime: the encoder, and one step of the decoder.

The decoder's state is an input and an output of the step, so nothing is computed twice. Graphs take only
tensors, so nested values of the model become lists. The caller searches, as ``onnx_search.py`` does.

Shapes: B sentences, W hypotheses of each, S source pieces, T target pieces so far, V vocabulary.
"""

import contextlib
import copy
import json
import logging
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from translate.attention import Attention
from translate.attention.memory import each_tensor, tensors_of
from translate.export.contents import Contents, Engine, require
from translate.export.onnx_search import Graphs, search
from translate.models import DecodeState, Encoded, RNNEncoder, Seq2Seq
from translate.models.encoders import Encoder
from translate.models.rnn import RecurrentSeq2Seq
from translate.text.tokenizer import UNK
from translate.translation import Translation


class Layout:
    """Converts a nested value to a list of its tensors and back."""

    def __init__(self, example: Any, mask: Tensor) -> None:
        self.example = example
        self.mask = mask

    def flatten(self, value: Any, mask: Tensor) -> list[Tensor]:
        """The tensors of ``value`` without the mask, which is an input of every graph."""
        return [tensor for tensor in tensors_of(value) if tensor is not mask]

    def fill(self, tensors: Sequence[Tensor], mask: Tensor) -> Any:
        """A value with the structure of the example and these tensors."""
        remaining = iter(tensors)
        return each_tensor(self.example, lambda tensor: mask if tensor is self.mask else next(remaining))


class Reading(nn.Module):
    """Source ids (B, S) and mask (B, S), True = visible -> memories and the decoder's first state."""

    def __init__(self, model: Seq2Seq, source: Tensor, mask: Tensor) -> None:
        super().__init__()
        self.model = model
        encoded = model.encode(source, mask)
        state = model.start(encoded)
        self.encoded = Layout(encoded, mask)
        self.state = Layout((state.tensors, state.attention), mask)
        self.num_memories = len(self.encoded.flatten(encoded, mask))

    def forward(self, source: Tensor, mask: Tensor) -> tuple[Tensor, ...]:
        encoded = self.model.encode(source, mask)
        state = self.model.start(encoded)
        first = self.state.flatten((state.tensors, state.attention), mask)
        return (*self.encoded.flatten(encoded, mask), *(tensor.unsqueeze(1) for tensor in first))


class Step(nn.Module):
    """Target ids so far (B, W, T), mask, memories and state -> log-probabilities (B, W, V) and next state.

    Memories have one row for each sentence, states are (B, W, ...). Only the last ids are read; the number of
    ids before them is their position.

    Args:
        reading: the other graph.
        weights: whether the attention of every layer (B, W, layers, H, S) is the last output.
    """

    def __init__(self, reading: Reading, *, weights: bool = False) -> None:
        super().__init__()
        self.model = reading.model
        self.encoded, self.state = reading.encoded, reading.state
        self.num_memories = reading.num_memories
        self.weights = weights

    def forward(self, ids: Tensor, mask: Tensor, tensors: list[Tensor]) -> tuple[Tensor, ...]:
        encoded: Encoded = self.encoded.fill(tensors[: self.num_memories], mask)
        rows = [tensor.flatten(0, 1) for tensor in tensors[self.num_memories :]]
        state_tensors, attention = self.state.fill(rows, mask)
        state = DecodeState(ids.shape[2] - 1, state_tensors, attention)
        last, shown = ids[:, :, -1].flatten(), []
        hidden, following = self.model.step(last, state, encoded)
        if self.weights:
            # The exporter merges what the passes have in common, so that each layer computes its own once.
            for layer in range(self.model.num_attention_layers):
                found = self.model.step_with_weights(last, state, encoded, layer)[2]
                shown.append(found.transpose(1, 2))  # (B, W, H, S)
        log_probabilities = torch.log_softmax(self.model.logits(hidden), dim=-1)
        tensors = self.state.flatten((following.tensors, following.attention), mask)
        rows = [tensor.unflatten(0, ids.shape[:2]) for tensor in (log_probabilities, *tensors)]
        return (*rows, torch.stack(shown, 2)) if self.weights else tuple(rows)


class PaddedRecurrence(Encoder):
    """:class:`RNNEncoder` without packed sequences, which ONNX does not have.

    Padding is at the end, so the forward direction reaches it after all words. The backward direction is a
    forward one over the reversed sentence. States at padding are zero, as with packed sequences.

    Args:
        encoder: its parameters are copied.
    """

    def __init__(self, encoder: RNNEncoder) -> None:
        super().__init__()
        self.output_size = encoder.output_size
        self.num_layers = encoder.num_layers
        self.directions = nn.ModuleList()
        for layer in range(encoder.num_layers):
            for suffix in ("", "_reverse"):
                self.directions.append(_direction(encoder.rnn, layer, suffix))

    def forward(self, embedded: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        """States (B, S, 2H) and the last hidden state of each layer, both directions (B, L, 2H)."""
        if mask is None:
            mask = torch.ones(embedded.shape[:2], dtype=torch.bool, device=embedded.device)
        lengths = mask.sum(1, keepdim=True)
        positions = torch.arange(mask.shape[1], device=mask.device).unsqueeze(0)
        reversal = torch.where(mask, lengths - 1 - positions, positions)  # (B, S); its own inverse
        last = (lengths - 1).clamp_min(0).unsqueeze(2)  # (B, 1, 1)
        states, finals = embedded, []
        for layer in range(self.num_layers):
            forward = self.directions[2 * layer](states)[0]
            backward = self.directions[2 * layer + 1](_reorder(states, reversal))[0]
            final = torch.cat([forward, backward], dim=2)
            finals.append(final.gather(1, last.expand(-1, -1, final.shape[2])).squeeze(1))  # (B, 2H)
            states = torch.cat([forward, _reorder(backward, reversal)], dim=2)
            states = states * mask.unsqueeze(2).to(states.dtype)
        return states, torch.stack(finals, 1)


def _direction(rnn: nn.RNNBase, layer: int, suffix: str) -> nn.RNNBase:
    """A recurrence for one direction of one layer."""
    first = rnn.get_parameter(f"weight_ih_l{layer}{suffix}")
    kind = nn.GRU if isinstance(rnn, nn.GRU) else nn.LSTM
    found = kind(first.shape[1], rnn.hidden_size, batch_first=True).to(first.dtype)
    with torch.no_grad():
        for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
            found.get_parameter(f"{name}_l0").copy_(rnn.get_parameter(f"{name}_l{layer}{suffix}"))
    return found.eval()


def _reorder(states: Tensor, positions: Tensor) -> Tensor:
    return states.gather(1, positions.unsqueeze(2).expand(-1, -1, states.shape[2]))


def exportable(model: Seq2Seq) -> Seq2Seq:
    """A copy of the model that uses only operations of ONNX."""
    found = copy.deepcopy(model).eval()
    for module in found.modules():
        if isinstance(module, Attention):
            module.kernel = "explicit"
    if isinstance(found, RecurrentSeq2Seq) and isinstance(found.encoder, RNNEncoder):
        found.encoder = PaddedRecurrence(found.encoder)
    return found


def example(num_sentences: int, length: int, num_ids: int) -> tuple[Tensor, Tensor]:
    """Source ids and a mask for tracing; the last sentence is shorter by one piece."""
    source = torch.arange(num_sentences * length).view(num_sentences, length) % num_ids
    mask = torch.ones(num_sentences, length, dtype=torch.bool)
    mask[-1, -1] = False
    return source, mask


def dynamic_axes(one: Sequence[Tensor], other: Sequence[Tensor]) -> list[dict[int, tuple[int, int]]]:
    """For each tensor, the axes in which two examples differ, with both sizes."""
    return [
        {axis: sizes for axis, sizes in enumerate(zip(a.shape, b.shape, strict=True)) if sizes[0] != sizes[1]}
        for a, b in zip(one, other, strict=True)
    ]


FORMAT = "onnx"
READING, STEP, DESCRIPTION = "encoder.onnx", "step.onnx", "model.json"
# The sizes of two examples, which show the dynamic axes; no two pairs are equal.
SENTENCES, SOURCE, HYPOTHESES, TARGET, PAST = (2, 3), (5, 7), (3, 2), (4, 6), (3, 5)
AXES = {SENTENCES: "sentences", SOURCE: "source_length", HYPOTHESES: "hypotheses"}
AXES |= {TARGET: "target_length", PAST: "past_length"}


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


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Silence the exporter's remarks about optional packages."""
    logger = logging.getLogger("torch.onnx")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings(action="ignore"):
            yield
    finally:
        logger.setLevel(before)


@torch.no_grad()
@_quiet()
def write_graphs(contents: Contents, directory: Path, *, weights: bool = False) -> int:
    """Write ``encoder.onnx`` and ``step.onnx``.

    Args:
        contents: of any backend.
        directory: that is there.
        weights: as :class:`Step`.

    Returns:
        The number of memories of the first graph.
    """
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
    named = {"input_names": names[0], "output_names": names[1]}
    options: dict[str, Any] = {**named, "dynamic_shapes": shapes, "dynamo": True, "verbose": False}
    program = torch.onnx.export(graph, inputs, **options)
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
    limit, target = contents.longest_target, contents.tokenizers.target

    def translate(sentences: Sequence[str]) -> list[Translation]:
        sources = [contents.encode(sentence) for sentence in sentences]
        order = sorted((i for i, ids in enumerate(sources) if len(ids) > 1), key=lambda i: len(sources[i]))
        found = [Translation("", 0.0)] * len(sentences)
        size = contents.search.batch_size
        for begin in range(0, len(order), size):
            rows = order[begin : begin + size]
            chosen = [sources[i] for i in rows]
            longest = [min(limit, contents.search.longest(len(source))) for source in chosen]
            for i, best in zip(rows, search(graphs, chosen, longest, contents.search), strict=True):
                tokens = tuple(target.pieces(best.ids))
                found[i] = Translation(target.decode(best.ids), best.score, tokens=tokens)
        return found

    return translate
