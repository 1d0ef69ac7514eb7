"""The methods of alignment: attention, norm, gradient and erasure; weights between the words of pairs.

All of them read pairs by teacher forcing. :func:`align_recorded` takes what a search has recorded instead.
"""

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from translate.alignment.alignment import Alignment, AlignmentChoice
from translate.alignment.pairs import (
    MAX_CELLS,
    EncodedPair,
    PairBatch,
    check_lengths,
    pair_batch,
    pair_batches,
    pool_source,
    pool_target,
    renormalise,
)
from translate.errors import UserError
from translate.models.seq2seq import Seq2Seq, evaluation_mode

MAX_SCORES = 2**22  # scores over the vocabulary in memory at a time
LEAST = 1e-6  # attention that a source piece has, so that its logarithm is finite


def attention(model: Seq2Seq, batch: PairBatch, choice: AlignmentChoice) -> Tensor:
    """The chosen attention between words: (B, target words, source words)."""
    (weights,) = model.forced_weights(batch.source, batch.source_mask, batch.target_in, [choice.layer])
    return between_words(weights[:, list(choice.heads)], batch, choice.shift)


def between_words(weights: Tensor, batch: PairBatch, shift: int) -> Tensor:
    """Weights between pieces (B, H, T, S), averaged over heads: (B, target words, source words)."""
    heads = renormalise(pool_source(weights, batch.source_words).mean(1, keepdim=True))
    rows = shift_rows(heads, shift)  # without the rows of heads that are zero
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
    weights = model.read_weights(encoded, batch.target_in, [choice.layer])[0][:, heads]  # (B, h, T, S)
    # |sum_h a_h f_h|^2 = sum_hg a_h a_g f_h.f_g, so that no (B, T, S, C) is held.
    products = torch.einsum("bhsc,bgsc->bhgs", values, values)
    squares = torch.einsum("bhts,bhgs,bgts->bts", weights, products, weights)
    sizes = squares.clamp_min(0).sqrt().unsqueeze(1)  # (B, 1, T, S)
    rows = shift_rows(pool_source(sizes, batch.source_words), choice.shift)
    return pool_target(rows, batch.target_words).squeeze(1)


def gradient(model: Seq2Seq, batch: PairBatch) -> Tensor:
    """Gradient times input between words: (B, target words, source words), rows that sum to 1 or are zero.

    |x_s . d log p(y_t | y_<t, x) / d x_s| for the embedding x_s of each source piece, before positions are
    added: the first-order estimate of the effect of erasing it (Denil et al. 2014). Ding et al. 2019 show
    that such saliency aligns better than attention; they use the probability and average over noise.
    """
    pieces = piece_gradients(model, batch).unsqueeze(1)
    return pool_target(pool_source(pieces, batch.source_words), batch.target_words).squeeze(1)


def piece_gradients(model: Seq2Seq, batch: PairBatch) -> Tensor:
    """Absolute gradient times input of each target piece and source piece: (B, T - 1, S)."""
    wanted = batch.target_in[:, 1:]
    # cuDNN refuses the backward pass of a recurrence in evaluation mode.
    with torch.enable_grad(), torch.backends.cudnn.flags(enabled=False):
        embedded = model.embed_source(batch.source).detach().requires_grad_()
        hidden = model.read_target(
            model.encode_embedded(embedded, batch.source_mask, model.parts_of(batch.source)), batch.target_in
        )
        rows = [batch.source.new_zeros(batch.source.shape[:2], dtype=torch.float32)] * wanted.shape[1]
        # One backward pass for every position serves all sentences: a sentence's gradients stay in its row.
        for position in range(wanted.shape[1]):
            scores = torch.log_softmax(model.logits(hidden[:, position]).float(), dim=-1)
            chosen = scores.gather(1, wanted[:, position : position + 1])
            (slope,) = torch.autograd.grad(chosen.sum(), embedded, retain_graph=True)
            rows[position] = (slope * embedded.detach()).sum(-1).abs().float()
    return torch.stack(rows, 1) if rows else hidden.new_zeros(len(wanted), 0, batch.source.shape[1])


def erasure(model: Seq2Seq, batch: PairBatch) -> Tensor:
    """Leave-one-out drops between words: (B, target words, source words), rows that sum to 1 or are zero.

    max(0, log p(w | x) - log p(w | x without v)) for the pieces of each target word w, given the target
    before it, and each source word v, whose pieces are removed from the sentence (Li et al. 2016, erasure of
    words). Takes one pass for every word of the longest source.
    """
    drops = torch.zeros(
        len(batch.source),
        batch.target_words.shape[-1],
        batch.source_words.shape[-1],
        device=batch.source.device,
    )
    if drops.numel() == 0:
        return drops
    whole = word_log_probabilities(
        model, batch.source, batch.source_mask, batch.target_in, batch.target_words
    )
    mask = batch.source_mask
    visible = batch.source.new_ones(batch.source.shape[:2], dtype=torch.bool) if mask is None else mask
    for word in range(drops.shape[-1]):
        erased = batch.source_words[:, :, word] > 0
        rows = erased.any(1).nonzero().squeeze(1)  # a GPU synchronises here
        if len(rows) == 0:
            continue
        source, source_mask = keep(batch.source[rows], (visible & ~erased)[rows])
        without = word_log_probabilities(
            model, source, source_mask, batch.target_in[rows], batch.target_words[rows]
        )
        drops[rows, :, word] = (whole[rows] - without).clamp_min(0)
    return renormalise(drops)


