"""Recurrent encoder-decoders: Bahdanau et al. 2015 and Luong et al. 2015.

Only what is truly sequential is in the loops over target places: projections of keys and embeddings come
before them, readout and output after.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from translate.attention import Attention, Memory
from translate.models.dropout import Dropout
from translate.models.embedding import embeddings
from translate.models.seq2seq import DecodeState, Encoded, Seq2Seq, beams, new_output

READOUTS = ("maxout", "linear")


class RNNEncoder(nn.Module):
    """A bidirectional GRU or LSTM over the source.

    Args:
        cell: ``gru`` or ``lstm``.
        input_size: width of the embeddings.
        hidden_size: width of each direction; the states are twice as wide.
        num_layers: depth.
        dropout: between layers.
    """

    def __init__(self, cell: str, input_size: int, hidden_size: int, num_layers: int, dropout: float) -> None:
        super().__init__()
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
        if mask is None:
            states, final = self.rnn(embedded)
        else:
            lengths = mask.sum(1).clamp(min=1).cpu()  # a GPU synchronises here, once a batch
            packed = pack_padded_sequence(embedded, lengths, batch_first=True, enforce_sorted=False)
            packed_states, final = self.rnn(packed)
            states, _ = pad_packed_sequence(packed_states, batch_first=True, total_length=embedded.shape[1])
        hidden = final[0] if isinstance(final, tuple) else final  # (2 L, B, H)
        layers = hidden.unflatten(0, (self.num_layers, 2)).permute(2, 0, 1, 3).flatten(2)  # (B, L, 2H)
        return states, layers


def loop_parameter(rnn: nn.RNNBase, name: str) -> Tensor:
    """A weight or bias of a torch RNN whose loop is written out here, by torch's name for it."""
    parameter: Tensor = getattr(rnn, name)
    return parameter


def initialise_recurrent(rnn: nn.RNNBase) -> None:
    """Orthogonal recurrent matrices gate by gate, Xavier inputs, zero biases with open forget gates."""
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


class _RecurrentSeq2Seq(Seq2Seq):
    """What both recurrent backends share: embeddings, encoder, one cross-attention, forced weights."""

    num_attention_layers = 1

    def __init__(
        self,
        source_vocabulary: int,
        target_vocabulary: int,
        attention: Callable[[int, int], Attention],
        *,
        cell: str,
        embedding_size: int,
        encoder_size: int,
        encoder_layers: int,
        decoder_size: int,
        readout_size: int,
        dropout: float,
        tie: str,
    ) -> None:
        super().__init__()
        self.source_embedding, self.target_embedding = embeddings(
            source_vocabulary, target_vocabulary, embedding_size, tie=tie
        )
        self.encoder = RNNEncoder(cell, embedding_size, encoder_size, encoder_layers, dropout)
        self.attention = attention(decoder_size, self.encoder.output_size)
        self.num_attention_heads = self.attention.num_heads
        self.decoder_size = decoder_size
        self.output_weight = new_output(
            target_vocabulary, readout_size, None if tie == "none" else self.target_embedding
        )
        self.output_bias = nn.Parameter(torch.zeros(target_vocabulary))
        self.dropout = Dropout(dropout)
        # Tied embeddings are small, as an output layer wants them; the recurrence wants unit variance.
        self.embedding_scale = embedding_size**0.5

    def encode(self, source: Tensor, source_mask: Tensor | None) -> Encoded:
        states, final = self.encoder(self.embed(source, self.source_embedding), source_mask)
        return Encoded((self.attention.prepare(self.dropout(states), source_mask),), source_mask, (final,))

    def embed(self, ids: Tensor, embedding: nn.Embedding) -> Tensor:
        return self.dropout(embedding(ids) * self.embedding_scale)

    def attend(
        self, query: Tensor, memory: Memory, state: Any, *, need_weights: bool
    ) -> tuple[Tensor, Tensor | None, Any]:
        """Attend with (B, W, D) or (B, T, D) queries; advance the mechanism's history if it has one."""
        need_weights = need_weights or self.attention.stateful
        context, weights = self.attention(query, memory, need_weights=need_weights, state=state)
        return context, weights, self.attention.advance(state, weights) if weights is not None else state

    def force(
        self, encoded: Encoded, target_in: Tensor, *, need_weights: bool
    ) -> tuple[Tensor, Tensor | None]:
        """Hidden states (B, T, D) of a given target, with weights (B, H, T, S) on request."""
        raise NotImplementedError

    def forward(self, source: Tensor, source_mask: Tensor | None, target_in: Tensor) -> Tensor:
        return self.force(self.encode(source, source_mask), target_in, need_weights=False)[0]

    def forward_with_weights(
        self, source: Tensor, source_mask: Tensor | None, target_in: Tensor, layer: int
    ) -> tuple[Tensor, Tensor]:
        self.check_layers([layer])
        hidden, weights = self.force(self.encode(source, source_mask), target_in, need_weights=True)
        assert weights is not None
        return hidden, weights

    def forced_weights(
        self, source: Tensor, source_mask: Tensor | None, target_in: Tensor, layers: Sequence[int]
    ) -> list[Tensor]:
        self.check_layers(layers)
        weights = self.force(self.encode(source, source_mask), target_in, need_weights=True)[1]
        assert weights is not None
        return [weights.float() for _ in layers]


