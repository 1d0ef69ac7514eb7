"""A bidirectional recurrence over padded sentences, by operations that ONNX has."""

import torch
from torch import Tensor, nn

from translate.models import RNNEncoder
from translate.models.encoders import Encoder


class PaddedRecurrence(Encoder):
    """What :class:`RNNEncoder` computes, without packed sequences.

    Padding stands at the end, so a forward direction never sees it before a word; a backward direction is a
    forward one over each sentence turned round. States at padding are zero, as packed sequences give them.

    Args:
        encoder: whose parameters are copied.
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
        places = torch.arange(mask.shape[1], device=mask.device).unsqueeze(0)
        turned = torch.where(mask, lengths - 1 - places, places)  # (B, S); turning twice gives the original
        last = (lengths - 1).clamp_min(0).unsqueeze(2)  # (B, 1, 1)
        states, finals = embedded, []
        for layer in range(self.num_layers):
            forward = self.directions[2 * layer](states)[0]
            backward = self.directions[2 * layer + 1](_reorder(states, turned))[0]
            final = torch.cat([forward, backward], dim=2)
            finals.append(final.gather(1, last.expand(-1, -1, final.shape[2])).squeeze(1))  # (B, 2H)
            states = torch.cat([forward, _reorder(backward, turned)], dim=2)
            states = states * mask.unsqueeze(2).to(states.dtype)
        return states, torch.stack(finals, 1)


def _direction(rnn: nn.RNNBase, layer: int, suffix: str) -> nn.RNNBase:
    """One direction of one layer as a recurrence of its own."""
    first = rnn.get_parameter(f"weight_ih_l{layer}{suffix}")
    kind = nn.GRU if isinstance(rnn, nn.GRU) else nn.LSTM
    found = kind(first.shape[1], rnn.hidden_size, batch_first=True).to(first.dtype)
    with torch.no_grad():
        for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
            found.get_parameter(f"{name}_l0").copy_(rnn.get_parameter(f"{name}_l{layer}{suffix}"))
    return found.eval()


def _reorder(states: Tensor, places: Tensor) -> Tensor:
    return states.gather(1, places.unsqueeze(2).expand(-1, -1, states.shape[2]))
