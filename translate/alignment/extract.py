"""Alignments from a model: one forced pass, the chosen layer, heads and shift, pieces to words."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from translate.alignment.alignment import Alignment
from translate.alignment.pool import average_heads, piece_to_word, pool_source, pool_target
from translate.errors import UserError
from translate.models.seq2seq import Seq2Seq
from translate.text.batching import pad
from translate.text.tokenizer import BOS, EOS, NO_WORD, Pieces

MAX_CELLS = 1 << 22  # B * T * S of one forced batch; times heads and layers this bounds the memory


@dataclass(frozen=True)
class AlignmentChoice:
    """Which attention is shown as the alignment.

    Attributes:
        layer: index of a layer with attention to the source.
        heads: indexes of the heads that are averaged.
        shift: 0 takes the row that predicts a target piece, 1 the row whose decoder input it is.
    Raises:
        UserError: if a value cannot be one of those; it may come from a run's files.
    """

    layer: int
    heads: tuple[int, ...]
    shift: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "heads", tuple(self.heads))
        for name, numbers in (("layer", (self.layer,)), ("heads", self.heads)):
            if not numbers or any(not isinstance(n, int) or isinstance(n, bool) or n < 0 for n in numbers):
                raise UserError(
                    f"alignment {name}: {getattr(self, name)!r} must be one or more numbers from 0"
                )
        if isinstance(self.shift, bool) or self.shift not in (0, 1):
            raise UserError(f"alignment shift: {self.shift!r} must be 0 or 1")

    def to_dict(self) -> dict[str, Any]:
        return {"layer": self.layer, "heads": list(self.heads), "shift": self.shift}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "AlignmentChoice":
        """Inverse of `to_dict`; raises UserError if a key is missing, unknown, or has a wrong value."""
        if not isinstance(values, Mapping) or set(values) != {"layer", "heads", "shift"}:
            raise UserError(f"alignment choice: got {values!r}, expected the keys layer, heads and shift")
        if not isinstance(values["heads"], list | tuple):
            raise UserError(f"alignment heads: {values['heads']!r} must be a list of numbers")
        return cls(values["layer"], tuple(values["heads"]), values["shift"])

    def check(self, model: Seq2Seq) -> None:
        """Raise UserError if the model has no such layer or head."""
        if self.layer >= model.num_attention_layers:
            raise UserError(
                f"alignment layer {self.layer} does not exist: "
                f"the model has {model.num_attention_layers}, counted from 0"
            )
        if max(self.heads) >= model.num_attention_heads:
            raise UserError(
                f"alignment head {max(self.heads)} does not exist: "
                f"the model has {model.num_attention_heads}, counted from 0"
            )


@dataclass(frozen=True)
class EncodedPair:
    """A sentence pair as pieces, with the word of each piece (-1: of none, such as end-of-sentence).

    Attributes:
        source_ids: with end-of-sentence; source_piece_words is as long.
        target_ids: without begin and end of sentence; target_piece_words is as long.
    Raises:
        ValueError: if pieces and their words do not fit.
    """

    source_ids: Sequence[int]
    target_ids: Sequence[int]
    source_piece_words: Sequence[int]
    target_piece_words: Sequence[int]
    source_words: list[str]
    target_words: list[str]

    def __post_init__(self) -> None:
        for side in ("source", "target"):
            ids, words = getattr(self, f"{side}_ids"), getattr(self, f"{side}_piece_words")
            if len(ids) != len(words):
                raise ValueError(f"{side}: {len(ids)} pieces, but the words of {len(words)}")
            if any(not NO_WORD <= word < len(getattr(self, f"{side}_words")) for word in words):
                raise ValueError(f"{side}: a piece belongs to a word that does not exist")

    @classmethod
    def of(cls, source: Pieces, target: Pieces) -> "EncodedPair":
        """The pair that `Tokenizer.encode_words` of both sides gives."""
        return cls(
            source_ids=[*source.ids, EOS],
            target_ids=target.ids,
            source_piece_words=[*source.piece_words, NO_WORD],
            target_piece_words=target.piece_words,
            source_words=[word.text for word in source.words],
            target_words=[word.text for word in target.words],
        )


class ForcedBatch(NamedTuple):
    """Pairs ready for a forced pass, and their pieces' words."""

    indices: list[int]  # places among the pairs given
    source: Tensor  # (B, S)
    source_mask: Tensor | None  # (B, S) True = visible
    target_in: Tensor  # (B, T) <s> y1 ... yn
    source_words: Tensor  # (B, S, source words)
    target_words: Tensor  # (B, T - 1, target words)


