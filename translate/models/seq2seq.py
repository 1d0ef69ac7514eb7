"""The contract of every backend: encode once, then step, or read a whole target by teacher forcing.

Shapes: B batch, S source, T target, D width, H heads, V vocabulary, N = B W hypotheses, W of a sentence.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from translate.attention import Attention, Memory, PathCache
from translate.attention.kernels.linear import replace_linear
from translate.attention.memory import WHOLE, SourceParts, each_tensor, put_rows, select_rows
from translate.corpora.images.patches import PATCH
from translate.models.sizes import Widths
from translate.text.tokenizer import BOS


@dataclass(frozen=True)
class Encoded:
    """The source, encoded once and shared by all hypotheses of a sentence."""

    memories: tuple[Memory, ...]  # one of every cross-attention layer
    mask: Tensor | None  # (B, S) bool, True = visible
    final: tuple[Tensor, ...] = ()  # summaries that start the decoder, (B, ...)

    @property
    def batch_size(self) -> int:
        return self.memories[0].keys.shape[0]

    def select(self, sentences: Tensor) -> "Encoded":
        """The sentences at the given rows of the batch."""
        return select_rows(self, sentences)

    def narrow(self, length: int) -> "Encoded":
        """The same without padding after the first ``length`` source positions, where that is possible."""
        memories = tuple(memory.narrow(length) for memory in self.memories)
        if any(memory.keys.shape[2] > length for memory in memories):
            return self
        mask = None if self.mask is None else self.mask[:, :length]
        return each_tensor(replace(self, memories=memories, mask=mask), Tensor.contiguous)

    def put(self, sentences: Tensor, other: "Encoded", count: int) -> "Encoded":
        """Replace the given sentences by those of ``other``; writes in place where it can.

        Args:
            sentences: (K,) rows, below ``count``.
            other: K sentences.
            count: sentences of the result.
        """
        lengths = {encoded.memories[0].keys.shape[2] for encoded in (self, other)}
        if len(lengths) == 1 and self.mask is other.mask is None and count == self.batch_size:
            return put_rows(self, sentences, other, count)
        return put_rows(self._masked(), sentences, other._masked(), count)

    def _masked(self) -> "Encoded":
        """The same with a mask, even if it hides nothing."""
        if self.mask is not None:
            return self
        keys = self.memories[0].keys
        mask = torch.ones(len(keys), keys.shape[2], dtype=torch.bool, device=keys.device)
        memories = tuple(replace(memory, mask=mask) for memory in self.memories)
        return replace(self, memories=memories, mask=mask)


@dataclass(frozen=True)
class DecodeState:
    """The state of a decoder with N hypotheses, carried from step to step.

    Steps write into a :class:`PathCache` that it holds, so that only the newest state is valid.
    """

    position: int | Tensor  # target tokens read so far: by all hypotheses, or by each (N,)
    tensors: tuple[Any, ...]  # tensors (N, ...), or a PathCache
    attention: Any = None  # states of mechanisms with a history: tensors (N, ...) in tuples or dataclasses

    def select(self, hypotheses: Tensor) -> "DecodeState":
        """The state of the hypotheses at the given rows, in that order, if all of it is tensors."""
        return select_rows(self, hypotheses)

    def reorder(self, hypotheses: Tensor) -> "DecodeState":
        """:meth:`select` for N hypotheses that stay within their sentences."""
        for cache in self._caches():
            cache.reorder(hypotheses)
        return self.select(hypotheses)

    def keep(self, sentences: Tensor, hypotheses: Tensor) -> "DecodeState":
        """The state of the sentences at the given rows, whose hypotheses are at ``hypotheses``."""
        for cache in self._caches():
            cache.keep(sentences, hypotheses)
        return self.select(hypotheses)

    def takes(self, other: "DecodeState") -> bool:
        """Whether :meth:`put` is possible: of tensors that grow with the target only paths can be put."""
        return all(
            isinstance(own, PathCache) or own.shape[1:] == more.shape[1:]
            for own, more in zip(self.tensors, other.tensors, strict=True)
        )

    def put(
        self, sentences: Tensor, other: "DecodeState", chosen: Tensor, count: int, width: int
    ) -> "DecodeState":
        """Replace the given sentences by the ``chosen`` ones of ``other``, which have read fewer tokens.

        Args:
            sentences: (K,) rows, below ``count``.
            other: of sentences with as many hypotheses.
            chosen: (K,) sentences of ``other``.
            count: sentences of the result.
            width: W.
        """
        rows, chosen_rows = (rows_of(which, width) for which in (sentences, chosen))
        tensors = []
        for own, more in zip(self.tensors, other.tensors, strict=True):
            if isinstance(own, PathCache):
                own.put(sentences, more, chosen, count)
                tensors.append(own)
            else:
                tensors.append(put_rows(own, rows, more.index_select(0, chosen_rows), count * width))
        attention = put_rows(self.attention, rows, select_rows(other.attention, chosen_rows), count * width)
        if isinstance(self.position, int) and self.position == other.position:
            return DecodeState(self.position, tuple(tensors), attention)
        device = sentences.device
        position = self._positions(self._num_rows(width), device)
        more = other._positions(other._num_rows(width), device)[chosen_rows]
        position = put_rows(position, rows, more, count * width)
        return DecodeState(position, tuple(tensors), attention)

    def _num_rows(self, width: int) -> int:
        first = self.tensors[0]
        return first.num_sentences * width if isinstance(first, PathCache) else len(first)

    def _positions(self, rows: int, device: torch.device) -> Tensor:
        if isinstance(self.position, Tensor):
            return self.position
        return torch.full((rows,), self.position, device=device)

    def widen(self, num_hypotheses: int) -> "DecodeState":
        """Copy the one hypothesis of each sentence to ``num_hypotheses``."""
        for cache in self._caches():
            cache.widen(num_hypotheses)
        return each_tensor(self, lambda tensor: tensor.repeat_interleave(num_hypotheses, 0))

    def _caches(self) -> list[PathCache]:
        return [tensor for tensor in self.tensors if isinstance(tensor, PathCache)]


def rows_of(sentences: Tensor, width: int) -> Tensor:
    """The rows of the hypotheses of the given sentences: (K,) -> (K W,)."""
    return (sentences.unsqueeze(1) * width + torch.arange(width, device=sentences.device)).flatten()


class Seq2Seq(nn.Module):
    """An encoder-decoder with attention.

    A backend defines ``embed_source``, ``encode_embedded``, ``start``, ``advance``, ``force``,
    ``read_weights`` and ``source_attention``.
    """

    output_weight: nn.Parameter  # (V, D)
    output_bias: nn.Parameter | None  # (V,)
    output_layer: nn.Module | None  # replaces weight and bias, if they are stored otherwise
    max_target_length: int | None = None  # positions of the decoder, the begin of sentence included
    widths = Widths("model.width", "model.width")  # the settings of the sizes of the cross-attention
    reads_pictures = False  # whether a source may be cells (B, S, C), see corpora/images/patches.py
    reads_sentences = False  # whether the cross-attention tells the sentences of a document apart
    num_attention_layers: int
    num_attention_heads: int
    stored_parameters = 0  # of a model whose layers were rounded: their number before
    cached_numbers = 0  # about how many numbers a search caches for each piece of a hypothesis

    def __init__(self) -> None:
        super().__init__()
        self.output_layer = None  # not a class attribute, which would hide the module

    def within_positions(self, length: int) -> int:
        """A number of pieces, or that of the learned positions if it is smaller."""
        limit = self.max_target_length  # both sides have learned as many
        return length if limit is None else min(length, limit)

    def encode(self, source: Tensor, source_mask: Tensor | None) -> Encoded:
        """Read the source once: ids (B, S) and mask (B, S) bool, True = visible."""
        return self.encode_embedded(self.embed_source(source), source_mask, self.parts_of(source))

    def embed_source(self, source: Tensor) -> Tensor:
        """The embeddings before positions are added: ids (B, S) -> (B, S, D)."""
        raise NotImplementedError

    def encode_embedded(
        self, embedded: Tensor, source_mask: Tensor | None, parts: SourceParts = WHOLE
    ) -> Encoded:
        """:meth:`encode` from the results of :meth:`embed_source` and :meth:`parts_of`."""
        raise NotImplementedError

    def read_documents(self, most: int) -> None:
        """Let a cross-attention that can do so tell apart a sentence and up to ``most`` before it."""
        layers = [self.source_attention(layer) for layer in range(self.num_attention_layers)]
        able = [attention for attention in layers if attention.num_sentences is not None]
        for attention in able:
            attention.num_sentences = most + 1
        self.reads_sentences = bool(able) and most > 0

    def parts_of(self, source: Tensor) -> SourceParts:
        """The parts of a source that a mechanism may tell apart: patches in cells (B, S, C), or sentences."""
        if source.dim() == 3:
            return SourceParts(patches=source[..., 0] == PATCH)
        return SourceParts(sentences=sentence_numbers(source) if self.reads_sentences else None)

    def start(self, encoded: Encoded, *, in_place: bool = False) -> DecodeState:
        """The state before the first step, of one hypothesis a sentence; see :meth:`DecodeState.widen`.

        ``in_place`` lets steps write into it.
        """
        raise NotImplementedError

    def step(self, ids: Tensor, state: DecodeState, encoded: Encoded) -> tuple[Tensor, DecodeState]:
        """Read one token of each hypothesis.

        Args:
            ids: (N,), sorted by sentence: N = B W, with B sentences in ``encoded``.
            state: of :meth:`start` or an earlier step.
            encoded: of :meth:`encode`.

        Returns:
            Hidden states (N, D) for :meth:`logits`, and the next state.
        """
        return self.advance(ids, state, encoded)[:2]

    def step_with_weights(
        self, ids: Tensor, state: DecodeState, encoded: Encoded, layer: int
    ) -> tuple[Tensor, DecodeState, Tensor]:
        """:meth:`step` to the last bit, and the weights (B, H, W, S) of a layer."""
        hidden, state, weights = self.advance(ids, state, encoded, layer)
        assert weights is not None
        return hidden, state, weights

    def advance(
        self, ids: Tensor, state: DecodeState, encoded: Encoded, shown: int | None = None
    ) -> tuple[Tensor, DecodeState, Tensor | None]:
        """:meth:`step`, with the weights (B, H, W, S) of the layer that is ``shown``, if one is."""
        raise NotImplementedError

    def forward(self, source: Tensor, source_mask: Tensor | None, target_in: Tensor) -> Tensor:
        """Teacher forcing: hidden states (B, T, D) that predict the tokens after ``target_in`` (B, T)."""
        return self.read_target(self.encode(source, source_mask), target_in)

    def read_target(self, encoded: Encoded, target_in: Tensor) -> Tensor:
        """:meth:`forward` for a source that is already encoded."""
        return self.force(encoded, target_in)[0]

    def force(
        self, encoded: Encoded, target_in: Tensor, shown: int | None = None
    ) -> tuple[Tensor, Tensor | None]:
        """:meth:`read_target`, with the weights (B, H, T, S) of the layer that is ``shown``, if one is."""
        raise NotImplementedError

    def source_attention(self, layer: int) -> Attention:
        """The cross-attention of a layer."""
        raise NotImplementedError

    def forced_weights(
        self, source: Tensor, source_mask: Tensor | None, target_in: Tensor, layers: Sequence[int]
    ) -> list[Tensor]:
        """The cross-attention weights of ``layers`` under teacher forcing, (B, H, T, S) float32 each.

        Row t belongs to the prediction of the token after ``target_in[:, t]``. Call it in evaluation mode.
        """
        return self.read_weights(self.encode(source, source_mask), target_in, layers)

    def read_weights(self, encoded: Encoded, target_in: Tensor, layers: Sequence[int]) -> list[Tensor]:
        """:meth:`forced_weights` for a source that is already encoded."""
        raise NotImplementedError

    def forward_with_weights(
        self, source: Tensor, source_mask: Tensor | None, target_in: Tensor, layer: int
    ) -> tuple[Tensor, Tensor]:
        """Teacher forcing that also returns one layer's cross-attention weights (B, H, T, S), with gradients.

        It serves losses on the attention. Only that layer takes the explicit path.
        """
        hidden, weights = self.force(self.encode(source, source_mask), target_in, layer)
        assert weights is not None
        return hidden, weights

    def logits(self, hidden: Tensor) -> Tensor:
        """Scores of the next token: (..., D) -> (..., V)."""
        if self.output_layer is not None:
            return cast(Tensor, self.output_layer(hidden))
        return F.linear(hidden, self.output_weight, self.output_bias)

    def replace_products(self, new: Callable[[Tensor, Tensor | None], nn.Module]) -> None:
        """Put a layer made of weight and bias in place of every linear layer and of the output layer."""
        self.stored_parameters = self.num_parameters()
        # The largest first: the others then fit into the memory that its rounding has left.
        self.output_layer = new(self.output_weight, self.output_bias)
        replace_linear(self, new)

    def shards(self) -> Sequence[tuple[nn.Module, tuple[str, ...]]]:
        """Parts whose parameters can be gathered one part at a time, inner ones first; none by default.

        Only the part's own forward and the named methods of it read these parameters.
        """
        return ()

    def num_parameters(self) -> int:
        """The number of trainable parameters, before a rounding; shared ones count once."""
        trainable = (parameter for parameter in self.parameters() if parameter.requires_grad)
        return self.stored_parameters or sum(parameter.numel() for parameter in trainable)


def sentence_numbers(source: Tensor) -> Tensor:
    """The number of sentences that begin after each position of ids (B, S), see `text/documents.py`."""
    begins = (source == BOS).long()
    return begins.flip(1).cumsum(1).flip(1) - begins


def beams(states: Tensor, encoded: Encoded) -> Tensor:
    """Hypotheses as queries of their sentence, which avoids copying the memory: (N, D) -> (B, W, D)."""
    return states.view(encoded.batch_size, -1, states.shape[-1])


def attend_beside(
    attention: Attention, query: Tensor, memory: Memory, state: Any
) -> tuple[Tensor, Tensor | None]:
    """Context and weights; the context is to the last bit what it is where no weights are asked for."""
    explicit = attention.stateful or not attention.fuses(query, memory)
    context, weights = attention(query, memory, need_weights=explicit, state=state)
    return context, weights if explicit else attention(query, memory, need_weights=True, state=state)[1]


def new_output(vocabulary_size: int, width: int, tied: nn.Embedding | None) -> nn.Parameter:
    """The output weight (V, D): the embedding's own when tied."""
    if tied is not None:
        return cast(nn.Parameter, tied.weight)
    return nn.Parameter(torch.empty(vocabulary_size, width).uniform_(-(width**-0.5), width**-0.5))


@contextmanager
def evaluation_mode(model: nn.Module) -> Iterator[None]:
    """Evaluation mode without gradients; restores the mode of every module afterwards."""
    training = [module for module in model.modules() if module.training]
    model.eval()
    try:
        # Not inference_mode: a cache that the model fills here may be needed by a later training step.
        with torch.no_grad():
            yield
    finally:
        for module in training:
            module.training = True
