"""Alignments from a model: teacher forcing, the chosen layer, heads and shift, pieces to words."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import torch
from torch import Tensor

from translate.alignment.alignment import Alignment
from translate.alignment.choice import AlignmentChoice
from translate.alignment.pairs import (
    MAX_CELLS,
    EncodedPair,
    PairBatch,
    check_lengths,
    evaluation_mode,
    pair_batch,
    pair_batches,
)
from translate.alignment.pool import average_heads, pool_source, pool_target
from translate.alignment.saliency import erasure, gradient
from translate.errors import UserError
from translate.models.seq2seq import Seq2Seq


def attention(model: Seq2Seq, batch: PairBatch, choice: AlignmentChoice) -> Tensor:
    """The chosen attention between words: (B, target words, source words)."""
    weights = batch.weights(model, choice.layer)[:, list(choice.heads)]
    return between_words(weights, batch, choice.shift)


def between_words(weights: Tensor, batch: PairBatch, shift: int) -> Tensor:
    """Weights between pieces (B, H, T, S), averaged over heads: (B, target words, source words)."""
    heads = pool_source(weights, batch.source_words)
    rows = shift_rows(average_heads(heads), shift)
    return pool_target(rows, batch.target_words).squeeze(1)


def norm(model: Seq2Seq, batch: PairBatch, choice: AlignmentChoice) -> Tensor:
    """The size of each source word's contribution to the context: (B, target words, source words).

    ||sum_h a_h(t, s) f_h(x_s)|| over the chosen heads, f_h the values as the output sees them: Kobayashi et
    al. 2020, 2.3. A row belongs to the query of its position, so it is shifted as a row of attention is.

    Raises:
        UserError: if the backend does not say which mechanism attends to the source.
    """
    heads = list(choice.heads)
    try:
        mechanism = model.source_attention(choice.layer)
    except NotImplementedError as error:
        raise UserError(
            f"method=norm: {type(model).__name__} has no source_attention, whose values it weighs; "
            f"use attention, gradient or erasure"
        ) from error
    encoded = model.encode(batch.source, batch.source_mask)
    values = mechanism.transformed_values(encoded.memories[choice.layer])[:, heads].float()  # (B, h, S, C)
    weights = batch._replace(encoded=encoded).weights(model, choice.layer)[:, heads].float()  # (B, h, T, S)
    # |sum_h a_h f_h|^2 = sum_hg a_h a_g f_h.f_g, so that no (B, T, S, C) is held.
    products = torch.einsum("bhsc,bgsc->bhgs", values, values)
    squares = torch.einsum("bhts,bhgs,bgts->bts", weights, products, weights)
    sizes = squares.clamp_min(0).sqrt().unsqueeze(1)  # (B, 1, T, S)
    rows = shift_rows(pool_source(sizes, batch.source_words), choice.shift)
    return pool_target(rows, batch.target_words).squeeze(1)


READ_ATTENTION = ("attention", "norm")  # the methods that read a layer and its heads

METHODS: dict[str, Callable[[Seq2Seq, PairBatch, AlignmentChoice], Tensor]] = {
    "attention": attention,
    "gradient": lambda model, batch, choice: gradient(model, batch),  # no attention is chosen
    "erasure": lambda model, batch, choice: erasure(model, batch),
    "norm": norm,
}


def align(
    model: Seq2Seq,
    pairs: Sequence[EncodedPair],
    choice: AlignmentChoice,
    *,
    method: str = "attention",
    batch_size: int | None = None,
    device: torch.device | str = "cpu",
    progress: Callable[[int], None] | None = None,
) -> list[Alignment]:
    """How much each target word owes to each source word, by teacher forcing.

    Args:
        choice: the layer, heads and shift of `attention` and `norm`; the others read none. Its threshold is
            that of `attention` alone.
        method: `attention`, `gradient`, `erasure` or `norm`.
        batch_size: most pairs of a batch; by default as many as `BATCH_TOKENS` hold.
        progress: called after each batch with the number of pairs in it.
    Returns:
        One alignment for each pair, in the order given.
    Raises:
        UserError: for an unknown method, if the model does not have the chosen layer or heads, or for a pair
            longer than the positions that it has learned.
    """
    if method not in METHODS:
        raise UserError(f"alignment method '{method}' is not known; choose one of {', '.join(METHODS)}")
    choice.check(model)
    check_lengths(model, pairs)
    named = f"{method}, {choice.layer_and_heads}" if method in READ_ATTENTION else method
    with evaluation_mode(model):
        batches = pair_batches(pairs, batch_size, device)
        found = ((batch, METHODS[method](model, batch, choice)) for batch in batches)
        # The threshold was chosen for what the attention is, not for the other methods.
        return _in_order(pairs, found, named, choice.threshold if method == "attention" else 0.0, progress)


def align_recorded(
    pairs: Sequence[EncodedPair], choice: AlignmentChoice, recorded: Sequence[Tensor]
) -> list[Alignment]:
    """As :func:`align`, by attention, from weights that a search has recorded; no model is run.

    Args:
        pairs: of sources and the translations that were found.
        recorded: (T + 1, H, S) of each pair, H the chosen heads of the chosen layer.
    """
    device, longest = recorded[0].device, [max(each.shape[i] for each in recorded) for i in (0, 2)]
    few = len(pairs) * longest[0] * longest[1] <= MAX_CELLS
    batches = (
        [pair_batch(pairs, list(range(len(pairs))), device)] if few else pair_batches(pairs, None, device)
    )
    found = ((batch, _recorded_words(batch, recorded, choice)) for batch in batches)
    return _in_order(pairs, found, f"attention, {choice.layer_and_heads}", choice.threshold)


def _recorded_words(batch: PairBatch, recorded: Sequence[Tensor], choice: AlignmentChoice) -> Tensor:
    """The recorded weights between the words of a batch: (B, target words, source words)."""
    sizes = len(batch.indices), recorded[0].shape[1], batch.target_in.shape[1], batch.source.shape[1]
    weights = recorded[0].new_zeros(sizes)  # (B, H, T + 1, S)
    for row, index in enumerate(batch.indices):
        each = recorded[index]
        weights[row, :, : each.shape[0], : each.shape[2]] = each.transpose(0, 1)
    return between_words(weights, batch, choice.shift)


def _in_order(
    pairs: Sequence[EncodedPair],
    found: Iterable[tuple[PairBatch, Tensor]],
    named: str,
    threshold: float,
    progress: Callable[[int], None] | None = None,
) -> list[Alignment]:
    """One alignment a pair, from weights between words (B, target words, source words) of batches."""
    alignments: dict[int, Alignment] = {}
    for batch, weights in found:
        words = weights.cpu().numpy()
        for row, index in enumerate(batch.indices):
            pair = pairs[index]
            alignments[index] = Alignment(
                pair.source_words,
                pair.target_words,
                words[row, : len(pair.target_words), : len(pair.source_words)],
                pair.source_offsets,
                pair.target_offsets,
                named,
                threshold,
                pair.picture,
            )
        if progress is not None:
            progress(len(batch.indices))
    return [alignments[index] for index in range(len(pairs))]


def shift_rows(rows: Tensor, shift: int) -> Tensor:
    """Rows (..., T, S) of `<s> y1..yn` to rows of y1..yn, as predictions (shift 0) or as inputs (1)."""
    return rows[..., 1:, :] if shift else rows[..., :-1, :]


def attention_heads(
    model: Seq2Seq, pair: EncodedPair, shift: int, *, device: torch.device | str = "cpu"
) -> np.ndarray:
    """Attention between words of each layer and head, by teacher forcing.

    Args:
        shift: 0 takes the row that predicts a target piece, 1 the row that has it as input.
    Returns:
        (layers, heads, T words, S words) float32; a row sums to 1, or is zero.
    """
    with evaluation_mode(model):
        (batch,) = pair_batches([pair], 1, device)
        layers = model.forced_weights(
            batch.source, batch.source_mask, batch.target_in, range(model.num_attention_layers)
        )
        words = [
            pool_target(shift_rows(pool_source(weights, batch.source_words), shift), batch.target_words)
            for weights in layers
        ]
    return torch.cat(words).cpu().numpy()
