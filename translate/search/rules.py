"""What a translation may not say at a step: lengths, forced beginnings, repetitions.

Shapes: B sentences, W hypotheses of each, N = B W, T pieces so far and begin of sentence, V vocabulary.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from translate.config.search import SearchConfig
from translate.search.hypothesis import Request
from translate.text.tokenizer import BOS, EOS, PAD

IMPOSSIBLE = float("-inf")
FREE = -1  # no piece is forced


class Rules:
    """The limits of a batch's sentences.

    Args:
        config: see :class:`SearchConfig`.
        lengths: source pieces of each sentence, end of sentence counted.
        places: most target places that the model has, or ``None``.
        requests: one a sentence.
        device: of the scores.
    """

    def __init__(
        self,
        config: SearchConfig,
        lengths: Sequence[int],
        places: int | None,
        requests: Sequence[Request],
        device: torch.device,
    ) -> None:
        self.no_repeat = config.no_repeat_ngram
        # A request is fulfilled even where that takes more pieces than a limit allows.
        longest = [
            max(config.longest(n), request.length + 1) for n, request in zip(lengths, requests, strict=True)
        ]
        self.longest = longest if places is None else [min(length, places) for length in longest]
        self.shortest = [
            min(config.shortest(n), limit) for n, limit in zip(lengths, self.longest, strict=True)
        ]
        self.device = device
        width = max(len(request.prefix) for request in requests)
        padded = [[*request.prefix, *[FREE] * (width - len(request.prefix))] for request in requests]
        self.prefixes = torch.tensor(padded, dtype=torch.int64, device=device).view(len(requests), width)

    def apply(self, log_probabilities: Tensor, ids: Tensor) -> None:
        """Write -inf over what may not follow ``ids`` (B, W, T) into (N, V)."""
        length, width = ids.shape[2], ids.shape[1]  # with begin of sentence, so that the end would be counted
        if length <= self.prefixes.shape[1]:  # what is forced is allowed, whatever else is forbidden
            forced = self.prefixes[:, length - 1].repeat_interleave(width)
            rows = (forced != FREE).nonzero().squeeze(1)
            tokens = forced[rows]
            kept = log_probabilities[rows, tokens]
        log_probabilities[:, PAD] = IMPOSSIBLE
        log_probabilities[:, BOS] = IMPOSSIBLE
        if self.no_repeat and length > self.no_repeat:
            self._forbid_repetition(log_probabilities, ids.flatten(0, 1))
        if length < max(self.shortest):
            early = self._rows([length < limit for limit in self.shortest], width)
            log_probabilities[early, EOS] = IMPOSSIBLE
        if length >= min(self.longest):
            late = self._rows([length >= limit for limit in self.longest], width)
            ends = log_probabilities[late, EOS]
            log_probabilities[late] = IMPOSSIBLE
            log_probabilities[late, EOS] = ends
        if length <= self.prefixes.shape[1]:
            log_probabilities[rows] = IMPOSSIBLE
            log_probabilities[rows, tokens] = kept

    def keep(self, sentences: Sequence[int], rows: Tensor) -> None:
        """Keep the sentences at the given places, which ``rows`` holds too."""
        self.longest = [self.longest[i] for i in sentences]
        self.shortest = [self.shortest[i] for i in sentences]
        self.prefixes = self.prefixes[rows]

    def join(self, other: "Rules") -> None:
        """Go on with the sentences of ``other`` behind one's own."""
        self.longest += other.longest
        self.shortest += other.shortest
        width = max(self.prefixes.shape[1], other.prefixes.shape[1])
        padded = [
            torch.nn.functional.pad(each, (0, width - each.shape[1]), value=FREE)
            for each in (self.prefixes, other.prefixes)
        ]
        self.prefixes = torch.cat(padded)

    def _rows(self, chosen: list[bool], width: int) -> Tensor:
        return torch.tensor(chosen, device=self.device).repeat_interleave(width)

    def _forbid_repetition(self, log_probabilities: Tensor, ids: Tensor) -> None:
        size = self.no_repeat
        windows = ids.unfold(1, size, 1)  # (N, T - size + 1, size)
        last = ids[:, ids.shape[1] - size + 1 :].unsqueeze(1)
        rows, places = (windows[:, :, : size - 1] == last).all(2).nonzero(as_tuple=True)
        log_probabilities[rows, windows[rows, places, -1]] = IMPOSSIBLE
