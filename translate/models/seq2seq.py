"""The contract of every backend: encode once, then step, or read a whole target by teacher forcing.

Shapes: B batch, S source, T target, D width, H heads, V vocabulary, N = B W hypotheses, W of a sentence.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from translate.attention import Attention, Memory
from translate.attention.additive import Hierarchical
from translate.corpora.images.patches import PATCH
from translate.models.sizes import Widths
from translate.models.states import DecodeState, Encoded
from translate.text.tokenizer import BOS


class Seq2Seq(nn.Module):
    """An encoder-decoder with attention.

    A backend defines ``embed_source``, ``encode_embedded``, ``start``, ``step``, ``step_with_weights``,
    ``read_target``, ``read_weights``, ``forward_with_weights`` and ``source_attention``.
    """

    output_weight: nn.Parameter  # (V, D)
    output_bias: nn.Parameter | None  # (V,)
    output_layer: nn.Module | None  # replaces weight and bias, if they are stored otherwise
    max_target_length: int | None = None  # positions of the decoder, the begin of sentence included
    widths = Widths("model.width", "model.width")  # the settings of the sizes of the cross-attention
    reads_pictures = False  # whether a source may be cells (B, S, C), see corpora/images/patches.py
    reads_sentences = False  # whether the cross-attention tells the sentences of a document apart, see below
    num_attention_layers: int
    num_attention_heads: int
    cached_numbers = 0  # that a search keeps for each piece of a hypothesis, about

    def __init__(self) -> None:
        super().__init__()
        self.output_layer = None  # not a class attribute, which would hide the module

    def encode(self, source: Tensor, source_mask: Tensor | None) -> Encoded:
        """Read the source once: ids (B, S) and mask (B, S) bool, True = visible."""
        return self.encode_embedded(self.embed_source(source), source_mask, *self.parts_of(source))

    def embed_source(self, source: Tensor) -> Tensor:
        """The embeddings before positions are added: ids (B, S) -> (B, S, D)."""
        raise NotImplementedError

    def encode_embedded(
        self, embedded: Tensor, source_mask: Tensor | None, parts: Tensor | None = None
    ) -> Encoded:
        """As :meth:`encode`, from the embeddings of :meth:`embed_source`, and what :meth:`parts_of` says."""
        raise NotImplementedError

    def read_documents(self, most: int) -> None:
        """Let `hierarchical` attention tell apart a sentence and up to ``most`` before it in a source."""
        found = [module for module in self.modules() if isinstance(module, Hierarchical)]
        for each in found:
            each.num_sentences = most + 1
        self.reads_sentences = bool(found) and most > 0

    def parts_of(self, source: Tensor) -> tuple[Tensor, ...]:
        """What the positions belong to, where a mechanism tells parts of a source apart, else nothing.

        Of cells (B, S, C) which ones are patches, (B, S) bool; of a document, for `hierarchical`, the number
        of each position's sentence, (B, S) int64: 0 for the last one, 1 for the one before it ...
        """
        if source.dim() == 3:
            return (source[..., 0] == PATCH,)
        return (sentence_numbers(source),) if self.reads_sentences else ()

    def start(self, encoded: Encoded, num_hypotheses: int = 1, *, in_place: bool = False) -> DecodeState:
        """The state before the first step, for ``num_hypotheses`` (W) hypotheses of each sentence.

        ``in_place`` lets steps write into it; it begins with one hypothesis, for ``DecodeState.widen``.
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
        raise NotImplementedError

    def step_with_weights(
        self, ids: Tensor, state: DecodeState, encoded: Encoded, layer: int
    ) -> tuple[Tensor, DecodeState, Tensor]:
        """As :meth:`step`, of which it changes nothing, with a layer's weights (B, H, W, S) beside it."""
        raise NotImplementedError

    def forward(self, source: Tensor, source_mask: Tensor | None, target_in: Tensor) -> Tensor:
        """Teacher forcing: hidden states (B, T, D) that predict the tokens after ``target_in`` (B, T)."""
        return self.read_target(self.encode(source, source_mask), target_in)

    def read_target(self, encoded: Encoded, target_in: Tensor) -> Tensor:
        """As :meth:`forward`, for a source that is already encoded."""
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
        """As :meth:`forced_weights`, for a source that is already encoded."""
        raise NotImplementedError

    def forward_with_weights(
        self, source: Tensor, source_mask: Tensor | None, target_in: Tensor, layer: int
    ) -> tuple[Tensor, Tensor]:
        """Teacher forcing that also returns one layer's cross-attention weights (B, H, T, S), with gradients.

        It serves losses on the attention. Only that layer takes the explicit path.
        """
        raise NotImplementedError

    def logits(self, hidden: Tensor) -> Tensor:
        """Scores of the next token: (..., D) -> (..., V)."""
        if self.output_layer is not None:
            return cast(Tensor, self.output_layer(hidden))
        return F.linear(hidden, self.output_weight, self.output_bias)

    def shards(self) -> Sequence[tuple[nn.Module, tuple[str, ...]]]:
        """Parts whose parameters can be gathered one part at a time, inner ones first; none by default.

        Only the part's own forward and the named methods of it read these parameters.
        """
        return ()

    def num_parameters(self) -> int:
        """The number of trainable parameters; shared ones count once."""
        return sum(parameter.numel() for parameter in self.parameters() if parameter.requires_grad)

    def check_layers(self, layers: Sequence[int]) -> None:
        """Raise ``ValueError`` for an attention layer that does not exist."""
        for layer in layers:
            if not 0 <= layer < self.num_attention_layers:
                raise ValueError(
                    f"attention layer: expected 0 to {self.num_attention_layers - 1}, got {layer}"
                )


def sentence_numbers(source: Tensor) -> Tensor:
    """How many sentences begin after each position, for ids (B, S) of `translate/text/documents.py`."""
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
    if tied is None:
        return nn.Parameter(torch.empty(vocabulary_size, width).uniform_(-(width**-0.5), width**-0.5))
    if tuple(tied.weight.shape) != (vocabulary_size, width):
        raise ValueError(f"tied output: expected {(vocabulary_size, width)}, got {tuple(tied.weight.shape)}")
    return cast(nn.Parameter, tied.weight)


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
