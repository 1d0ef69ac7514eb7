"""Translations, and how those of a batch of sentences are made."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

import torch

from translate.alignment.alignment import Alignment
from translate.alignment.choice import AlignmentChoice
from translate.alignment.coverage_penalty import coverage
from translate.alignment.extract import align_found
from translate.alignment.forced import EncodedPair
from translate.config.search import SearchConfig
from translate.models import Seq2Seq
from translate.search import (
    Found,
    Hypothesis,
    Reader,
    Request,
    Supply,
    beam_searches,
    decode,
    expected_chrf,
    read_sources,
)
from translate.text.tokenizer import Pieces, Tokenizer

Item = TypeVar("Item")


@dataclass(frozen=True)
class Candidate:
    """One of the n best translations of a sentence."""

    text: str
    score: float  # as the translation's
    tokens: tuple[str, ...] = ()  # pieces


@dataclass(frozen=True)
class Translation:
    """A sentence's best translation; ``alignment`` and ``n_best`` if they were asked for.

    The score is the log-probability (natural logarithm), normalised by the length as the run's search says,
    or with minimum Bayes risk the mean chrF against the samples, 0 to 100.
    """

    text: str
    score: float
    alignment: Alignment | None = None
    n_best: tuple[Candidate, ...] = ()
    tokens: tuple[str, ...] = ()  # pieces


class Sentences(NamedTuple):
    """A batch of sentences, as the models read them."""

    pieces: Sequence[Pieces]  # of each sentence, for the first model
    others: Sequence[Sequence[list[int]]]  # for each further model, ids of each sentence
    requests: Sequence[Request]  # one a sentence


@dataclass(frozen=True)
class BatchTranslator:
    """What the batches of one call have in common. Threads may translate with it side by side.

    Attributes:
        models: one or an ensemble, in evaluation mode, on one device.
        target: the tokenizer of the translations.
        config: how to search.
        choice: the first model's attention that is shown.
        n_best: how many candidates a translation lists, if more than 1.
        mbr: how many samples choose the one that agrees best with all, if any.
        aligned: whether translations carry their alignments.
    """

    models: Sequence[Seq2Seq]
    target: Tokenizer
    config: SearchConfig
    choice: AlignmentChoice
    n_best: int
    mbr: int | None
    aligned: bool

    def translate(
        self, supply: Supply[Item], read: Callable[[Item], Sentences]
    ) -> Iterator[tuple[Item, list[Translation], int]]:
        """The translations of each batch, and for how many of them nothing met the constraints.

        Args:
            supply: batches, which other workers may take from, too.
            read: what is known of a batch.
        """
        layer = self.choice.layer if self.aligned else None

        def begin(item: Item) -> tuple[Sequence[Reader], Sequence[Request]]:
            batch = read(item)
            ids = [[each.ids for each in batch.pieces], *batch.others]
            return read_sources(self.models, ids), batch.requests

        def sampled() -> Iterator[Found[Item]]:
            while (item := supply.take()) is not None:
                readers, requests = begin(item)
                yield Found(item, readers, decode(readers, self.config, requests, self.mbr or self.n_best))

        searches = sampled() if self.config.sample else beam_searches(supply, begin, self.config, layer)
        for item, readers, hypotheses in searches:
            batch = read(item)
            unmet = self._without_constraints(readers, batch.requests, hypotheses, layer)
            if self.mbr:
                hypotheses = [self._least_risk(samples) for samples in hypotheses]
            elif self.config.coverage_penalty and not self.config.sample:
                hypotheses = self._covered(readers[0], hypotheses)
            yield item, self._results(readers[0], batch.pieces, hypotheses), unmet

    def _without_constraints(
        self,
        readers: Sequence[Reader],
        requests: Sequence[Request],
        found: list[list[Hypothesis]],
        layer: int | None,
    ) -> int:
        """Put hypotheses that need not meet the constraints where none does; gives for how many sentences."""
        failed = [place for place, hypotheses in enumerate(found) if not hypotheses]
        if failed:
            rows = torch.tensor(failed, device=readers[0].source.device)
            plain = [replace(requests[place], phrases=()) for place in failed]
            without = decode([each.select(rows) for each in readers], self.config, plain, 1, layer=layer)
            for place, hypotheses in zip(failed, without, strict=True):
                found[place] = hypotheses
        return len(failed)

    def _results(
        self, reader: Reader, pieces: Sequence[Pieces], hypotheses: Sequence[list[Hypothesis]]
    ) -> list[Translation]:
        if not self.aligned:
            return [self._result(each, self.target.decode(each[0].ids)) for each in hypotheses]
        targets = [self.target.decode_words(each[0].ids) for each in hypotheses]
        found = [self._result(each, text) for each, (text, _) in zip(hypotheses, targets, strict=True)]
        pairs = [EncodedPair.of(source, words) for source, (_, words) in zip(pieces, targets, strict=True)]
        return self._with_alignments(found, reader, pairs, hypotheses)

    def _least_risk(self, samples: list[Hypothesis]) -> list[Hypothesis]:
        """Different texts among the samples, the one that agrees best with all first."""
        texts = [self.target.decode(each.ids) for each in samples]
        scored = zip(texts, samples, expected_chrf(texts).tolist(), strict=True)
        unique = {text: each._replace(score=score) for text, each, score in scored}
        return sorted(unique.values(), key=lambda each: -each.score)

    def _covered(self, reader: Reader, found: list[list[Hypothesis]]) -> list[list[Hypothesis]]:
        """The same hypotheses in the order of scores with the coverage penalty."""
        flat = [(index, each) for index, hypotheses in enumerate(found) for each in hypotheses]
        sources = [
            ids[: length - 1] for ids, length in zip(reader.source.tolist(), reader.lengths, strict=True)
        ]
        penalties = coverage(
            reader.model,
            [sources[index] for index, _ in flat],
            [each.ids for _, each in flat],
            self.choice,
            batch_size=self.config.batch_size,
            device=reader.source.device,
        )
        scored: list[list[Hypothesis]] = [[] for _ in found]
        for (index, each), penalty in zip(flat, penalties, strict=True):
            scored[index].append(each._replace(score=each.score + self.config.coverage_penalty * penalty))
        return [sorted(each, key=lambda h: -h.score) for each in scored]

    def _result(self, hypotheses: list[Hypothesis], text: str) -> Translation:
        """The translation that the best hypothesis is, whose text is given."""
        best = hypotheses[0]
        candidate = Candidate(text, best.score, tuple(self.target.pieces(best.ids)))
        listed = tuple(
            Candidate(self.target.decode(each.ids), each.score, tuple(self.target.pieces(each.ids)))
            for each in hypotheses[1 : self.n_best]
        )
        n_best = (candidate, *listed) if self.n_best > 1 else ()
        return Translation(text, best.score, n_best=n_best, tokens=candidate.tokens)

    def _with_alignments(
        self,
        results: Sequence[Translation],
        reader: Reader,
        pairs: Sequence[EncodedPair],
        found: Sequence[Sequence[Hypothesis]],
    ) -> list[Translation]:
        """Each best path, piece by piece as it was found, with what it looked at."""
        assert reader.encoded is not None
        noted = [best.weights for best, *_ in found]
        aligned = align_found(reader.model, pairs, self.choice, reader.encoded, noted)
        return [replace(result, alignment=each) for result, each in zip(results, aligned, strict=True)]
