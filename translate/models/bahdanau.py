"""The RNN that attends before each step: Bahdanau et al. 2015.

The loops over target positions hold only what is sequential: projections of keys come before them, readout
and output after.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Literal, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from translate.attention import Attention
from translate.attention.kernels import recurrent
from translate.config.files import YAML, from_file
from translate.config.option_groups import NumLayers, flat_options
from translate.models.encoders import Encoder, EncoderSizes, RNNEncoder, initialise_recurrent
from translate.models.rnn import (
    OPTIONS,
    SIZES,
    RecurrentOptions,
    RecurrentSeq2Seq,
    RecurrentSizes,
    cell_weights,
    gru_step,
)
from translate.models.seq2seq import DecodeState, Encoded


class BahdanauRNN(RecurrentSeq2Seq):
    """RNNsearch: a GRU decoder that attends with its previous state before each step.

    c_i = attend(s_{i-1}); s_i = GRU(s_{i-1}, [y_{i-1}; c_i]); Bahdanau et al. 2015, A.2.2. The readout
    reads s_i where the paper reads s_{i-1}, as later implementations do.

    Args:
        source_vocabulary: V of the source.
        target_vocabulary: V of the target.
        attention: builds the mechanism from ``(query_size, key_size)``.
        sizes: see :class:`RecurrentSizes`; the readout is as wide as the embeddings.
        options: see :class:`RecurrentOptions`; dropout is on embeddings, encoder states and readout.
        encoder_layers: depth of the encoder.
        readout: ``maxout`` over pairs (A.2.2) or ``linear``.
        word_in_query: attend with [y_{i-1}; s_{i-1}]. The paper's s_{i-1} has not read the last word, so that
            its attention does not know how far the translation is; Sennrich et al. 2017, 2.1 (Nematus), give
            it the word by one more GRU.
        encoder: builds the encoder, see ``encoders.py``; a recurrence if ``None``.
    """

    @flat_options
    @from_file("model/rnn_bahdanau.yaml")
    def __init__(
        self,
        source_vocabulary: int,
        target_vocabulary: int,
        attention: Callable[[int, int], Attention],
        *,
        sizes: RecurrentSizes = SIZES,
        options: RecurrentOptions = OPTIONS,
        encoder_layers: NumLayers = YAML,
        readout: Literal["maxout", "linear"] = YAML,
        word_in_query: bool = YAML,
        encoder: Callable[..., Encoder] | None = None,
    ) -> None:
        embedding_size, decoder_size = sizes.embedding_size, sizes.decoder_size
        widths = EncoderSizes(embedding_size, sizes.encoder_size, encoder_layers, options.dropout, "gru")
        super().__init__(
            source_vocabulary,
            target_vocabulary,
            attention,
            build_encoder=partial(encoder or RNNEncoder, widths),
            sizes=sizes,
            options=options,
            readout_size=embedding_size,
            word_in_query=word_in_query,
        )
        context_size = self.attention.context_size
        self.initial = nn.Linear(sizes.encoder_size, decoder_size)
        self.cell = nn.GRU(embedding_size + context_size, decoder_size)  # holds the parameters of the loop
        initialise_recurrent(self.cell)
        self.pieces = 2 if readout == "maxout" else 1
        self.readout = nn.Linear(decoder_size + embedding_size + context_size, self.pieces * embedding_size)

    def start(self, encoded: Encoded, *, in_place: bool = False) -> DecodeState:
        # The backward direction ends at the first word: s_0 = tanh(W_s h_1), A.2.2.
        backward = encoded.final[0][:, -1].chunk(2, dim=-1)[1]
        hidden = torch.tanh(self.initial(backward))  # (B, D)
        history = self.attention.initial_state(encoded.memories[0])
        return DecodeState(0, (hidden,), history)

    def advance(
        self, ids: Tensor, state: DecodeState, encoded: Encoded, shown: int | None = None
    ) -> tuple[Tensor, DecodeState, Tensor | None]:
        embedded, before = self.embed(ids, self.target_embedding), state.tensors[0]
        hidden, context, weights, history = self._advance(
            embedded, before, encoded, state.attention, need_weights=False, beside=shown is not None
        )
        state = DecodeState(state.position + 1, (hidden,), history)
        return self._read(hidden, embedded, context), state, weights

    def force(
        self, encoded: Encoded, target_in: Tensor, shown: int | None = None
    ) -> tuple[Tensor, Tensor | None]:
        need_weights = shown is not None
        embedded = self.embed(target_in, self.target_embedding)
        state = self.start(encoded)
        if self.attention.plain_score == "additive" and recurrent.runs(self.attention.kernel):
            return self._run_loop(embedded, state, encoded, need_weights=need_weights)
        hidden, history = state.tensors[0], state.attention
        states, contexts, rows = [], [], []
        for last in embedded.unbind(1):
            hidden, context, weights, history = self._advance(
                last, hidden, encoded, history, need_weights=need_weights
            )
            states.append(hidden)
            contexts.append(context)
            rows.append(weights)
        weights = torch.cat(rows, dim=2) if need_weights else None  # type: ignore[arg-type]
        return self._read(torch.stack(states, 1), embedded, torch.stack(contexts, 1)), weights

    def _run_loop(
        self, embedded: Tensor, state: DecodeState, encoded: Encoded, *, need_weights: bool
    ) -> tuple[Tensor, Tensor | None]:
        """The loop of :meth:`force` with its written gradient."""
        layer, memory = cast(nn.Linear, self.attention.query_projection), encoded.memories[0]
        weight, bias = layer.weight, layer.bias
        size = embedded.shape[2] if self.word_in_query else 0
        bias = weight.new_zeros(len(weight)) if bias is None else bias
        shape = *embedded.shape[:2], len(bias)
        queries = F.linear(embedded, weight[:, :size], bias) if self.word_in_query else bias.expand(shape)
        hidden = state.tensors[0]
        states, contexts, weights = recurrent.attend_then_step(
            self.cell,
            embedded,
            queries,
            recurrent.Start(hidden, hidden.new_empty(len(hidden), 0)),
            recurrent.Source(memory.keys.squeeze(1), memory.values.squeeze(1), memory.mask),
            weight[:, size:],
            cast(Tensor, self.attention.direction),
        )
        return self._read(states, embedded, contexts), weights.unsqueeze(1) if need_weights else None

    def _advance(
        self,
        embedded: Tensor,
        hidden: Tensor,
        encoded: Encoded,
        history: Any,
        *,
        need_weights: bool,
        beside: bool = False,
    ) -> tuple[Tensor, Tensor, Tensor | None, Any]:
        """One step of N hypotheses: new state (N, D), context (N, C), weights, and history."""
        context, weights, history = self.attend(
            hidden, embedded, encoded, history, need_weights=need_weights, beside=beside
        )
        weight, bias = cell_weights(self.cell, "ih")
        size = embedded.shape[-1]
        gates = F.linear(embedded, weight[:, :size], bias) + F.linear(context, weight[:, size:])
        hidden = gru_step(gates, hidden, *cell_weights(self.cell, "hh"))
        return hidden, context, weights, history

    def _read(self, hidden: Tensor, embedded: Tensor, context: Tensor) -> Tensor:
        read = self.readout(torch.cat([hidden, embedded, context], dim=-1))
        if self.pieces == 1:
            return self.dropout(torch.tanh(read))
        first, second = read.chunk(2, dim=-1)
        return self.dropout(torch.maximum(first, second))
