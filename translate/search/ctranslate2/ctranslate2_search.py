"""The search of CTranslate2 in place of our own: groups of sentences in, hypotheses out.

A result is taken only if our own search would have found the same but for rounding. A sentence that
CTranslate2 cut off at the maximum length, where ours lets a hypothesis end, is left to our search.

Shapes: T target pieces, S source pieces.
"""

import math
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from translate.alignment.alignment import AlignmentChoice
from translate.config.search import SearchConfig
from translate.search import Finished, Hypothesis
from translate.text.tokenizer import BOS, EOS, PAD, TokenizerPair

AHEAD = 3  # groups that wait for a worker, for every worker: it never waits for Python, and memory is bounded
MAX_WORKERS = 16  # of one thread each, which is faster than one of many threads


class _Submitted(NamedTuple):
    """A group of sentences that CTranslate2 works on."""

    group: Sequence[int]
    limits: Sequence[int]  # most target pieces of each, with the end of sentence
    results: Sequence[Any]  # of each, to be waited for
    firsts: Sequence[Any]  # of each, of a search of one step; or None


class CTranslate2Search:
    """CTranslate2 with the converted model of a run.

    Args:
        library: ctranslate2.
        translator: its ``Translator``.
        tokenizers: of the run.
        choice: the attention that is shown as the alignment.
        longest_target: most target pieces, with the end of sentence, for which the model has positions.
    """

    name = "ctranslate2"

    def __init__(
        self,
        library: Any,
        translator: Any,
        tokenizers: TokenizerPair,
        choice: AlignmentChoice,
        longest_target: int,
    ) -> None:
        self.library = library
        self.translator = translator
        self.choice = choice
        self.longest_target = longest_target
        self.source_pieces = tokenizers.source.all_pieces
        target = tokenizers.target.all_pieces
        self.ids: Mapping[str, int] = {piece: number for number, piece in enumerate(target)}
        self.end, self.never = target[EOS], (target[PAD], target[BOS])

    def __str__(self) -> str:
        workers = self.translator.num_translators
        kind = self.translator.compute_type
        return (
            f"CTranslate2 {self.library.__version__} "
            f"({kind}, {workers} {'worker' if workers == 1 else 'workers'})"
        )

    @property
    def shows_heads(self) -> bool:
        """Whether the attention that it returns is that of the run's choice.

        A mean of several heads is not: ours leaves out the end of the source before the heads are averaged.
        """
        return len(self.choice.heads) == 1

    def search(
        self,
        groups: Iterable[Sequence[int]],
        sources: Sequence[Sequence[int]],
        config: SearchConfig,
        *,
        n_best: int = 1,
        attention: bool = False,
    ) -> Iterator[Finished]:
        """Search the sentences of each group together, and groups side by side.

        A sentence without hypotheses is left to our own search.

        Args:
            groups: indexes of sentences of similar length.
            sources: ids of every sentence without the end of sentence.
            config: of which CTranslate2 has every setting.
            n_best: number of hypotheses wanted of each sentence.
            attention: whether the best ones carry their attention, if it is that of the run's choice.
        """
        attention = attention and self.shows_heads
        waiting: deque[_Submitted] = deque()
        for group in groups:
            waiting.append(self._submit(group, sources, config, attention=attention))
            if len(waiting) > AHEAD * self.translator.num_translators:
                yield from self._read(waiting.popleft(), config, n_best, attention=attention)
        while waiting:
            yield from self._read(waiting.popleft(), config, n_best, attention=attention)

    def _submit(
        self, group: Sequence[int], sources: Sequence[Sequence[int]], config: SearchConfig, *, attention: bool
    ) -> "_Submitted":
        # A longer translation than the table of positions is left to our search, which needs none.
        limits = [min(config.longest(len(sources[i]) + 1), self.longest_target) for i in group]
        pieces = [[self.source_pieces[piece] for piece in sources[i]] for i in group]
        results = self.translator.translate_batch(
            pieces,
            asynchronous=True,
            beam_size=config.beam_size,
            # All of them: they show that each had ended within the limit of its sentence. And with fewer,
            # CTranslate2 may end a search without a length penalty sooner than ours.
            num_hypotheses=config.beam_size,
            length_penalty=config.length_penalty,
            max_input_length=0,
            max_decoding_length=max(limits),  # one limit for the group, with the end of sentence
            min_decoding_length=0,
            return_scores=True,
            return_end_token=True,
            return_attention=attention,
        )
        firsts: Sequence[Any] = [None] * len(group)
        if attention and config.beam_size > 1 and len(group) > 1 and self.choice.shift == 0:
            # With a beam, CTranslate2 4.8 returns another sentence's attention of the first step.
            firsts = self.translator.translate_batch(
                pieces,
                asynchronous=True,
                beam_size=1,
                max_input_length=0,
                max_decoding_length=1,
                return_attention=True,
            )
        return _Submitted(group, limits, results, firsts)

    def _read(
        self, submitted: "_Submitted", config: SearchConfig, n_best: int, *, attention: bool
    ) -> Iterator[Finished]:
        """The hypotheses of a group, once it is done."""
        for index, limit, waiting, first in zip(*submitted, strict=True):
            result = waiting.result()
            hypotheses, scores = result.hypotheses, result.scores
            ended = all(self._has_ended(pieces, limit) for pieces in hypotheses)
            if not (ended and all(map(math.isfinite, scores))):
                yield Finished(index, [])
                continue
            found = []
            for pieces, score in zip(hypotheses[:n_best], scores):
                ids = [self.ids[piece] for piece in pieces]
                ids.pop()  # the end of sentence
                found.append(Hypothesis(ids, score))
            if attention:
                rows = result.attention[0]
                if first is not None:
                    rows[0] = first.result().attention[0][0]
                found[0] = found[0]._replace(weights=attention_tensor(rows))
            yield Finished(index, found)

    def _has_ended(self, pieces: list[str], limit: int) -> bool:
        """Whether a hypothesis has ended within the limit, by pieces that our search allows."""
        first, second = self.never
        return (
            len(pieces) <= limit and pieces[-1] == self.end and first not in pieces and second not in pieces
        )


def attention_tensor(weights: Sequence[Sequence[float]]) -> torch.Tensor:
    """The rows of a result as (T + 1, 1, S) of one head; the end of the source is not among the S."""
    return torch.from_numpy(np.array(weights, dtype=np.float32)).unsqueeze(1)