def align(
    model: Seq2Seq,
    pairs: Sequence[EncodedPair],
    choice: AlignmentChoice,
    *,
    batch_size: int = 64,
    device: torch.device | str = "cpu",
) -> list[Alignment]:
    """Force each target on its source and read the chosen attention, between words.

    Args:
        batch_size: sentences a forced pass; fewer where they are very long.
    Returns:
        One alignment a pair, in the order given.
    Raises:
        UserError: if the model does not have the chosen layer or heads.
    """
    choice.check(model)
    alignments: dict[int, Alignment] = {}
    with evaluation_mode(model):
        for batch in forced_batches(pairs, batch_size, device):
            (weights,) = model.forced_weights(
                batch.source, batch.source_mask, batch.target_in, [choice.layer]
            )
            heads = pool_source(weights[:, list(choice.heads)], batch.source_words)
            rows = shift_rows(average_heads(heads), choice.shift)
            words = pool_target(rows, batch.target_words).squeeze(1).cpu().numpy()
            for row, index in enumerate(batch.indices):
                pair = pairs[index]
                alignments[index] = Alignment(
                    pair.source_words,
                    pair.target_words,
                    words[row, : len(pair.target_words), : len(pair.source_words)],
                )
    return [alignments[index] for index in range(len(pairs))]


def shift_rows(rows: Tensor, shift: int) -> Tensor:
    """Rows (..., T, S) of `<s> y1..yn` to rows of y1..yn: where each is predicted (0) or is the input (1)."""
    return rows[..., 1:, :] if shift else rows[..., :-1, :]


def forced_batches(
    pairs: Sequence[EncodedPair], batch_size: int, device: torch.device | str, *, max_cells: int = MAX_CELLS
) -> Iterator[ForcedBatch]:
    """Batches of pairs of like lengths: at most `batch_size` pairs, at most `max_cells` padded B * T * S."""
    if batch_size < 1:
        raise UserError(f"batch size is {batch_size}; expected at least 1")
    order = sorted(range(len(pairs)), key=lambda i: (len(pairs[i].source_ids), len(pairs[i].target_ids)))
    indices: list[int] = []
    longest_source = longest_target = 0
    for index in order:
        source_length, target_length = len(pairs[index].source_ids), len(pairs[index].target_ids) + 1
        longest_source, longest_target = (
            max(longest_source, source_length),
            max(longest_target, target_length),
        )
        full = len(indices) == batch_size or (len(indices) + 1) * longest_source * longest_target > max_cells
        if indices and full:
            yield _forced_batch(pairs, indices, device)
            indices, longest_source, longest_target = [], source_length, target_length
        indices.append(index)
    if indices:
        yield _forced_batch(pairs, indices, device)


def _forced_batch(
    pairs: Sequence[EncodedPair], indices: list[int], device: torch.device | str
) -> ForcedBatch:
    chosen = [pairs[index] for index in indices]
    source, source_mask = pad([pair.source_ids for pair in chosen])
    target_in, _ = pad([[BOS, *pair.target_ids] for pair in chosen])
    return ForcedBatch(
        indices=indices,
        source=source.to(device),
        source_mask=None if source_mask is None else source_mask.to(device),
        target_in=target_in.to(device),
        source_words=piece_to_word(
            [pair.source_piece_words for pair in chosen],
            max(len(pair.source_words) for pair in chosen),
            device,
        ),
        target_words=piece_to_word(
            [pair.target_piece_words for pair in chosen],
            max(len(pair.target_words) for pair in chosen),
            device,
        ),
    )


@contextmanager
def evaluation_mode(model: nn.Module) -> Iterator[None]:
    """Evaluation mode without gradients; afterwards every module is as it was."""
    training = [module for module in model.modules() if module.training]
    model.eval()
    try:
        # Not inference_mode: a cache that the model fills here may be needed by a later training step.
        with torch.no_grad():
            yield
    finally:
        for module in training:
            module.training = True
