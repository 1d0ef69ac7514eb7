"""The two graphs that ONNX holds: the encoder, and one step of the decoder.

Graphs take only tensors, so the nested values of the model's contract become lists.

Shapes: B sentences, W hypotheses of each, S source pieces, T target pieces so far, V vocabulary.
"""

import copy
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from translate.attention import Attention
from translate.attention.memory import each_tensor
from translate.models import DecodeState, Encoded, RNNEncoder, Seq2Seq
from translate.models.encoders import Encoder
from translate.models.rnn import RecurrentSeq2Seq


class Layout:
    """Converts a nested value to a list of its tensors and back."""

    def __init__(self, example: Any, mask: Tensor) -> None:
        self.example = example
        self.mask = mask

    def flatten(self, value: Any, mask: Tensor) -> list[Tensor]:
        """The tensors of ``value`` without the mask, which is an input of every graph."""
        found: list[Tensor] = []

        def collect(tensor: Tensor) -> Tensor:
            if tensor is not mask:
                found.append(tensor)
            return tensor

        each_tensor(value, collect)
        return found

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
        state = model.start(encoded, 1)
        self.encoded = Layout(encoded, mask)
        self.state = Layout((state.tensors, state.attention), mask)
        self.num_memories = len(self.encoded.flatten(encoded, mask))

    def forward(self, source: Tensor, mask: Tensor) -> tuple[Tensor, ...]:
        encoded = self.model.encode(source, mask)
        state = self.model.start(encoded, 1)
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
