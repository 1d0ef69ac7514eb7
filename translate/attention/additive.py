"""Mechanisms that score by a hidden layer: v^T tanh(W q + U k).

Shapes: B batch, S source, T target, W hypotheses of a sentence, N = B W, C key_size, A width of the hidden
layer; J sentences of a document.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from translate.attention.contract import Attention, check_size, register
from translate.attention.functional import additive_scores, masked_softmax
from translate.attention.kernels.additive import fast_additive_scores
from translate.attention.kernels.fused import ADDITIVE_KERNELS, check_kernel
from translate.attention.memory import WHOLE, Memory, SourceParts
from translate.config.option_groups import Width


@register("additive")
class Additive(Attention):
    """v^T tanh(W q + U k): Bahdanau et al. 2015, A.1.2.

    Args:
        query_size: width of a query.
        key_size: width of a source state.
        attention_size: A; ``query_size`` if ``None``.
        kernel: ``chunked``, which holds no (B, T, S, A); ``explicit``, which does; or ``auto``.
    """

    plain_score = "additive"

    def __init__(
        self, query_size: int, key_size: int, attention_size: Width | None = None, kernel: str = "auto"
    ) -> None:
        super().__init__(query_size, key_size)
        size = check_size("attention_size", attention_size, query_size)
        why = "its score is no dot product"
        self.kernel = check_kernel(kernel, type(self).__name__, ADDITIVE_KERNELS, why)
        self.query_projection = nn.Linear(query_size, size)
        self.key_projection = nn.Linear(key_size, size, bias=False)  # W's bias already shifts the sum
        self.direction = new_direction(size)

    def prepare(self, states: Tensor, mask: Tensor | None = None) -> Memory:
        self._check_states(states, mask)
        return Memory(self.key_projection(states).unsqueeze(1), states.unsqueeze(1), mask)

    def scores(self, query: Tensor, memory: Memory, state: Any = None) -> Tensor:
        keys = memory.keys.squeeze(1)
        projected = self.query_projection(query).to(keys.dtype)
        scores = fast_additive_scores(projected, keys, self.direction, kernel=self.kernel)
        return scores.unsqueeze(1)  # (B, 1, T, S)


@register("concat")
class Concat(Additive):
    """v^T tanh(W [q; k]): Luong et al. 2015, eq. 8, concat.

    W [q; k] is the sum of two projections, so this is the additive score without a bias.
    """

    def __init__(
        self, query_size: int, key_size: int, attention_size: Width | None = None, kernel: str = "auto"
    ) -> None:
        super().__init__(query_size, key_size, attention_size, kernel)
        self.query_projection = nn.Linear(query_size, self.direction.shape[0], bias=False)


@dataclass(frozen=True, kw_only=True)
class CoverageMemory(Memory):
    """Memory with the number of target words that each source word is expected to give."""

    fertility: Tensor  # (B, S)


@register("coverage")
class Coverage(Additive):
    """v^T tanh(W q + U k_j + u C_j), C_j = (sum of a_j so far) / Phi_j: Tu et al. 2016, 3.1, linguistic.

    Phi_j = N sigmoid(w^T h_j) is the fertility of source word j. The state is the sum of the weights so far,
    (N, S). A query depends on those before it, so queries run one by one.

    Args:
        query_size: width of a query.
        key_size: width of a source state.
        attention_size: A; ``query_size`` if ``None``.
        max_fertility: N, above 0.
    """

    stateful = True

    def __init__(
        self, query_size: int, key_size: int, attention_size: Width | None = None, max_fertility: float = 2.0
    ) -> None:
        super().__init__(query_size, key_size, attention_size)
        if max_fertility <= 0:
            raise ValueError(f"max_fertility: expected a number above 0, got {max_fertility}")
        self.max_fertility = max_fertility
        self.fertility_projection = nn.Linear(key_size, 1, bias=False)
        self.coverage_direction = new_direction(self.direction.shape[0])

    def prepare(self, states: Tensor, mask: Tensor | None = None) -> CoverageMemory:
        memory = super().prepare(states, mask)
        fertility = self.max_fertility * torch.sigmoid(self.fertility_projection(states).squeeze(-1))
        return CoverageMemory(memory.keys, memory.values, mask, fertility=fertility)

    def initial_state(self, memory: Memory) -> Tensor:
        return memory.keys.new_zeros(memory.keys.shape[0], memory.keys.shape[2])

    def advance(self, state: Any, weights: Tensor | None) -> Any:
        assert weights is not None
        return state + weights.flatten(0, 2).to(state.dtype)

    def scores(self, query: Tensor, memory: Memory, state: Any = None) -> Tensor:
        assert isinstance(memory, CoverageMemory)
        keys = memory.keys.squeeze(1)
        projected = self.query_projection(query).to(keys.dtype)
        attended = state.to(keys.dtype).unflatten(0, (len(keys), -1))
        coverage = attended / memory.fertility.unsqueeze(1)  # (B, W, S)
        covered = keys.unsqueeze(1) + coverage.unsqueeze(-1) * self.coverage_direction.to(keys.dtype)
        return additive_scores(projected, covered, self.direction).unsqueeze(1)  # (B, 1, W, S)


@dataclass(frozen=True, kw_only=True)
class DocumentMemory(Memory):
    """Memory of the sentences of a document, one after another."""

    sentences: Tensor | None = None  # (B, S) int64: 0 for the last one, 1 for the one before it ...


@register("hierarchical")
class Hierarchical(Additive):
    """Additive over words, then over the sentences of a document: Yang et al. 2016, 2.2.

    Words: c_j = sum_s softmax_s(v^T tanh(W q + U h_js)) h_js, for every sentence j. Sentences:
    c = sum_j softmax_j(v'^T tanh(W' q + U' c_j)) c_j, by a decoder's query as in Miculicich et al. 2018, 2.2.
    The weight of a word is its weight in the sentence times that of the sentence, so all sum to 1, and those
    of a sentence to the sentence's. Deviations: Yang et al. learn one query vector; Miculicich et al. encode
    each sentence alone, and mix the last one with the others by a gate, here by the softmax.

    Args:
        query_size: width of a query.
        key_size: width of a source state, C.
        attention_size: A; ``query_size`` if ``None``.
        kernel: as :class:`Additive`.
    """

    num_sentences: int = 1  # sentences further away count as the first of these

    def __init__(
        self, query_size: int, key_size: int, attention_size: Width | None = None, kernel: str = "auto"
    ) -> None:
        super().__init__(query_size, key_size, attention_size, kernel)
        size = self.direction.shape[0]
        self.sentence_query_projection = nn.Linear(query_size, size)
        self.sentence_projection = nn.Linear(key_size, size, bias=False)
        self.sentence_direction = new_direction(size)

    def prepare(self, states: Tensor, mask: Tensor | None = None) -> DocumentMemory:
        return self.prepare_parts(states, mask, WHOLE)

    def prepare_parts(self, states: Tensor, mask: Tensor | None, parts: SourceParts) -> DocumentMemory:
        sentences = parts.sentences
        if sentences is not None and sentences.shape != states.shape[:2]:
            raise ValueError(f"sentences: expected {tuple(states.shape[:2])}, got {tuple(sentences.shape)}")
        memory = super().prepare(states, mask)
        return DocumentMemory(memory.keys, memory.values, mask, sentences=sentences)

    def align(self, query: Tensor, memory: Memory, state: Any = None) -> Tensor:
        assert isinstance(memory, DocumentMemory)
        own = self._own(memory)
        shown = None if own is None else own.unsqueeze(2)
        words = masked_softmax(self.scores(query, memory, state), shown)  # (B, J, T, S)
        contexts = (words.to(memory.values.dtype) @ memory.values).transpose(1, 2)  # (B, T, J, C)
        keys = self.sentence_projection(contexts.to(self.sentence_projection.weight.dtype))
        energy = additive_scores(self.sentence_query_projection(query), keys, self.sentence_direction)
        present = None if own is None else own.any(2).unsqueeze(1)
        shares = masked_softmax(energy.to(words.dtype), present)  # (B, T, J)
        return (words * shares.transpose(1, 2).unsqueeze(3)).sum(1, keepdim=True)

    def _own(self, memory: DocumentMemory) -> Tensor | None:
        """The positions that each sentence sees, (B, J, S) bool; ``None`` if one sentence sees all."""
        if memory.sentences is None:
            return None if memory.mask is None else memory.mask.unsqueeze(1)
        number = memory.sentences.clamp_max(self.num_sentences - 1).unsqueeze(1)
        own = number == torch.arange(self.num_sentences, device=number.device).unsqueeze(1)
        return own if memory.mask is None else own & memory.mask.unsqueeze(1)


def new_direction(size: int) -> nn.Parameter:
    """v, (size,), uniform within 1 / sqrt(size)."""
    return nn.Parameter(torch.empty(size).uniform_(-(size**-0.5), size**-0.5))


@dataclass(frozen=True, kw_only=True)
class TwoSourcesMemory(Memory):
    """Memory with a second set of keys, of which each position uses one."""

    picture_keys: Tensor  # (B, 1, S, A)
    pictures: Tensor  # (B, S) bool: whether a position is a patch


@register("two_sources")
class TwoSources(Attention):
    """g softmax over the patches + (1 - g) softmax over the words, g = sigmoid(w^T q + b) of the query.

    Calixto et al. 2017, 3.2, who gate the picture alone. A source that lacks one of the two has the other.

    Args:
        query_size: width of a query.
        key_size: width of a source state.
        attention_size: A; ``query_size`` if ``None``.
    """

    def __init__(self, query_size: int, key_size: int, attention_size: Width | None = None) -> None:
        super().__init__(query_size, key_size)
        size = check_size("attention_size", attention_size, query_size)
        self.words = Additive(query_size, key_size, size)
        self.picture = Additive(query_size, key_size, size)
        self.gate = nn.Linear(query_size, 1)

    def prepare(self, states: Tensor, mask: Tensor | None = None) -> Memory:
        return self.prepare_parts(states, mask, WHOLE)

    def prepare_parts(self, states: Tensor, mask: Tensor | None, parts: SourceParts) -> Memory:
        pictures = parts.patches
        if pictures is None:
            pictures = states.new_zeros(states.shape[:2], dtype=torch.bool)
        words, picture = (part.prepare(states, mask) for part in (self.words, self.picture))
        return TwoSourcesMemory(words.keys, words.values, mask, picture_keys=picture.keys, pictures=pictures)

    def scores(self, query: Tensor, memory: Memory, state: Any = None) -> Tensor:
        """The score of each position by the attention that reads it; the gate is no part of it."""
        words, picture = self._scores(query, memory)
        return torch.where(_pictures(memory), picture, words)

    def align(self, query: Tensor, memory: Memory, state: Any = None) -> Tensor:
        pictures, seen = _pictures(memory), self.visible(query, memory, state)
        words, patches = (~pictures, pictures) if seen is None else (seen & ~pictures, seen & pictures)
        scores = self._scores(query, memory)
        gate = torch.sigmoid(self.gate(query)).to(scores[0].dtype)  # (B, T, 1)
        gate = gate.transpose(1, 2).unsqueeze(3)  # (B, 1, T, 1)
        has_words, has_picture = words.any(3, keepdim=True), patches.any(3, keepdim=True)
        gate = torch.where(has_words & has_picture, gate, has_picture.to(gate.dtype))
        return gate * masked_softmax(scores[1], patches) + (1 - gate) * masked_softmax(scores[0], words)

    def _scores(self, query: Tensor, memory: Memory) -> tuple[Tensor, Tensor]:
        assert isinstance(memory, TwoSourcesMemory)
        of_picture = Memory(memory.picture_keys, memory.values, memory.mask)
        return self.words.scores(query, memory), self.picture.scores(query, of_picture)


def _pictures(memory: Memory) -> Tensor:
    assert isinstance(memory, TwoSourcesMemory)
    return memory.pictures[:, None, None]  # (B, 1, 1, S)