def keep(source: Tensor, kept: Tensor) -> tuple[Tensor, Tensor | None]:
    """Drop the positions of sources (B, S, ...) where kept (B, S) is False; returns the rest as `pad`."""
    order = torch.argsort(~kept, dim=1, stable=True)
    lengths = kept.sum(1)
    longest = int(lengths.max())
    mask = torch.arange(longest, device=source.device) < lengths.unsqueeze(1)
    rows = torch.arange(len(source), device=source.device).unsqueeze(1)
    return source[rows, order[:, :longest]], None if bool(mask.all()) else mask


def word_log_probabilities(
    model: Seq2Seq, source: Tensor, source_mask: Tensor | None, target_in: Tensor, target_words: Tensor
) -> Tensor:
    """Sum of the log-probabilities of each target word's pieces, nats: (B, target words)."""
    wanted = target_in[:, 1:]
    states = model(source, source_mask, target_in)[:, :-1].flatten(0, 1)
    ids = wanted.flatten()
    rows = max(16, MAX_SCORES // len(model.output_weight))
    parts = []
    for begin in range(0, max(1, len(states)), rows):
        scores = torch.log_softmax(model.logits(states[begin : begin + rows]).float(), dim=-1)
        parts.append(scores.gather(1, ids[begin : begin + rows, None]).squeeze(1))
    pieces = torch.cat(parts).view(wanted.shape)
    return torch.einsum("btw,bt->bw", (target_words > 0).float(), pieces)


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
    progress: Callable[[int], None] | None = None,
) -> list[Alignment]:
    """Align pairs by teacher forcing, with one of the methods.

    Args:
        choice: the layer, heads and shift of `attention` and `norm`; the others read none. Its threshold is
            that of `attention` alone.
        method: `attention`, `gradient`, `erasure` or `norm`.
        batch_size: most pairs of a batch; by default as many as `BATCH_TOKENS` hold.
        progress: called after each batch with the number of pairs in it.
    Returns:
        One alignment for every pair, in the order given.
    Raises:
        UserError: for an unknown method, if the model does not have the chosen layer or heads, or for a pair
            longer than the positions that it has learned.
    """
    if method not in METHODS:
        raise UserError(f"alignment method '{method}' is not known; choose one of {', '.join(METHODS)}")
    choice.check(model)
    check_lengths(model, pairs)
    named = f"{method}, {choice.caption}" if method in READ_ATTENTION else method
    with evaluation_mode(model):
        batches = pair_batches(pairs, batch_size, model.output_weight.device)
        found = ((batch, METHODS[method](model, batch, choice)) for batch in batches)
        # The threshold was chosen for what the attention is, not for the other methods.
        return _in_order(pairs, found, named, choice.threshold if method == "attention" else 0.0, progress)


def align_recorded(
    pairs: Sequence[EncodedPair], choice: AlignmentChoice, recorded: Sequence[Tensor]
) -> list[Alignment]:
    """Align pairs by attention, from weights that a search has recorded; no model is run.

    Args:
        pairs: of sources and the translations that were found.
        recorded: (T + 1, H, S) of each pair, H the chosen heads of the chosen layer.
    """
    device, longest = recorded[0].device, [max(own.shape[i] for own in recorded) for i in (0, 2)]
    few = len(pairs) * longest[0] * longest[1] <= MAX_CELLS
    batches = (
        [pair_batch(pairs, list(range(len(pairs))), device)] if few else pair_batches(pairs, None, device)
    )
    found = ((batch, _recorded_words(batch, recorded, choice)) for batch in batches)
    return _in_order(pairs, found, f"attention, {choice.caption}", choice.threshold)


def _recorded_words(batch: PairBatch, recorded: Sequence[Tensor], choice: AlignmentChoice) -> Tensor:
    """The recorded weights between the words of a batch: (B, target words, source words)."""
    sizes = len(batch.indices), recorded[0].shape[1], batch.target_in.shape[1], batch.source.shape[1]
    weights = recorded[0].new_zeros(sizes)  # (B, H, T + 1, S)
    for row, index in enumerate(batch.indices):
        own = recorded[index]
        weights[row, :, : own.shape[0], : own.shape[2]] = own.transpose(0, 1)
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


def attention_heads(model: Seq2Seq, pair: EncodedPair, shift: int) -> np.ndarray:
    """Attention between words of each layer and head, by teacher forcing.

    Args:
        shift: 0 takes the row that predicts a target piece, 1 the row that has it as input.
    Returns:
        (layers, heads, T words, S words) float32; a row sums to 1, or is zero.
    """
    with evaluation_mode(model):
        (batch,) = pair_batches([pair], 1, model.output_weight.device)
        layers = model.forced_weights(
            batch.source, batch.source_mask, batch.target_in, range(model.num_attention_layers)
        )
        words = [
            pool_target(shift_rows(pool_source(weights, batch.source_words), shift), batch.target_words)
            for weights in layers
        ]
    return torch.cat(words).cpu().numpy()


def coverage(weights: Sequence[Tensor], shift: int) -> list[float]:
    """sum_j log(min(sum_i a_ij, 1)) of each translation, 0 where all is covered: Wu et al. 2016, eq. 14.

    a_ij is the mean attention of target piece i to source piece j. Deviation: the end of sentence is left
    out of both, and the rows are normalised without it.

    Args:
        weights: of translations of one sentence, (T + 1, H, S) each; row t predicts target piece t, and the
            last source piece is the end of sentence.
        shift: 0 takes the row that predicts a target piece, 1 the row that has it as input.
    """
    rows = [own[1:] if shift else own[:-1] for own in weights]
    heads = pad_sequence(rows, batch_first=True)[..., :-1].float().abs()  # (translations, T, H, S - 1)
    means = renormalise(renormalise(heads).mean(2))
    return [float(value) for value in means.sum(1).clamp(LEAST, 1.0).log().sum(1).tolist()]