class BahdanauRNN(_RecurrentSeq2Seq):
    """RNNsearch: a GRU decoder that attends with its previous state before each step.

    c_i = attend(s_{i-1}); s_i = GRU(s_{i-1}, [y_{i-1}; c_i]); Bahdanau et al. 2015, A.2.2. The readout
    reads s_i where the paper reads s_{i-1}, as later implementations do.

    Args:
        source_vocabulary: V of the source.
        target_vocabulary: V of the target.
        attention: builds the mechanism from ``(query_size, key_size)``.
        embedding_size: width of the embeddings, and of the readout.
        encoder_size: width of each direction.
        encoder_layers: depth of the encoder.
        decoder_size: width of the decoder.
        readout: ``maxout`` over pairs (A.2.2) or ``linear``.
        dropout: on embeddings, encoder states and readout.
        tie: ``all`` (one matrix for both embeddings and the output), ``target`` or ``none``.
    """

    def __init__(
        self,
        source_vocabulary: int,
        target_vocabulary: int,
        attention: Callable[[int, int], Attention],
        *,
        embedding_size: int = 256,
        encoder_size: int = 256,
        encoder_layers: int = 1,
        decoder_size: int = 512,
        readout: str = "maxout",
        dropout: float = 0.2,
        tie: str = "target",
    ) -> None:
        super().__init__(
            source_vocabulary,
            target_vocabulary,
            attention,
            cell="gru",
            embedding_size=embedding_size,
            encoder_size=encoder_size,
            encoder_layers=encoder_layers,
            decoder_size=decoder_size,
            readout_size=embedding_size,
            dropout=dropout,
            tie=tie,
        )
        if readout not in READOUTS:
            raise ValueError(f"readout: expected one of {', '.join(READOUTS)}, got {readout!r}")
        context_size = self.attention.context_size
        self.initial = nn.Linear(encoder_size, decoder_size)
        self.cell = nn.GRU(embedding_size + context_size, decoder_size)  # holds the parameters of the loop
        initialise_recurrent(self.cell)
        self.pieces = 2 if readout == "maxout" else 1
        self.readout = nn.Linear(decoder_size + embedding_size + context_size, self.pieces * embedding_size)

    def start(self, encoded: Encoded, num_hypotheses: int = 1) -> DecodeState:
        # The backward direction ends at the first word: s_0 = tanh(W_s h_1), A.2.2.
        backward = encoded.final[0][:, -1].chunk(2, dim=-1)[1]
        hidden = torch.tanh(self.initial(backward)).repeat_interleave(num_hypotheses, 0)  # (N, D)
        history = self.attention.initial_state(encoded.memories[0], num_hypotheses)
        return DecodeState(0, (hidden,), history)

    def step(self, ids: Tensor, state: DecodeState, encoded: Encoded) -> tuple[Tensor, DecodeState]:
        embedded = self.embed(ids, self.target_embedding)
        inputs, from_context = self._input_weights()
        hidden, context, _, history = self._advance(
            F.linear(embedded, inputs, loop_parameter(self.cell, "bias_ih_l0")),
            from_context,
            state.tensors[0],
            encoded,
            state.attention,
            need_weights=False,
        )
        return self._read(hidden, embedded, context), DecodeState(state.position + 1, (hidden,), history)

    def force(
        self, encoded: Encoded, target_in: Tensor, *, need_weights: bool
    ) -> tuple[Tensor, Tensor | None]:
        embedded = self.embed(target_in, self.target_embedding)  # (B, T, E)
        inputs, from_context = self._input_weights()
        projected = F.linear(embedded, inputs, loop_parameter(self.cell, "bias_ih_l0")).unbind(
            1
        )  # T of (B, 3D)
        state = self.start(encoded)
        hidden, history = state.tensors[0], state.attention
        states, contexts, rows = [], [], []
        for step_input in projected:
            hidden, context, weights, history = self._advance(
                step_input, from_context, hidden, encoded, history, need_weights=need_weights
            )
            states.append(hidden)
            contexts.append(context)
            rows.append(weights)
        read = self._read(torch.stack(states, 1), embedded, torch.stack(contexts, 1))
        return read, torch.cat(rows, dim=2) if need_weights else None  # type: ignore[arg-type]

    def _input_weights(self) -> tuple[Tensor, Tensor]:
        """The input matrix of the cell, cut into its embedding and its context part."""
        weight = loop_parameter(self.cell, "weight_ih_l0")
        size = self.target_embedding.embedding_dim
        return weight[:, :size], weight[:, size:]

    def _advance(
        self,
        step_input: Tensor,
        from_context: Tensor,
        hidden: Tensor,
        encoded: Encoded,
        history: Any,
        *,
        need_weights: bool,
    ) -> tuple[Tensor, Tensor, Tensor | None, Any]:
        """One step of N hypotheses: new state (N, D), context (N, C), weights, and history."""
        memory = encoded.memories[0]
        query = beams(hidden, encoded)  # (B, W, D)
        attended, weights, history = self.attend(query, memory, history, need_weights=need_weights)
        context = attended.flatten(0, 1)
        gates = step_input + F.linear(context, from_context)
        hidden = gru_step(
            gates, hidden, loop_parameter(self.cell, "weight_hh_l0"), loop_parameter(self.cell, "bias_hh_l0")
        )
        return hidden, context, weights, history

    def _read(self, hidden: Tensor, embedded: Tensor, context: Tensor) -> Tensor:
        read = self.readout(torch.cat([hidden, embedded, context], dim=-1))
        if self.pieces == 1:
            return self.dropout(torch.tanh(read))
        first, second = read.chunk(2, dim=-1)
        return self.dropout(torch.maximum(first, second))


