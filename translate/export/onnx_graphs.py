"""The two computations that ONNX holds: reading the source, and one step of the decoder.

Graphs know tensors alone, so the nested values of the model's contract are laid out in lists.

Shapes: B sentences, W hypotheses of each, S source pieces, T target pieces so far, V vocabulary.
"""

import copy
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from translate.attention import Attention
from translate.attention.memory import each_tensor
from translate.export.onnx_recurrence import PaddedRecurrence
from translate.models import DecodeState, Encoded, RNNEncoder, Seq2Seq
from translate.models.rnn import RecurrentSeq2Seq


class Layout:
    """Where the tensors of a nested value stand in a list; a value of the same kind fills it again."""

    def __init__(self, example: Any, mask: Tensor) -> None:
        self.example = example
        self.mask = mask

    def flatten(self, value: Any, mask: Tensor) -> list[Tensor]:
        """The tensors of ``value``, but for the mask, which is an input of every graph."""
        found: list[Tensor] = []

        def note(tensor: Tensor) -> Tensor:
            if tensor is not mask:
                found.append(tensor)
            return tensor

        each_tensor(value, note)
        return found

    def fill(self, tensors: Sequence[Tensor], mask: Tensor) -> Any:
        """A value like the example, made of ``tensors``."""
        remaining = iter(tensors)
        return each_tensor(self.example, lambda tensor: mask if tensor is self.mask else next(remaining))


class Reading(nn.Module):
    """Source ids (B, S) and mask (B, S), True = visible -> what the decoder reads, and its first state."""

    def __init__(self, model: Seq2Seq, source: Tensor, mask: Tensor) -> None:
        super().__init__()
        self.model = model
        encoded = model.encode(source, mask)
        state = model.start(encoded, 1)
        self.encoded = Layout(encoded, mask)
        self.state = Layout((state.tensors, state.attention), mask)
        self.num_memories = len(self.encoded.flatten(encoded, mask))

    def forward(self, source: Tensor, mask: Tensor) -> tuple[Tensor, ...]:
        encoded = self.model.encode(source, mask)
        state = self.model.start(encoded, 1)
        first = self.state.flatten((state.tensors, state.attention), mask)
        return (*self.encoded.flatten(encoded, mask), *(each.unsqueeze(1) for each in first))


class Step(nn.Module):
    """All target ids so far (B, W, T), mask, memories and state -> log-probabilities (B, W, V), next state.

    Memories have one row a sentence, states are (B, W, ...). The ids before the last are not computed with:
    their number is the place of the last.
    """

    def __init__(self, reading: Reading) -> None:
        super().__init__()
        self.model = reading.model
        self.encoded, self.state = reading.encoded, reading.state
        self.num_memories = reading.num_memories

    def forward(self, ids: Tensor, mask: Tensor, tensors: list[Tensor]) -> tuple[Tensor, ...]:
        encoded: Encoded = self.encoded.fill(tensors[: self.num_memories], mask)
        rows = [each.flatten(0, 1) for each in tensors[self.num_memories :]]
        state_tensors, attention = self.state.fill(rows, mask)
        state = DecodeState(ids.shape[2] - 1, state_tensors, attention)
        hidden, state = self.model.step(ids[:, :, -1].flatten(), state, encoded)
        log_probabilities = torch.log_softmax(self.model.logits(hidden), dim=-1)
        following = self.state.flatten((state.tensors, state.attention), mask)
        sizes = ids.shape[:2]
        return tuple(each.unflatten(0, sizes) for each in (log_probabilities, *following))


def exportable(model: Seq2Seq) -> Seq2Seq:
    """A copy that computes the same by operations that ONNX has."""
    found = copy.deepcopy(model).eval()
    for module in found.modules():
        if isinstance(module, Attention):
            module.kernel = "explicit"
    if isinstance(found, RecurrentSeq2Seq) and isinstance(found.encoder, RNNEncoder):
        found.encoder = PaddedRecurrence(found.encoder)
    return found


def example(num_sentences: int, length: int, num_ids: int) -> tuple[Tensor, Tensor]:
    """Source ids and a mask to trace with; the last sentence is shorter by one."""
    source = torch.arange(num_sentences * length).view(num_sentences, length) % num_ids
    mask = torch.ones(num_sentences, length, dtype=torch.bool)
    mask[-1, -1] = False
    return source, mask


def dynamic_axes(one: Sequence[Tensor], other: Sequence[Tensor]) -> list[dict[int, tuple[int, int]]]:
    """The axes of each tensor in which two examples of different sizes differ, with both sizes."""
    return [
        {axis: sizes for axis, sizes in enumerate(zip(a.shape, b.shape, strict=True)) if sizes[0] != sizes[1]}
        for a, b in zip(one, other, strict=True)
    ]
