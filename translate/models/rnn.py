"""The base of the recurrent backends: embeddings, encoder, cross-attention, teacher forcing, cell steps."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from translate.attention import Attention
from translate.attention.dot_product import SizeMismatchError
from translate.attention.kernels.dropout import Dropout
from translate.attention.memory import WHOLE, SourceParts
from translate.config.files import YAML, from_file
from translate.config.option_groups import Width, option_group
from translate.models.embedding import Tie, embeddings
from translate.models.encoders import Encoder
from translate.models.seq2seq import Encoded, Seq2Seq, attend_beside, beams, new_output
from translate.models.sizes import Widths, check_kind, mismatch


@option_group
@dataclass(frozen=True)
@from_file("model/rnn_bahdanau.yaml")
class RecurrentSizes:
    """The widths of a recurrent backend.

    Attributes:
        embedding_size: width of the embeddings.
        encoder_size: width of one direction of the encoder; source states are twice as wide.
        decoder_size: width of the decoder's state.
    """

    embedding_size: Width = YAML
    encoder_size: Width = YAML
    decoder_size: Width = YAML


@option_group
@dataclass(frozen=True)
@from_file("model/rnn_bahdanau.yaml")
class RecurrentOptions:
    """The options of training a recurrent backend.

    Attributes:
        dropout: probability; see the backend for where.
        tie: ``all`` (one matrix for both embeddings and the output), ``target`` or ``none``.
        teacher_forcing: probability, in training, that the decoder reads the reference token next and not the
            token that the model predicts.
    """

    dropout: float = YAML
    tie: Tie = YAML
    teacher_forcing: float = YAML


SIZES, OPTIONS = RecurrentSizes(), RecurrentOptions()


class RecurrentSeq2Seq(Seq2Seq):
    """A recurrent decoder with one cross-attention; a backend defines ``start``, ``advance`` and ``force``.

    Args:
        source_vocabulary: V of the source.
        target_vocabulary: V of the target.
        attention: builds the mechanism from ``(query_size, key_size)``.
        build_encoder: builds the encoder.
        sizes: see :class:`RecurrentSizes`.
        options: see :class:`RecurrentOptions`.
        readout_size: width of the hidden states that the output layer reads.
        word_in_query: attend with [embedding of the last token; state].

    Raises:
        UserError: if the mechanism needs queries as wide as the source states, and they are not.
    """

    num_attention_layers = 1

    def __init__(
        self,
        source_vocabulary: int,
        target_vocabulary: int,
        attention: Callable[[int, int], Attention],
        *,
        build_encoder: Callable[[], Encoder],
        sizes: RecurrentSizes,
        options: RecurrentOptions,
        readout_size: int,
        word_in_query: bool = False,
    ) -> None:
        super().__init__()
        if not 0.0 <= options.teacher_forcing <= 1.0:
            raise ValueError(f"teacher_forcing: expected a probability, got {options.teacher_forcing}")
        self.teacher_forcing = options.teacher_forcing
        self.source_embedding, self.target_embedding = embeddings(
            source_vocabulary, target_vocabulary, sizes.embedding_size, tie=options.tie
        )
        self.encoder = check_kind(build_encoder(), Encoder, "model.encoder")
        self.reads_pictures = self.encoder.reads_pictures
        self.attention, self.widths = build_attention(
            attention, sizes, self.encoder.output_size, word_in_query=word_in_query
        )
        self.word_in_query = word_in_query or self.attention.reads_embedding
        self.num_attention_heads = self.attention.num_heads
        self.decoder_size = sizes.decoder_size
        self.output_weight = new_output(
            target_vocabulary, readout_size, None if options.tie == "none" else self.target_embedding
        )
        self.output_bias = nn.Parameter(torch.zeros(target_vocabulary))
        self.dropout = Dropout(options.dropout)
        # Tied embeddings are small, as an output layer wants them; the recurrence wants unit variance.
        self.embedding_scale = sizes.embedding_size**0.5

    def embed_source(self, source: Tensor) -> Tensor:
        return self.dropout(self.encoder.embed(source, self._embed_pieces))

    def _embed_pieces(self, ids: Tensor) -> Tensor:
        return self.source_embedding(ids) * self.embedding_scale

    def encode_embedded(
        self, embedded: Tensor, source_mask: Tensor | None, parts: SourceParts = WHOLE
    ) -> Encoded:
        states, final = self.encoder(embedded, source_mask)
        memory = self.attention.prepare_parts(self.dropout(states), source_mask, parts)
        return Encoded((memory,), source_mask, (final,))

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

    def forward(self, source: Tensor, source_mask: Tensor | None, target_in: Tensor) -> Tensor:
        if self.training and self.teacher_forcing < 1.0:
            return self._follow(self.encode(source, source_mask), target_in)
        return super().forward(source, source_mask, target_in)

    def source_attention(self, layer: int) -> Attention:
        return self.attention

    def _follow(self, encoded: Encoded, target_in: Tensor) -> Tensor:
        """Read the reference as the next token with probability ``teacher_forcing`` alone: (B, T, D).

        Otherwise it is the token that the model predicts: Bengio et al. 2015, 2.4, at a constant rate.
        """
        state, ids, hidden_states = self.start(encoded), target_in[:, 0], []
        for reference in [*target_in[:, 1:].unbind(1), None]:
            hidden, state = self.step(ids, state, encoded)
            hidden_states.append(hidden)
            if reference is not None:
                predicted = self.logits(hidden.detach()).argmax(-1)
                forced = torch.rand(reference.shape, device=reference.device) < self.teacher_forcing
                ids = torch.where(forced, reference, predicted)
        return torch.stack(hidden_states, 1)

    def read_weights(self, encoded: Encoded, target_in: Tensor, layers: Sequence[int]) -> list[Tensor]:
        weights = self.force(encoded, target_in, 0)[1]
        assert weights is not None
        return [weights.float() for _ in layers]


def build_attention(
    build: Callable[[int, int], Attention], sizes: RecurrentSizes, state_size: int, *, word_in_query: bool
) -> tuple[Attention, Widths]:
    """The cross-attention to source states; a query starts with the last token's embedding on request.

    Raises:
        UserError: if the mechanism needs queries as wide as the source states, and they are not.
    """
    decoder, states = "model.decoder_size", "2 x model.encoder_size"
    widths = Widths(decoder, states, decoder)
    try:
        attention = check_kind(build(sizes.decoder_size, state_size), Attention, "model.attention")
        if not (word_in_query or attention.reads_embedding):
            return attention, widths
    except SizeMismatchError as error:
        if not word_in_query:
            raise mismatch(error.mechanism, error.query_size, error.key_size, widths) from error
    alone = f"model.word_in_query=false {decoder}" if word_in_query else None
    widths = Widths(f"model.embedding_size + {decoder}", states, alone)
    try:
        return build(sizes.embedding_size + sizes.decoder_size, state_size), widths
    except SizeMismatchError as error:
        raise mismatch(error.mechanism, error.query_size, error.key_size, widths) from error


def cell_weights(cell: nn.RNNBase, kind: str, layer: int = 0) -> tuple[Tensor, Tensor]:
    """The weight and bias that a layer applies to its input (``kind`` ih) or to its own state (hh)."""
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
