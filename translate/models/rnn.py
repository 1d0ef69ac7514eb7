"""What the recurrent backends share: embeddings, encoder, cross-attention, forcing, the cells' steps."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from translate.attention import Attention
from translate.models.dropout import Dropout
from translate.models.embedding import embeddings
from translate.models.encoders import Encoder, RNNEncoder
from translate.models.seq2seq import DecodeState, Encoded, Seq2Seq, attend_beside, beams, new_output


class RecurrentSeq2Seq(Seq2Seq):
    """A recurrent decoder with one cross-attention; a backend gives ``start``, ``advance`` and ``force``."""

    num_attention_layers = 1

    def __init__(
        self,
        source_vocabulary: int,
        target_vocabulary: int,
        attention: Callable[[int, int], Attention],
        *,
        encoder: Callable[..., Encoder] | None,
        cell: str,
        embedding_size: int,
        encoder_size: int,
        encoder_layers: int,
        decoder_size: int,
        readout_size: int,
        dropout: float,
        tie: str,
        teacher_forcing: float,
        word_in_query: bool = False,
    ) -> None:
        super().__init__()
        if not 0.0 <= teacher_forcing <= 1.0:
            raise ValueError(f"teacher_forcing: expected a probability, got {teacher_forcing}")
        self.teacher_forcing = teacher_forcing
        self.source_embedding, self.target_embedding = embeddings(
            source_vocabulary, target_vocabulary, embedding_size, tie=tie
        )
        build = encoder or RNNEncoder
        self.encoder = build(embedding_size, encoder_size, encoder_layers, dropout, cell)
        state_size = self.encoder.output_size
        self.attention = attention(decoder_size, state_size)
        self.word_in_query = word_in_query or self.attention.reads_embedding
        if self.word_in_query:
            self.attention = attention(embedding_size + decoder_size, state_size)
        self.num_attention_heads = self.attention.num_heads
        self.decoder_size = decoder_size
        self.output_weight = new_output(
            target_vocabulary, readout_size, None if tie == "none" else self.target_embedding
        )
        self.output_bias = nn.Parameter(torch.zeros(target_vocabulary))
        self.dropout = Dropout(dropout)
        # Tied embeddings are small, as an output layer wants them; the recurrence wants unit variance.
        self.embedding_scale = embedding_size**0.5

    def embed_source(self, source: Tensor) -> Tensor:
        return self.embed(source, self.source_embedding)

    def encode_embedded(self, embedded: Tensor, source_mask: Tensor | None) -> Encoded:
        states, final = self.encoder(embedded, source_mask)
        return Encoded((self.attention.prepare(self.dropout(states), source_mask),), source_mask, (final,))

    def embed(self, ids: Tensor, embedding: nn.Embedding) -> Tensor:
        return self.dropout(embedding(ids) * self.embedding_scale)

    def attend(
        self,
        hidden: Tensor,
        embedded: Tensor,
        encoded: Encoded,
        state: Any,
        *,
        need_weights: bool,
        beside: bool = False,
    ) -> tuple[Tensor, Tensor | None, Any]:
        """One step of N hypotheses, from states (N, D) and embeddings of last tokens (N, E).

        ``beside``: as :func:`attend_beside`.

        Returns the context (N, C), weights (B, H, W, S) or ``None``, and the mechanism's next state.
        """
        query = torch.cat([embedded, hidden], dim=-1) if self.word_in_query else hidden
        query, memory, mechanism = beams(query, encoded), encoded.memories[0], self.attention
        if beside:
            context, weights = attend_beside(mechanism, query, memory, state)
        else:
            explicit = need_weights or mechanism.stateful
            context, weights = mechanism(query, memory, need_weights=explicit, state=state)
        return context.flatten(0, 1), weights, self.attention.advance(state, weights)

    def step(self, ids: Tensor, state: DecodeState, encoded: Encoded) -> tuple[Tensor, DecodeState]:
        return self.advance(ids, state, encoded, need_weights=False)[:2]

    def step_with_weights(
        self, ids: Tensor, state: DecodeState, encoded: Encoded, layer: int
    ) -> tuple[Tensor, DecodeState, Tensor]:
        self.check_layers([layer])
        hidden, state, weights = self.advance(ids, state, encoded, need_weights=True)
        assert weights is not None
        return hidden, state, weights

    def advance(
        self, ids: Tensor, state: DecodeState, encoded: Encoded, *, need_weights: bool
    ) -> tuple[Tensor, DecodeState, Tensor | None]:
        """One :meth:`step`, with weights (B, H, W, S) on request."""
        raise NotImplementedError

    def force(
        self, encoded: Encoded, target_in: Tensor, *, need_weights: bool
    ) -> tuple[Tensor, Tensor | None]:
        """Hidden states (B, T, D) of a given target, with weights (B, H, T, S) on request."""
        raise NotImplementedError

    def force_weights(self, encoded: Encoded, target_in: Tensor) -> Tensor:
        """The weights (B, H, T, S) of :meth:`force` alone."""
        weights = self.force(encoded, target_in, need_weights=True)[1]
        assert weights is not None
        return weights

    def forward(self, source: Tensor, source_mask: Tensor | None, target_in: Tensor) -> Tensor:
        if self.training and self.teacher_forcing < 1.0:
            return self._follow(self.encode(source, source_mask), target_in)
        return super().forward(source, source_mask, target_in)

    def read_target(self, encoded: Encoded, target_in: Tensor) -> Tensor:
        return self.force(encoded, target_in, need_weights=False)[0]

    def source_attention(self, layer: int) -> Attention:
        self.check_layers([layer])
        return self.attention

    def _follow(self, encoded: Encoded, target_in: Tensor) -> Tensor:
        """As :meth:`force`, but each next token is the known one with probability ``teacher_forcing``.

        Else it is the model's own: Bengio et al. 2015, 2.4, at a constant rate.
        """
        state, ids, hidden_states = self.start(encoded), target_in[:, 0], []
        for known in [*target_in[:, 1:].unbind(1), None]:
            hidden, state = self.step(ids, state, encoded)
            hidden_states.append(hidden)
            if known is not None:
                own = self.logits(hidden.detach()).argmax(-1)
                is_known = torch.rand(known.shape, device=known.device) < self.teacher_forcing
                ids = torch.where(is_known, known, own)
        return torch.stack(hidden_states, 1)

    def forward_with_weights(
        self, source: Tensor, source_mask: Tensor | None, target_in: Tensor, layer: int
    ) -> tuple[Tensor, Tensor]:
        self.check_layers([layer])
        hidden, weights = self.force(self.encode(source, source_mask), target_in, need_weights=True)
        assert weights is not None
        return hidden, weights

    def read_weights(self, encoded: Encoded, target_in: Tensor, layers: Sequence[int]) -> list[Tensor]:
        self.check_layers(layers)
        weights = self.force_weights(encoded, target_in).float()
        return [weights for _ in layers]


def cell_weights(cell: nn.RNNBase, kind: str, layer: int = 0) -> tuple[Tensor, Tensor]:
    """Weight and bias that a layer applies to its input (``kind`` ih) or to its own state (hh)."""
    return cell.get_parameter(f"weight_{kind}_l{layer}"), cell.get_parameter(f"bias_{kind}_l{layer}")


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
