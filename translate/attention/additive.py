"""Mechanisms that score by a hidden layer: v^T tanh(W q + U k).

Shapes: B batch, S source, T target, W hypotheses of a sentence, N = B W, C key_size, A width of the hidden
layer; P previous sentences of a document, L their words.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from translate.attention.contract import Attention, check_size, register
from translate.attention.functional import additive_scores, masked_softmax
from translate.attention.fused import additive_kernel
from translate.attention.kernels import ADDITIVE_KERNELS, check_kernel
from translate.attention.masks import check_mask
from translate.attention.memory import Memory
from translate.attention.recompute import chunked_additive_scores, compiled_additive_scores
from translate.options import Width


@register("additive")
class Additive(Attention):
    """v^T tanh(W q + U k): Bahdanau et al. 2015, A.1.2.

    Args:
        query_size: width of a query.
        key_size: width of a source state.
        attention_size: A; ``query_size`` if ``None``.
        kernel: ``chunked`` or ``compiled``, which hold no (B, T, S, A); ``explicit``, which does; ``auto``.
    """

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
        return self.energy(projected, keys).unsqueeze(1)  # (B, 1, T, S)

    def energy(self, query: Tensor, keys: Tensor) -> Tensor:
        """The scores of projected queries (B, T, A) and keys (B, S, A) by the chosen kernel: (B, T, S)."""
        kernel = additive_kernel(self.kernel, keys)
        score = {"chunked": chunked_additive_scores, "compiled": compiled_additive_scores}
        return score.get(kernel, additive_scores)(query, keys, self.direction)


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

    def initial_state(self, memory: Memory, num_queries: int) -> Tensor:
        return memory.keys.new_zeros(memory.keys.shape[0] * num_queries, memory.keys.shape[2])

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


@dataclass(frozen=True)
class DocumentMemory(Memory):
    """Memory of a sentence, and of those before it in the document."""

    previous: Memory | None = None  # keys (B, P, L, A), values (B, P, L, C), mask (B, P L)


@register("hierarchical")
class Hierarchical(Additive):
    """Additive over words, then over the sentences of a document: Yang et al. 2016, 2.2.

    Words: c_j = sum_s softmax_s(v^T tanh(W q + U h_js)) h_js, for the sentence (j = 0) and each before it.
    Sentences: c = sum_j softmax_j(v'^T tanh(W' q + U' c_j)) c_j, with a decoder's query as in Miculicich et
    al. 2018, 2.2. Deviations: Yang et al. learn one query vector; Miculicich et al. mix the sentence with the
    others by a gate, here by the softmax. Without previous sentences the sentence has a share of 1.
    The weights are those of the sentence's own words, so a row sums to its share of the document.

    Args:
        query_size: width of a query.
        key_size: width of a source state, C.
        attention_size: A; ``query_size`` if ``None``.
        kernel: ``chunked`` or ``compiled``, which hold no (B, T, S, A); ``explicit``, which does; ``auto``.
    """

    def __init__(
        self, query_size: int, key_size: int, attention_size: Width | None = None, kernel: str = "auto"
    ) -> None:
        super().__init__(query_size, key_size, attention_size, kernel)
        size = self.direction.shape[0]
        self.sentence_query_projection = nn.Linear(query_size, size)
        self.sentence_projection = nn.Linear(key_size, size, bias=False)
        self.sentence_direction = new_direction(size)

    def prepare(
        self,
        states: Tensor,
        mask: Tensor | None = None,
        previous: Tensor | None = None,
        previous_mask: Tensor | None = None,
    ) -> DocumentMemory:
        """Project the states of a sentence, and of those before it.

        Args:
            states: (B, S, key_size).
            mask: (B, S) bool, True = visible.
            previous: (B, P, L, key_size), or ``None``.
            previous_mask: (B, P, L) bool, True = visible; a sentence without a visible word is ignored.
        """
        memory = super().prepare(states, mask)
        if previous is None:
            return DocumentMemory(memory.keys, memory.values, mask)
        if previous.dim() != 4 or previous.shape[0] != states.shape[0] or previous.shape[-1] != self.key_size:
            expected = f"({states.shape[0]}, P, L, {self.key_size})"
            raise ValueError(f"previous: expected {expected}, got {tuple(previous.shape)}")
        if previous_mask is not None and previous_mask.shape != previous.shape[:3]:
            raise ValueError(
                f"previous_mask: expected shape {tuple(previous.shape[:3])}, got {tuple(previous_mask.shape)}"
            )
        flat_mask = None if previous_mask is None else previous_mask.flatten(1)
        check_mask(flat_mask, previous.flatten(1, 2))
        earlier = Memory(self.key_projection(previous), previous, flat_mask)
        return DocumentMemory(memory.keys, memory.values, mask, earlier)

    def attend(
        self, query: Tensor, memory: Memory, state: Any = None, *, exact: bool = False
    ) -> tuple[Tensor, Tensor]:
        context, weights = super().attend(query, memory, state, exact=exact)
        assert isinstance(memory, DocumentMemory)
        contexts, present = self._sentences(query, context, memory)  # (B, T, 1 + P, C), (B, 1 + P)
        projected = self.sentence_query_projection(query)
        keys = self.sentence_projection(contexts)
        scores = additive_scores(projected, keys, self.sentence_direction)  # (B, T, 1 + P)
        shares = masked_softmax(scores, present.unsqueeze(1)).to(contexts.dtype)
        document = (shares.unsqueeze(2) @ contexts).squeeze(2)
        return document, weights * shares[..., 0].unsqueeze(1).unsqueeze(-1).to(weights.dtype)

    def _sentences(self, query: Tensor, context: Tensor, memory: DocumentMemory) -> tuple[Tensor, Tensor]:
        """The context of each sentence, this one first, and whether the sentence has a visible word."""
        contexts, present, previous = [context], [_any(memory.mask, memory.keys)], memory.previous
        if previous is None:
            return torch.stack(contexts, 2), torch.stack(present, 1)
        count = previous.keys.shape[1]
        masks = [None] * count if previous.mask is None else previous.mask.unflatten(1, (count, -1)).unbind(1)
        for index, mask in enumerate(masks):
            keys, values = previous.keys[:, index : index + 1], previous.values[:, index : index + 1]
            sentence = Memory(keys, values, mask)
            contexts.append(super().attend(query, sentence)[0])
            present.append(_any(mask, keys))
        return torch.stack(contexts, 2), torch.stack(present, 1)


def new_direction(size: int) -> nn.Parameter:
    """v, (size,), uniform within 1 / sqrt(size)."""
    return nn.Parameter(torch.empty(size).uniform_(-(size**-0.5), size**-0.5))


def _any(mask: Tensor | None, keys: Tensor) -> Tensor:
    return keys.new_ones(len(keys), dtype=torch.bool) if mask is None else mask.any(1)


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

    prepared_by = ("prepare", "prepare_two")

    def __init__(self, query_size: int, key_size: int, attention_size: Width | None = None) -> None:
        super().__init__(query_size, key_size)
        size = check_size("attention_size", attention_size, query_size)
        self.words = Additive(query_size, key_size, size)
        self.picture = Additive(query_size, key_size, size)
        self.gate = nn.Linear(query_size, 1)

    def prepare(self, states: Tensor, mask: Tensor | None = None) -> Memory:
        return self.prepare_two(states, mask, states.new_zeros(states.shape[:2], dtype=torch.bool))

    def prepare_two(self, states: Tensor, mask: Tensor | None, pictures: Tensor) -> Memory:
        """As :meth:`prepare`, with which positions are patches: (B, S) bool."""
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
        gate = (
            torch.sigmoid(self.gate(query)).to(scores[0].dtype).transpose(1, 2).unsqueeze(3)
        )  # (B, 1, T, 1)
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


def prepare(
    attention: Attention, states: Tensor, mask: Tensor | None, pictures: Tensor | None = None
) -> Memory:
    """The memory of any mechanism; ``pictures`` (B, S) says which positions are patches."""
    if pictures is not None and isinstance(attention, TwoSources):
        return attention.prepare_two(states, mask, pictures)
    return attention.prepare(states, mask)