class LuongRNN(_RecurrentSeq2Seq):
    """An LSTM decoder that attends after each step: Luong et al. 2015, eq. 5 and 3.3.

    h~_t = tanh(W_c [c_t; h_t]); with input feeding the next step reads [y_t; h~_t]. Without it the
    decoder is not sequential beyond the LSTM, and runs in one call over all places.

    Args:
        source_vocabulary: V of the source.
        target_vocabulary: V of the target.
        attention: builds the mechanism from ``(query_size, key_size)``.
        embedding_size: width of the embeddings.
        encoder_size: width of each direction.
        decoder_size: width of the decoder.
        num_layers: depth of encoder and decoder.
        input_feeding: see above.
        dropout: on embeddings, encoder states, between layers and on h~.
        tie: ``all`` or ``target`` (h~ is then as wide as the embeddings) or ``none``.
    """

    def __init__(
        self,
        source_vocabulary: int,
        target_vocabulary: int,
        attention: Callable[[int, int], Attention],
        *,
        embedding_size: int = 256,
        encoder_size: int = 256,
        decoder_size: int = 512,
        num_layers: int = 1,
        input_feeding: bool = True,
        dropout: float = 0.2,
        tie: str = "target",
    ) -> None:
        readout_size = decoder_size if tie == "none" else embedding_size
        super().__init__(
            source_vocabulary,
            target_vocabulary,
            attention,
            cell="lstm",
            embedding_size=embedding_size,
            encoder_size=encoder_size,
            encoder_layers=num_layers,
            decoder_size=decoder_size,
            readout_size=readout_size,
            dropout=dropout,
            tie=tie,
        )
        self.input_feeding = input_feeding
        self.readout_size = readout_size
        fed_size = readout_size if input_feeding else 0
        self.cell = nn.LSTM(
            embedding_size + fed_size,
            decoder_size,
            num_layers,
            batch_first=True,
            dropout=dropout if num_layers > 1 else 0.0,
        )
        initialise_recurrent(self.cell)
        self.bridge = nn.Linear(2 * encoder_size, 2 * decoder_size)  # to the first h and c
        self.combine = nn.Linear(self.attention.context_size + decoder_size, readout_size)

    def start(self, encoded: Encoded, num_hypotheses: int = 1) -> DecodeState:
        bridged = torch.tanh(self.bridge(encoded.final[0])).repeat_interleave(num_hypotheses, 0)
        hidden, cell = bridged.chunk(2, dim=-1)  # (N, L, D) each
        fed = hidden.new_zeros(hidden.shape[0], self.readout_size)
        history = self.attention.initial_state(encoded.memories[0], num_hypotheses)
        return DecodeState(0, (hidden, cell, fed), history)

    def step(self, ids: Tensor, state: DecodeState, encoded: Encoded) -> tuple[Tensor, DecodeState]:
        embedded = self.embed(ids, self.target_embedding)
        projected = F.linear(embedded, self._input_weight(), loop_parameter(self.cell, "bias_ih_l0"))
        read, state, _ = self._advance(projected, self._loop_weight(), state, encoded, need_weights=False)
        return self.dropout(read), state

    def force(
        self, encoded: Encoded, target_in: Tensor, *, need_weights: bool
    ) -> tuple[Tensor, Tensor | None]:
        embedded = self.embed(target_in, self.target_embedding)  # (B, T, E)
        state = self.start(encoded)
        if not self.input_feeding and not self.attention.stateful:
            hidden, cell, _ = state.tensors
            first = hidden.transpose(0, 1).contiguous(), cell.transpose(0, 1).contiguous()
            outputs, _ = self.cell(embedded, first)
            memory = encoded.memories[0]
            context, weights, _ = self.attend(outputs, memory, None, need_weights=need_weights)
            return self.dropout(self._combine(context, outputs)), weights
        projected = F.linear(embedded, self._input_weight(), loop_parameter(self.cell, "bias_ih_l0")).unbind(
            1
        )
        loop_weight = self._loop_weight()
        reads, rows = [], []
        for step_input in projected:
            read, state, weights = self._advance(
                step_input, loop_weight, state, encoded, need_weights=need_weights
            )
            reads.append(read)
            rows.append(weights)
        hidden_states = self.dropout(torch.stack(reads, 1))
        return hidden_states, torch.cat(rows, dim=2) if need_weights else None  # type: ignore[arg-type]

    def _input_weight(self) -> Tensor:
        return loop_parameter(self.cell, "weight_ih_l0")[:, : self.target_embedding.embedding_dim]

    def _loop_weight(self) -> Tensor:
        """What the first layer applies to [h~; h] (or h alone), as one matrix."""
        fed = loop_parameter(self.cell, "weight_ih_l0")[:, self.target_embedding.embedding_dim :]
        return torch.cat([fed, loop_parameter(self.cell, "weight_hh_l0")], dim=1)

    def _advance(
        self,
        step_input: Tensor,
        loop_weight: Tensor,
        state: DecodeState,
        encoded: Encoded,
        *,
        need_weights: bool,
    ) -> tuple[Tensor, DecodeState, Tensor | None]:
        """One step of N hypotheses: h~ (N, R), the next state, and weights."""
        hidden, cell, fed = state.tensors
        hiddens: list[Tensor] = []
        cells: list[Tensor] = []
        for layer in range(self.cell.num_layers):
            before = hidden[:, layer]
            if layer == 0:
                inputs = torch.cat([fed, before], dim=1) if self.input_feeding else before
                gates = step_input + F.linear(inputs, loop_weight, loop_parameter(self.cell, "bias_hh_l0"))
            else:
                below = F.dropout(hiddens[-1], self.cell.dropout, self.training)
                gates = F.linear(below, *self._weights("ih", layer)) + F.linear(
                    before, *self._weights("hh", layer)
                )
            new_hidden, new_cell = lstm_step(gates, cell[:, layer])
            hiddens.append(new_hidden)
            cells.append(new_cell)
        query = beams(hiddens[-1], encoded)
        context, weights, history = self.attend(
            query, encoded.memories[0], state.attention, need_weights=need_weights
        )
        read = self._combine(context.flatten(0, 1), hiddens[-1])
        tensors = (torch.stack(hiddens, 1), torch.stack(cells, 1), read if self.input_feeding else fed)
        return read, DecodeState(state.position + 1, tensors, history), weights

    def _weights(self, kind: str, layer: int) -> tuple[Tensor, Tensor]:
        return getattr(self.cell, f"weight_{kind}_l{layer}"), getattr(self.cell, f"bias_{kind}_l{layer}")

    def _combine(self, context: Tensor, hidden: Tensor) -> Tensor:
        return torch.tanh(self.combine(torch.cat([context, hidden], dim=-1)))


def gru_step(gates: Tensor, hidden: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """One GRU step from the input's part of the gates (N, 3D): Cho et al. 2014, in torch's order r, z, n."""
    reset_in, update_in, new_in = gates.chunk(3, dim=-1)
    reset_h, update_h, new_h = F.linear(hidden, weight, bias).chunk(3, dim=-1)
    reset = torch.sigmoid(reset_in + reset_h)
    update = torch.sigmoid(update_in + update_h)
    new = torch.tanh(new_in + reset * new_h)
    return torch.lerp(new, hidden, update)


def lstm_step(gates: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
    """One LSTM step from all gates (N, 4D), in torch's order i, f, g, o: new hidden and cell (N, D)."""
    enter, forget, candidate, leave = gates.chunk(4, dim=-1)
    cell = torch.sigmoid(forget) * cell + torch.sigmoid(enter) * torch.tanh(candidate)
    return torch.sigmoid(leave) * torch.tanh(cell), cell
