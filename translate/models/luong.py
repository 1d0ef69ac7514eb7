"""The RNN that attends after each step: Luong et al. 2015.

The loops over target positions hold only what is sequential: projections of keys and embeddings come before
them, readout and output after.
"""

from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from translate.attention import Attention
from translate.attention.dot_product import Dot, General
from translate.config.files import YAML, from_file
from translate.models.encoders import Encoder, EncoderSizes, RNNEncoder, initialise_recurrent
from translate.models.recurrent.fed import DecoderStart, LoopSource, LoopWeights, feed
from translate.models.recurrent.layer import writes_gradients
from translate.models.rnn import (
    OPTIONS,
    SIZES,
    RecurrentOptions,
    RecurrentSeq2Seq,
    RecurrentSizes,
    cell_weights,
    lstm_step,
)
from translate.models.states import DecodeState, Encoded
from translate.options import NumLayers, flat_options


class LuongRNN(RecurrentSeq2Seq):
    """An LSTM decoder that attends after each step: Luong et al. 2015, eq. 5 and 3.3.

    h~_t = tanh(W_c [c_t; h_t]); with input feeding the next step reads [y_t; h~_t]. Without it the
    decoder is sequential in the LSTM alone, and runs in one call over all positions.

    Args:
        source_vocabulary: V of the source.
        target_vocabulary: V of the target.
        attention: builds the mechanism from ``(query_size, key_size)``.
        sizes: see :class:`RecurrentSizes`; h~ is as wide as the embeddings, or with ``tie`` none as the
            decoder.
        options: see :class:`RecurrentOptions`; dropout is on embeddings, encoder states, between layers
            and on h~.
        num_layers: depth of encoder and decoder.
        input_feeding: see above.
        encoder: builds the encoder, see ``encoders.py``; a recurrence if ``None``.
    """

    @flat_options
    @from_file("model/rnn_luong.yaml")
    def __init__(
        self,
        source_vocabulary: int,
        target_vocabulary: int,
        attention: Callable[[int, int], Attention],
        *,
        sizes: RecurrentSizes = SIZES,
        options: RecurrentOptions = OPTIONS,
        num_layers: NumLayers = YAML,
        input_feeding: bool = YAML,
        encoder: Callable[..., Encoder] | None = None,
    ) -> None:
        embedding_size, decoder_size = sizes.embedding_size, sizes.decoder_size
        readout_size = decoder_size if options.tie == "none" else embedding_size
        widths = EncoderSizes(embedding_size, sizes.encoder_size, num_layers, options.dropout, "lstm")
        super().__init__(
            source_vocabulary,
            target_vocabulary,
            attention,
            build_encoder=partial(encoder or RNNEncoder, widths),
            sizes=sizes,
            options=options,
            readout_size=readout_size,
        )
        self.input_feeding = input_feeding
        self.readout_size = readout_size
        fed_size = readout_size if input_feeding else 0
        self.cell = nn.LSTM(
            embedding_size + fed_size,
            decoder_size,
            num_layers,
            batch_first=True,
            dropout=options.dropout if num_layers > 1 else 0.0,
        )
        initialise_recurrent(self.cell)
        self.bridge = nn.Linear(2 * sizes.encoder_size, 2 * decoder_size)  # to the first h and c
        self.combine = nn.Linear(self.attention.context_size + decoder_size, readout_size)

    def start(self, encoded: Encoded, num_hypotheses: int = 1, *, in_place: bool = False) -> DecodeState:
        bridged = torch.tanh(self.bridge(encoded.final[0])).repeat_interleave(num_hypotheses, 0)
        hidden, cell = bridged.chunk(2, dim=-1)  # (N, L, D) each
        fed = hidden.new_zeros(hidden.shape[0], self.readout_size)
        history = self.attention.initial_state(encoded.memories[0], num_hypotheses)
        return DecodeState(0, (hidden, cell, fed), history)

    def advance(
        self, ids: Tensor, state: DecodeState, encoded: Encoded, *, need_weights: bool
    ) -> tuple[Tensor, DecodeState, Tensor | None]:
        embedded = self.embed(ids, self.target_embedding)
        # A single step does not repay joining the matrices as `force` does.
        inputs = torch.cat([embedded, state.tensors[2]], dim=1) if self.input_feeding else embedded
        projected = F.linear(inputs, *cell_weights(self.cell, "ih"))
        own_weight = cell_weights(self.cell, "hh")[0]
        read, state, weights = self._advance(
            projected, own_weight, state, embedded, encoded, need_weights=False, beside=need_weights
        )
        return self.dropout(read), state, weights

    def force(
        self, encoded: Encoded, target_in: Tensor, *, need_weights: bool
    ) -> tuple[Tensor, Tensor | None]:
        embedded = self.embed(target_in, self.target_embedding)  # (B, T, E)
        state = self.start(encoded)
        if not self.input_feeding and not self.attention.stateful:
            hidden, cell, _ = state.tensors
            first = hidden.transpose(0, 1).contiguous(), cell.transpose(0, 1).contiguous()
            outputs, _ = self.cell(embedded, first)
            query = torch.cat([embedded, outputs], dim=-1) if self.word_in_query else outputs
            context, weights = self.attention(query, encoded.memories[0], need_weights=need_weights)
            return self.dropout(self._combine(context, outputs)), weights
        if self._feeds_plainly() and writes_gradients(embedded):
            return self._feed(embedded, state, encoded, need_weights=need_weights)
        projected = F.linear(embedded, self._input_weight(), cell_weights(self.cell, "ih")[1]).unbind(1)
        loop_weight = self._loop_weight()
        reads, rows = [], []
        for step_input, last in zip(projected, embedded.unbind(1), strict=True):
            read, state, weights = self._advance(
                step_input, loop_weight, state, last, encoded, need_weights=need_weights
            )
            reads.append(read)
            rows.append(weights)
        hidden_states = self.dropout(torch.stack(reads, 1))
        return hidden_states, torch.cat(rows, dim=2) if need_weights else None  # type: ignore[arg-type]

    def _feeds_plainly(self) -> bool:
        """Whether the loop is that of `recurrent/fed.py`: input feeding, one layer, a plain dot product."""
        attention = self.attention
        plain = type(attention) in (Dot, General) and attention.kernel == "auto"
        return self.input_feeding and self.cell.num_layers == 1 and plain and not self.word_in_query

    def _feed(
        self, embedded: Tensor, state: DecodeState, encoded: Encoded, *, need_weights: bool
    ) -> tuple[Tensor, Tensor | None]:
        """As the loop of :meth:`force`."""
        hidden, cell, _ = state.tensors
        memory = encoded.memories[0]
        of_context, of_hidden = self.combine.weight.split((memory.values.shape[-1], self.decoder_size), 1)
        # What the attention mixes is projected before it is mixed: once a source, outside of the loop.
        values = F.linear(memory.values.squeeze(1), of_context)
        reads, weights = feed(
            embedded,
            DecoderStart(hidden.squeeze(1), cell.squeeze(1)),
            LoopSource(memory.keys.squeeze(1), values, memory.mask),
            LoopWeights(
                self._input_weight(),
                self._loop_weight(),
                cell_weights(self.cell, "ih")[1] + cell_weights(self.cell, "hh")[1],
                of_hidden,
                self.combine.bias,
            ),
        )
        return self.dropout(reads), weights.unsqueeze(1) if need_weights else None

    def _input_weight(self) -> Tensor:
        return cell_weights(self.cell, "ih")[0][:, : self.target_embedding.embedding_dim]

    def _loop_weight(self) -> Tensor:
        """The matrix that the first layer applies to [h~; h], or to h alone."""
        fed = cell_weights(self.cell, "ih")[0][:, self.target_embedding.embedding_dim :]
        return torch.cat([fed, cell_weights(self.cell, "hh")[0]], dim=1)

    def _advance(
        self,
        step_input: Tensor,
        loop_weight: Tensor,
        state: DecodeState,
        embedded: Tensor,
        encoded: Encoded,
        *,
        need_weights: bool,
        beside: bool = False,
    ) -> tuple[Tensor, DecodeState, Tensor | None]:
        """One step of N hypotheses: h~ (N, R), the next state, and weights.

        ``loop_weight`` applies to [h~; h], or to h alone if ``step_input`` includes h~.
        """
        hidden, cell, fed = state.tensors
        hiddens: list[Tensor] = []
        cells: list[Tensor] = []
        for layer in range(self.cell.num_layers):
            before = hidden[:, layer]
            if layer == 0:
                joint = loop_weight.shape[1] > before.shape[1]
                inputs = torch.cat([fed, before], dim=1) if joint else before
                gates = step_input + F.linear(inputs, loop_weight, cell_weights(self.cell, "hh")[1])
            else:
                below = F.dropout(hiddens[-1], self.cell.dropout, self.training)
                gates = F.linear(below, *cell_weights(self.cell, "ih", layer))
                gates = gates + F.linear(before, *cell_weights(self.cell, "hh", layer))
            new_hidden, new_cell = lstm_step(gates, cell[:, layer])
            hiddens.append(new_hidden)
            cells.append(new_cell)
        context, weights, history = self.attend(
            hiddens[-1], embedded, encoded, state.attention, need_weights=need_weights, beside=beside
        )
        read = self._combine(context, hiddens[-1])
        tensors = (torch.stack(hiddens, 1), torch.stack(cells, 1), read if self.input_feeding else fed)
        return read, DecodeState(state.position + 1, tensors, history), weights

    def _combine(self, context: Tensor, hidden: Tensor) -> Tensor:
        return torch.tanh(self.combine(torch.cat([context, hidden], dim=-1)))
