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
from translate.config.names import counted
from translate.config.search import SearchConfig
from translate.search.beam import Finished, Hypothesis
from translate.search.ctranslate2.conversion import Convertible
from translate.text.tokenizer import BOS, EOS, PAD

AHEAD = 3  # groups that wait for a worker, for every worker: it never waits for Python, and memory is bounded
Shown = AlignmentChoice | None
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
        run: that was converted.
    """

    name = "ctranslate2"

    def __init__(self, library: Any, translator: Any, run: Convertible) -> None:
        self.library = library
        self.translator = translator
        self.choice = run.choice
        self.longest_target = run.longest_target
        self.source_pieces = run.tokenizers.source.all_pieces
        target = run.tokenizers.target.all_pieces
        self.ids: Mapping[str, int] = {piece: number for number, piece in enumerate(target)}
        self.end, self.never = target[EOS], {target[PAD], target[BOS]}

    def __str__(self) -> str:
        workers = counted(self.translator.num_translators, "worker")
        return f"CTranslate2 {self.library.__version__} ({self.translator.compute_type}, {workers})"

    def shows(self, choice: AlignmentChoice) -> bool:
        """Whether the attention that it returns is that of a choice: the one with which it was converted.

        A mean of several heads is not: ours leaves out the end of the source before the heads are averaged.
        """
        heads = self.choice.layer, self.choice.heads
        return len(choice.heads) == 1 and (choice.layer, choice.heads) == heads

    def search(
        self,
        groups: Iterable[Sequence[int]],
        sources: Sequence[Sequence[int]],
        config: SearchConfig,
        *,
        n_best: int = 1,
        choice: Shown = None,
    ) -> Iterator[Finished]:
        """Search the sentences of each group together, and groups side by side.

        A sentence without hypotheses is left to our own search.

        Args:
            groups: indexes of sentences of similar length.
            sources: ids of every sentence without the end of sentence.
            config: of which CTranslate2 has every setting.
            n_best: number of hypotheses wanted of each sentence.
            choice: the attention that the best ones carry, if the engine shows it.
        """
        choice = choice if choice and self.shows(choice) else None
        waiting: deque[_Submitted] = deque()
        for group in groups:
            waiting.append(self._submit(group, sources, config, choice))
            if len(waiting) > AHEAD * self.translator.num_translators:
                yield from self._read(waiting.popleft(), config, n_best, choice)
        while waiting:
            yield from self._read(waiting.popleft(), config, n_best, choice)

    def _submit(
        self, group: Sequence[int], sources: Sequence[Sequence[int]], config: SearchConfig, choice: Shown
    ) -> "_Submitted":
        # A longer translation than the table of positions is left to our search, which needs none.
        limits = [min(config.longest(len(sources[i]) + 1), self.longest_target) for i in group]
        pieces = [[self.source_pieces[piece] for piece in sources[i]] for i in group]
        results = self.translator.translate_batch(
            pieces,
            asynchronous=True,
            beam_size=config.beam_size,
            # All of them: they show that each had ended within the limit of its sentence.
            num_hypotheses=config.beam_size,
            # Without one, CTranslate2 ends a search by other hypotheses than ours.
            length_penalty=config.length_penalty or 1e-9,
            max_input_length=0,
            max_decoding_length=max(limits),  # one limit for the group, with the end of sentence
            min_decoding_length=0,
            return_scores=True,
            return_end_token=True,
            return_attention=choice is not None,
        )
        firsts: Sequence[Any] = [None] * len(group)
        if choice and config.beam_size > 1 and len(group) > 1 and choice.shift == 0:
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
        self, submitted: "_Submitted", config: SearchConfig, n_best: int, choice: Shown
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
            if choice:
                rows = result.attention[0]
                if first is not None:
                    rows[0] = first.result().attention[0][0]
                weights = torch.from_numpy(np.array(rows, dtype=np.float32)).unsqueeze(1)
                found[0] = found[0]._replace(weights=weights)  # (T + 1, 1, S), without the end of the source
            yield Finished(index, found)

    def _has_ended(self, pieces: list[str], limit: int) -> bool:
        """Whether a hypothesis has ended within the limit, by pieces that our search allows."""
        return len(pieces) <= limit and pieces[-1] == self.end and self.never.isdisjoint(pieces)
