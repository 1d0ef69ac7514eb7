"""Tokens that may not follow at a step: limits of length, required prefixes, repetitions.

Shapes: B sentences, W hypotheses of each, N = B W, T tokens so far, V vocabulary.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from translate.config.search import SearchConfig
from translate.search.hypothesis import SearchedSentence
from translate.search.sources import SentenceGroup
from translate.text.documents import own_start
from translate.text.tokenizer import BOS, EOS, PAD

IMPOSSIBLE = float("-inf")


def begin_sentences(group: SentenceGroup, config: SearchConfig) -> list[SearchedSentence]:
    """The sentences of a group with their limits, before the first step."""
    limits = [reader.model.max_target_length for reader in group.readers]
    positions = min((limit for limit in limits if limit is not None), default=None)
    lengths = list(zip(*(reader.lengths for reader in group.readers), strict=True))
    sentences = []
    for row, (key, request, ids) in enumerate(
        zip(group.keys, group.requests, group.readers[0].source.tolist(), strict=True)
    ):
        length = lengths[row][0]
        own = length - own_start(ids[:length])  # limits follow the sentence, not those before it
        # A request is fulfilled even where that takes more pieces than a limit allows.
        longest = max(config.longest(own), request.length + 1)
        longest = longest if positions is None else min(longest, positions)
        shortest = min(config.shortest(own), longest)
        sentences.append(SearchedSentence(key, request, ids[:length], lengths[row], shortest, longest))
    return sentences


def forbid(
    log_probabilities: Tensor, ids: Tensor, sentences: Sequence[SearchedSentence | None], config: SearchConfig
) -> None:
    """Write -inf over the tokens that may not follow.

    Args:
        log_probabilities: (N, V), changed in place.
        ids: (B, W, T), each sentence's from the begin of sentence on, with padding before it.
        sentences: one for each of the B rows, or ``None``.
        config: see :class:`SearchConfig`.
    """
    width, device = ids.shape[1], ids.device
    live = [(slot, sentence) for slot, sentence in enumerate(sentences) if sentence is not None]
    prefixed = [
        (slot, sentence.request.prefix[sentence.length - 1])
        for slot, sentence in live
        if sentence.length <= len(sentence.request.prefix)
    ]
    early = [slot for slot, sentence in live if sentence.length < sentence.shortest]
    late = [slot for slot, sentence in live if sentence.length >= sentence.longest]

    def rows(slots: Sequence[int]) -> Tensor:
        numbers = torch.tensor(slots, device=device).unsqueeze(1) * width
        return (numbers + torch.arange(width, device=device)).flatten()

    if prefixed:  # a prefix is allowed, whatever else forbids it
        required = rows([slot for slot, _ in prefixed])
        tokens = torch.tensor([token for _, token in prefixed], device=device).repeat_interleave(width)
        kept = log_probabilities[required, tokens]
    log_probabilities[:, PAD] = IMPOSSIBLE
    log_probabilities[:, BOS] = IMPOSSIBLE
    if config.no_repeat_ngram and ids.shape[2] > config.no_repeat_ngram:
        _forbid_repetition(log_probabilities, ids.flatten(0, 1), config.no_repeat_ngram)
    if early:
        log_probabilities[rows(early), EOS] = IMPOSSIBLE
    if late:
        ending = rows(late)
        ends = log_probabilities[ending, EOS]
        log_probabilities[ending] = IMPOSSIBLE
        log_probabilities[ending, EOS] = ends
    if prefixed:
        log_probabilities[required] = IMPOSSIBLE
        log_probabilities[required, tokens] = kept


def _forbid_repetition(log_probabilities: Tensor, ids: Tensor, size: int) -> None:
    """Forbid the last token of every n-gram of ``size`` whose beginning the ids (N, T) end with."""
    windows = ids.unfold(1, size, 1)  # (N, T - size + 1, size)
    last = ids[:, ids.shape[1] - size + 1 :].unsqueeze(1)
    rows, starts = (windows[:, :, : size - 1] == last).all(2).nonzero(as_tuple=True)
    log_probabilities[rows, windows[rows, starts, -1]] = IMPOSSIBLE
