"""Translations and their options, and the way from encoded sentences to translations."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, TypedDict

import torch

from translate.alignment.alignment import Alignment
from translate.alignment.choice import AlignmentChoice
from translate.alignment.coverage_penalty import coverage
from translate.alignment.extract import align, align_recorded
from translate.alignment.pairs import EncodedPair
from translate.config.search import SearchConfig
from translate.errors import UserError
from translate.models import Seq2Seq
from translate.search import (
    Beam,
    Draw,
    Finished,
    Hypothesis,
    Record,
    SentenceGroup,
    Supply,
    expected_chrf,
    length_batches,
    search,
)
from translate.search.ctranslate2.ctranslate2_search import CTranslate2Search, EngineSearch
from translate.source_reading import Sources
from translate.text.documents import own_start
from translate.text.tokenizer import Tokenizer

MOST_SAMPLES = 1_000  # of a sentence; minimum Bayes risk compares each two of them
TOGETHER = 64  # translations whose alignments are computed together


@dataclass(frozen=True)
class TranslateOptions:
    """The less common options of :meth:`Translator.translate`.

    Attributes:
        batch_size: most sentences at a time; the run's own by default, fewer if each has many hypotheses.
        prefix: beginning of every translation, or of each sentence's.
        constraints: phrases that every translation must contain, or a list of phrases for each sentence.
        mbr: draw this many samples and take the one that agrees best with all: minimum Bayes risk with chrF.
        search: all other settings: ``replace(translator.search, sample=True, seed=3)``; the run's by default.
        markup: carry tags and placeholders over to the words aligned to theirs.
        replace_unknown: replace an unknown word by the source word it is aligned to.
        context: the sentences before each one in its document, the nearest last, for a run that reads them.
    """

    batch_size: int | None = None
    prefix: str | Sequence[str] | None = None
    constraints: Sequence[str] | Sequence[Sequence[str]] | None = None
    mbr: int | None = None
    search: SearchConfig | None = None
    markup: bool = False
    replace_unknown: bool = False
    context: Sequence[Sequence[str]] | None = None

    def search_config(self, search: SearchConfig, beam_size: int | None, n_best: int) -> SearchConfig:
        """The search settings of one call.

        Args:
            search: the run's own.
            beam_size: in place of theirs, if given.
            n_best: number of texts wanted, which they must give.

        Raises:
            UserError: for settings that are impossible.
        """
        asked: dict[str, Any] = {"beam_size": beam_size, "batch_size": self.batch_size}
        asked["sample"] = True if self.mbr else None
        given = {name: value for name, value in asked.items() if value is not None}
        search = self.search or search
        try:
            search = replace(search, **given) if given else search  # checks every setting anew
        except ValueError as error:
            raise UserError(str(error)) from error
        if self.mbr is not None and not 2 <= self.mbr <= MOST_SAMPLES:
            raise UserError(f"mbr: expected 2 to {MOST_SAMPLES:,} samples, got {self.mbr}")
        most = self.mbr or (MOST_SAMPLES if search.sample else search.beam_size)
        if not 1 <= n_best <= most:
            name = "mbr=" if self.mbr else "" if search.sample else "beam_size="
            hint = "" if search.sample else "; a wider beam has more"
            raise UserError(f"n_best: expected 1 to {name}{most}, got {n_best}{hint}")
        hypotheses = (self.mbr or n_best) if search.sample else search.beam_size
        return search if self.batch_size else search.within_memory(hypotheses)

    @property
    def beside_search(self) -> list[str]:
        """The names of the given options that are no settings of the search, but change what it finds."""
        given = {"prefix": self.prefix is not None, "constraints": bool(self.constraints), "mbr": self.mbr}
        return [name for name, value in given.items() if value] + ["context"] * any(self.context or ())


class OptionKeywords(TypedDict, total=False):
    """:class:`TranslateOptions` as keywords."""

    batch_size: int | None
    prefix: str | Sequence[str] | None
    constraints: Sequence[str] | Sequence[Sequence[str]] | None
    mbr: int | None
    search: SearchConfig | None
    markup: bool
    replace_unknown: bool
    context: Sequence[Sequence[str]] | None


@dataclass(frozen=True)
class ScoredText:
    """One of the n best translations of a sentence."""

    text: str
    score: float  # as the translation's
    tokens: tuple[str, ...] = ()  # pieces


@dataclass(frozen=True)
class Translation:
    """A sentence's best translation, with ``alignment`` and ``n_best`` on request.

    The score is the log-probability (natural logarithm), normalised by the length as the run's search says,
    or with minimum Bayes risk the mean chrF against the samples, 0 to 100.
    """

    text: str
    score: float
    alignment: Alignment | None = None
    n_best: tuple[ScoredText, ...] = ()
    tokens: tuple[str, ...] = ()  # pieces
    engine: str = "torch"  # or ctranslate2: what searched for it


@dataclass(frozen=True)
class BatchTranslator:
    """Translates sentences of one call; threads may do so side by side.

    Attributes:
        models: one or an ensemble, in evaluation mode, on one device.
        target: the tokenizer of the translations.
        config: search settings.
        choice: the attention of the first model that is shown.
        sources: the sentences.
        n_best: number of texts that a translation lists, if more than 1.
        mbr: number of samples, if minimum Bayes risk chooses among them.
        aligned: whether translations carry their alignments.
        engine: CTranslate2 with the model, if it is to translate.
    """

    models: Sequence[Seq2Seq]
    target: Tokenizer
    config: SearchConfig
    choice: AlignmentChoice
    sources: Sources
    n_best: int
    mbr: int | None
    aligned: bool
    engine: CTranslate2Search | None = None

    def translate_elsewhere(
        self, groups: Iterable[Sequence[int]], left: list[int], meanwhile: Callable[[], None]
    ) -> Iterator[tuple[int, Translation]]:
        """Each sentence's index and translation by the engine; see :meth:`CTranslate2Search.search`."""
        assert self.engine is not None
        wanted = EngineSearch(self.config, self.n_best, self.aligned and self.engine.shows_heads)
        sources = [each.ids for each in self.sources.pieces]
        found = self.engine.search(groups, sources, wanted, left, meanwhile)
        threads = torch.get_num_threads()
        torch.set_num_threads(1)  # the engine's workers have the cores; torch only pools small matrices
        try:
            for index, result, _ in self.results(found, met=True, engine=self.engine.name):
                yield index, result
        finally:
            torch.set_num_threads(threads)

    def translate(self, supply: Supply[list[int]]) -> Iterator[tuple[int, Translation, bool]]:
        """Each sentence's index, its translation, and whether the translation meets its constraints.

        Args:
            supply: indexes of sentences of similar length; other workers may take from it, too.
        """
        unmet: list[int] = []
        found = self._search(supply, constrained=True)
        yield from self.results((each for each in found if _has_ended(each, unmet)), met=True)
        if unmet:
            again = Supply(self.groups(unmet))
            yield from self.results(self._search(again, constrained=False), met=False)

    def groups(self, sentences: Iterable[int]) -> list[list[int]]:
        """The sentences in batches of similar lengths, the longest first: others may wait for the last."""
        chosen = list(sentences)
        hypotheses = (self.mbr or self.n_best) if self.config.sample else self.config.beam_size
        heads = len(self.choice.heads) if self.record else 0

        def held(length: int) -> tuple[int, int]:
            steps = self.config.longest(length + 1) * hypotheses
            return (length + 1) * steps * heads, steps * self.models[0].cached_numbers

        lengths = [len(self.sources.pieces[index].ids) for index in chosen]
        batches = length_batches(lengths, self.config.batch_size, held)
        return [[chosen[place] for place in batch] for batch in batches][::-1]

    @property
    def record(self) -> Record | None:
        """The attention that hypotheses carry, if any."""
        recorded = self.aligned or (self.config.coverage_penalty > 0 and not self.config.sample)
        return Record(self.choice.layer, self.choice.heads) if recorded else None

    def _search(self, supply: Supply[list[int]], *, constrained: bool) -> Iterator[Finished]:
        def begin(chosen: list[int]) -> SentenceGroup:
            return self.sources.group(self.models, chosen, constrained=constrained)

        policy = Draw(self.config, self.mbr or self.n_best) if self.config.sample else Beam(self.config)
        return search(supply, begin, self.config, policy=policy, record=self.record)

    def results(
        self, found: Iterable[Finished], *, met: bool, engine: str = "torch"
    ) -> Iterator[tuple[int, Translation, bool]]:
        """As :meth:`translate`, from what a search has found, ``met`` or not met constraints."""
        found = iter(found)
        while part := list(islice(found, TOGETHER)):
            indexes, chosen = [each.key for each in part], [self._ranked(each) for each in part]
            if self.aligned:
                results = self._aligned(indexes, chosen, engine)
            else:
                texts = self.target.decode_all([best.ids for best, *_ in chosen])
                results = [self._result(each, text, None, engine) for each, text in zip(chosen, texts)]
            yield from ((index, result, met) for index, result in zip(indexes, results, strict=True))

    def _ranked(self, found: Finished) -> list[Hypothesis]:
        """The hypotheses in the order of the scores that the configuration asks for."""
        if not (hypotheses := found.hypotheses):  # all scores were NaN or minus infinity
            raise UserError(
                "the model gives no finite score for a sentence, so its weights are damaged or too large; "
                "load another checkpoint of the run, or train it again"
            )
        if self.mbr:
            return self._least_risk(hypotheses)
        if not self.config.coverage_penalty or self.config.sample:
            return hypotheses
        start = own_start(self.sources.pieces[found.key].ids)  # previous sentences need not be covered
        weights = [each.weights[..., start:] for each in hypotheses if each.weights is not None]
        scored = [
            each._replace(score=each.score + self.config.coverage_penalty * penalty)
            for each, penalty in zip(hypotheses, coverage(weights, self.choice.shift), strict=True)
        ]
        return sorted(scored, key=lambda each: -each.score)

    def _least_risk(self, samples: list[Hypothesis]) -> list[Hypothesis]:
        """Different texts among the samples, first the one that agrees best with all."""
        texts = [self.target.decode(each.ids) for each in samples]
        scored = zip(texts, samples, expected_chrf(texts).tolist(), strict=True)
        unique = {text: each._replace(score=score) for text, each, score in scored}
        return sorted(unique.values(), key=lambda each: -each.score)

    def _result(
        self, hypotheses: list[Hypothesis], text: str, alignment: Alignment | None, engine: str
    ) -> Translation:
        """The translation with the best hypothesis, which has this text."""
        best = hypotheses[0]
        tokens = tuple(self.target.pieces(best.ids))
        if self.n_best == 1:
            return Translation(text, best.score, alignment, (), tokens, engine)
        others = hypotheses[1 : self.n_best]
        texts = self.target.decode_all([each.ids for each in others])
        listed = [ScoredText(text, best.score, tokens)]
        for each, other in zip(others, texts, strict=True):
            listed.append(ScoredText(other, each.score, tuple(self.target.pieces(each.ids))))
        return Translation(text, best.score, alignment, tuple(listed), tokens, engine)

    def _aligned(
        self, indexes: Sequence[int], chosen: Sequence[list[Hypothesis]], engine: str
    ) -> list[Translation]:
        """Translations with the alignments of their best hypotheses, piece by piece as they were found."""
        targets = [self.target.decode_words(each[0].ids) for each in chosen]
        pairs = [
            EncodedPair.of(self.sources.pieces[index], words)
            for index, (_, words) in zip(indexes, targets, strict=True)
        ]
        recorded = [best.weights for best, *_ in chosen if best.weights is not None]
        if recorded:
            alignments = align_recorded(pairs, self.choice, recorded)
        else:  # the engine does not show the chosen heads
            alignments = align(self.models[0], pairs, self.choice)
        return [
            self._result(each, text, alignment, engine)
            for each, (text, _), alignment in zip(chosen, targets, alignments, strict=True)
        ]


def _has_ended(finished: Finished, unmet: list[int]) -> bool:
    """Whether any hypothesis has ended; else the sentence is added to ``unmet``."""
    if not finished.hypotheses:
        unmet.append(finished.key)
    return bool(finished.hypotheses)
