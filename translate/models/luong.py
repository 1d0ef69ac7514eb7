"""The RNN that attends after each step: Luong et al. 2015.

The loops over target positions hold only what is sequential: projections of keys come before them, readout
and output after.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from translate.attention import Attention
from translate.attention.kernels import recurrent
from translate.config.files import YAML, from_file
from translate.config.option_groups import NumLayers, Width, flat_options, option_group
from translate.models.encoders import Encoder, EncoderSizes, RNNEncoder, initialise_recurrent
from translate.models.rnn import (
    OPTIONS,
    RecurrentOptions,
    RecurrentSeq2Seq,
    RecurrentSizes,
    cell_weights,
    gru_step,
    lstm_step,
)
from translate.models.seq2seq import DecodeState, Encoded

CELLS: dict[str, type[nn.LSTM] | type[nn.GRU]] = {"lstm": nn.LSTM, "gru": nn.GRU}


@option_group
@dataclass(frozen=True)
@from_file("model/rnn_luong.yaml")
class LuongSizes(RecurrentSizes):
    """The widths of this backend, whose source states are as wide as its queries by default."""

    encoder_size: Width = YAML


class LuongRNN(RecurrentSeq2Seq):
    """A recurrent decoder that attends after each step: Luong et al. 2015, eq. 5 and 3.3.

    h~_t = tanh(W_c [c_t; h_t]); with input feeding the next step reads [y_t; h~_t]. Without it the
    decoder is sequential in its cell alone, and runs in one call over all positions.

    Args:
        source_vocabulary: V of the source.
        target_vocabulary: V of the target.
        attention: builds the mechanism from ``(query_size, key_size)``.
        sizes: see :class:`RecurrentSizes`; h~ is as wide as the embeddings, or with ``tie`` none as the
            decoder.
        options: see :class:`RecurrentOptions`; dropout is on embeddings, encoder states, between layers
            and on h~.
        cell: of encoder and decoder: ``lstm`` as in the paper, or ``gru`` (Cho et al. 2014), which has a
            quarter less to compute.
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
        sizes: LuongSizes = LuongSizes(),
        options: RecurrentOptions = OPTIONS,
        cell: Literal["lstm", "gru"] = YAML,
        num_layers: NumLayers = YAML,
        input_feeding: bool = YAML,
        encoder: Callable[..., Encoder] | None = None,
    ) -> None:
        embedding_size, decoder_size = sizes.embedding_size, sizes.decoder_size
        readout_size = decoder_size if options.tie == "none" else embedding_size
        widths = EncoderSizes(embedding_size, sizes.encoder_size, num_layers, options.dropout, cell)
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
        self.kind = cell
        self.cell = CELLS[cell](
            embedding_size + fed_size,
            decoder_size,
            num_layers,
            batch_first=True,
            dropout=options.dropout if num_layers > 1 else 0.0,
        )
        initialise_recurrent(self.cell)
        num_states = 2 if cell == "lstm" else 1  # h and c, or h
        self.bridge = nn.Linear(2 * sizes.encoder_size, num_states * decoder_size)  # to the first states
        self.combine = nn.Linear(self.attention.context_size + decoder_size, readout_size)

    def start(self, encoded: Encoded, *, in_place: bool = False) -> DecodeState:
        bridged = torch.tanh(self.bridge(encoded.final[0]))
        states = bridged.split(self.decoder_size, dim=-1)  # (B, L, D) each: h and c of an LSTM, h of a GRU
        fed = bridged.new_zeros(bridged.shape[0], self.readout_size)
        history = self.attention.initial_state(encoded.memories[0])
        return DecodeState(0, (*states, fed), history)

    def advance(
        self, ids: Tensor, state: DecodeState, encoded: Encoded, shown: int | None = None
    ) -> tuple[Tensor, DecodeState, Tensor | None]:
        embedded = self.embed(ids, self.target_embedding)
        read, state, weights = self._advance(
            embedded, state, encoded, need_weights=False, beside=shown is not None
        )
        return self.dropout(read), state, weights

    def force(
        self, encoded: Encoded, target_in: Tensor, shown: int | None = None
    ) -> tuple[Tensor, Tensor | None]:
        need_weights = shown is not None
        embedded = self.embed(target_in, self.target_embedding)  # (B, T, E)
        state = self.start(encoded)
        if not self.input_feeding and not self.attention.stateful:
            first = tuple(layers.transpose(0, 1).contiguous() for layers in state.tensors[:-1])
            outputs, _ = self.cell(embedded, first if self.kind == "lstm" else first[0])
            query = torch.cat([embedded, outputs], dim=-1) if self.word_in_query else outputs
            context, weights = self.attention(query, encoded.memories[0], need_weights=need_weights)
            return self.dropout(self._combine(context, outputs)), weights
        plain = self.attention.plain_score == "dot" and self.cell.num_layers == 1 and not self.word_in_query
        if self.input_feeding and plain and recurrent.runs(self.attention.kernel):
            return self._run_loop(embedded, state, encoded, need_weights=need_weights)
        reads, rows = [], []
        for last in embedded.unbind(1):
            read, state, weights = self._advance(last, state, encoded, need_weights=need_weights)
            reads.append(read)
            rows.append(weights)
        hidden_states = self.dropout(torch.stack(reads, 1))
        return hidden_states, torch.cat(rows, dim=2) if need_weights else None  # type: ignore[arg-type]

    def _run_loop(
        self, embedded: Tensor, state: DecodeState, encoded: Encoded, *, need_weights: bool
    ) -> tuple[Tensor, Tensor | None]:
        """The loop of :meth:`force` with its written gradient."""
        hidden, *cell, _ = (layers.squeeze(1) for layers in state.tensors)
        memory = encoded.memories[0]
        of_context, of_hidden = self.combine.weight.split((memory.values.shape[-1], self.decoder_size), 1)
        # The values are projected before the attention mixes them: once a source, outside of the loop.
        values = F.linear(memory.values.squeeze(1), of_context)
        reads, weights = recurrent.step_then_attend(
            self.cell,
            embedded,
            recurrent.Start(hidden, cell[0] if cell else hidden.new_empty(len(hidden), 0)),
            recurrent.Source(memory.keys.squeeze(1), values, memory.mask),
            of_hidden,
            self.combine.bias,
        )
        return self.dropout(reads), weights.unsqueeze(1) if need_weights else None

    def _advance(
        self,
        embedded: Tensor,
        state: DecodeState,
        encoded: Encoded,
        *,
        need_weights: bool,
        beside: bool = False,
    ) -> tuple[Tensor, DecodeState, Tensor | None]:
        """One step of N hypotheses: h~ (N, R), the next state, and weights."""
        hidden, *cells, fed = state.tensors
        below = torch.cat([embedded, fed], dim=1) if self.input_feeding else embedded
        steps: list[tuple[Tensor, ...]] = []  # of each layer: h and c of an LSTM, h of a GRU
        for layer in range(self.cell.num_layers):
            if layer > 0:
                below = F.dropout(steps[-1][0], self.cell.dropout, self.training)
            gates, before = F.linear(below, *cell_weights(self.cell, "ih", layer)), hidden[:, layer]
            own = cell_weights(self.cell, "hh", layer)
            if self.kind == "gru":
                steps.append((gru_step(gates, before, *own),))
            else:
                steps.append(lstm_step(gates + F.linear(before, *own), cells[0][:, layer]))
        last = steps[-1][0]
        context, weights, history = self.attend(
            last, embedded, encoded, state.attention, need_weights=need_weights, beside=beside
        )
        read = self._combine(context, last)
        states = (torch.stack(layers, 1) for layers in zip(*steps, strict=True))
        tensors = (*states, read if self.input_feeding else fed)
        return read, DecodeState(state.position + 1, tensors, history), weights

    def _combine(self, context: Tensor, hidden: Tensor) -> Tensor:
        return torch.tanh(self.combine(torch.cat([context, hidden], dim=-1)))
