"""Encoders of the recurrent backends: a recurrence, or attention of the source to itself.

An encoder is built from :class:`EncoderSizes`. It has an ``output_size``, and maps embeddings and a mask to
states and to the summaries that start the decoder's layers.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, cast

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from translate.attention import Attention
from translate.attention.kernels import recurrent
from translate.attention.kernels.dropout import Dropout
from translate.models.embedding import sinusoids


class EncoderSizes(NamedTuple):
    """The sizes that a backend asks of its encoder.

    Attributes:
        input_size: width of the embeddings.
        hidden_size: half the width of the states, which a recurrence has in each direction.
        num_layers: depth; also the layers of a decoder that the summaries start.
        dropout: probability.
        cell: of a recurrence, ``gru`` or ``lstm``.
    """

    input_size: int
    hidden_size: int
    num_layers: int
    dropout: float
    cell: str


class Encoder(nn.Module):
    """``forward(embedded, mask)`` gives states (B, S, output_size) and summaries (B, L, output_size)."""

    output_size: int
    reads_pictures = False  # whether a source may be cells, see `translate/corpora/images/patches.py`
    num_summary_layers = 0  # layers that the summaries pass beside the states

    def embed(self, source: Tensor, embed_pieces: Callable[[Tensor], Tensor]) -> Tensor:
        """Embeddings (B, S, input_size) of ids (B, S), which ``embed_pieces`` embeds."""
        return embed_pieces(source)


class RNNEncoder(Encoder):
    """A bidirectional GRU or LSTM over the source.

    Args:
        sizes: see :class:`EncoderSizes`; dropout is between layers.
    """

    def __init__(self, sizes: EncoderSizes) -> None:
        super().__init__()
        input_size, hidden_size, num_layers, dropout, cell = sizes
        kind = {"gru": nn.GRU, "lstm": nn.LSTM}[cell]
        self.output_size = 2 * hidden_size
        self.num_layers = num_layers
        self.rnn = kind(
            input_size,
            hidden_size,
            num_layers,
            batch_first=True,
            bidirectional=True,
            dropout=dropout if num_layers > 1 else 0.0,
        )
        initialise_recurrent(self.rnn)

    def forward(self, embedded: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        """States (B, S, 2H) and the last hidden state of each layer, both directions (B, L, 2H)."""
        if embedded.device.type == "cpu" and recurrent.runs("auto"):
            states, hidden = recurrent.run_layers(self.rnn, embedded, mask)
        elif mask is None:
            states, final = self.rnn(embedded)
            hidden = final[0] if isinstance(final, tuple) else final  # (2 L, B, H)
        else:
            # A GPU synchronises here, once a batch; packing sentences in any order would do so once more.
            lengths, order = mask.sum(1).clamp(min=1).cpu().sort(descending=True)
            first, back = (rows.to(embedded.device, non_blocking=True) for rows in (order, order.argsort()))
            packed = pack_padded_sequence(embedded.index_select(0, first), lengths, batch_first=True)
            packed, final = self.rnn(packed)
            hidden = final[0] if isinstance(final, tuple) else final
            states, _ = pad_packed_sequence(packed, batch_first=True, total_length=embedded.shape[1])
            states, hidden = states.index_select(0, back), hidden.index_select(1, back)  # (2 L, B, H)
        layers = hidden.unflatten(0, (self.num_layers, 2)).permute(2, 0, 1, 3).flatten(2)  # (B, L, 2H)
        return states, layers


def initialise_recurrent(rnn: nn.RNNBase) -> None:
    """Initialise: recurrent matrices orthogonal gate by gate, inputs Xavier, biases 0, forget gates open."""
    for name, parameter in rnn.named_parameters():
        if name.startswith("weight_hh"):
            for gate in parameter.data.split(rnn.hidden_size):
                nn.init.orthogonal_(gate)
        elif name.startswith("weight_ih"):
            nn.init.xavier_uniform_(parameter)
        else:
            nn.init.zeros_(parameter)
            if isinstance(rnn, nn.LSTM) and name.startswith("bias_ih"):
                nn.init.ones_(parameter.data[rnn.hidden_size : 2 * rnn.hidden_size])


class SelfEncoder(Encoder):
    """Attention of the source to itself instead of a recurrence: each layer is norm(x + mechanism(x)).

    Sinusoids on the embeddings give the positions. The decoder starts from the mean of the states.

    Args:
        sizes: see :class:`EncoderSizes`; dropout is on what each layer adds.
        attention: builds the mechanism from ``(query_size, key_size)``.
    """

    def __init__(self, sizes: EncoderSizes, attention: Callable[[int, int], Attention]) -> None:
        super().__init__()
        input_size, hidden_size, num_layers, dropout, _ = sizes
        self.output_size = 2 * hidden_size
        self.num_layers = num_layers
        self.layers = cast(
            "Sequence[Attention]", nn.ModuleList(attention(input_size, input_size) for _ in range(num_layers))
        )
        self.norms = nn.ModuleList(nn.LayerNorm(input_size) for _ in range(num_layers))
        for layer in self.layers:
            if layer.context_size != input_size:
                raise ValueError(f"encoder: expected a context {input_size} wide, got {layer.context_size}")
        self.output = nn.Linear(input_size, self.output_size)
        self.dropout = Dropout(dropout)

    def forward(self, embedded: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        """States (B, S, 2H), and their mean for every layer of a decoder (B, L, 2H)."""
        length, width = embedded.shape[1:]
        states = embedded + sinusoids(0, length, width, embedded.device).to(embedded.dtype)
        for layer, norm in zip(self.layers, self.norms, strict=True):
            context, _ = layer(states, layer.prepare(states, mask))
            states = norm(states + self.dropout(context))
        states = visible(torch.tanh(self.output(states)), mask)
        return states, mean_summary(states, mask, self.num_layers)


def visible(states: Tensor, mask: Tensor | None) -> Tensor:
    """The states (B, S, D), zero where the mask hides them."""
    return states if mask is None else states.masked_fill(~mask.unsqueeze(2), 0.0)


def mean_summary(states: Tensor, mask: Tensor | None, num_layers: int) -> Tensor:
    """The mean of :func:`visible` states for every layer of a decoder: (B, L, D)."""
    mean = states.mean(1) if mask is None else states.sum(1) / mask.sum(1, keepdim=True).clamp_min(1)
    return mean.unsqueeze(1).expand(-1, num_layers, -1)
