"""The sentences of one call, on their way from pieces to translations."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from translate.alignment.alignment import NO_ALIGNMENT, Alignment, AlignmentChoice
from translate.alignment.methods import align, align_recorded, coverage
from translate.alignment.pairs import EncodedPair
from translate.alignment.transfer import marked_spans, place_markup, replace_unknown
from translate.config.search import SearchConfig
from translate.errors import UserError
from translate.models import Seq2Seq
from translate.models.seq2seq import evaluation_mode
from translate.search.beam import Beam, Finished, Hypothesis
from translate.search.decoders import Record
from translate.search.sampling import Draw, expected_chrf
from translate.search.search_loop import search, share_out
from translate.search.sources import (
    Previous,
    Request,
    SentenceGroup,
    SentenceReader,
    length_batches,
    read_sources,
)
from translate.text.documents import own_start
from translate.text.glossary import has_phrase
from translate.text.markup import Marked, keeps_markup, without_made_up
from translate.text.tokenizer import Pieces, Tokenizer, one_line
from translate.translation import ScoredText, TranslateOptions, Translation

if TYPE_CHECKING:
    from translate.search.ctranslate2.ctranslate2_search import CTranslate2Search

TOGETHER = 64  # translations whose alignments are computed together

AT_LIMIT = "at the maximum length, where CTranslate2 would break off, so torch translated"
UNMET = "constraints that could not be met"


@dataclass(frozen=True)
class Attempt:
    """A sentence as it is read for one search.

    Attributes:
        marked: the sentence without the markup that is carried over, and this markup.
        pieces: as the first model reads it; none if it is blank.
        others: ids for every further model.
        request: pieces that the translation must have.
        whole: whether the model reads the placeholders, and has to write each of them.
    """

    marked: Marked
    pieces: Pieces
    others: Sequence[Sequence[int]]
    request: Request
    whole: bool = False

    @property
    def ids(self) -> list[Sequence[int]]:
        """The sentence as each model of the ensemble reads it."""
        return [self.pieces.ids, *self.others]


def read_attempts(
    readers: Sequence[SentenceReader],
    sentences: Sequence[Marked],
    requests: Sequence[Sequence[Request]],
    context: Previous | None,
    *,
    words: bool,
    whole: bool = False,
) -> list[list[Attempt]]:
    """The attempts of each sentence, one for each of its requests.

    Args:
        readers: of each model.
        sentences: without the markup that is carried over.
        requests: those of each sentence.
        context: the sentences before each one, if there are some.
        words: whether the words are wanted that the first model reads.
        whole: see :class:`Attempt`.
    """
    texts = [sentence.text for sentence in sentences]
    own, *others = (
        reader.read(texts, words=words and number == 0, previous=context)
        for number, reader in enumerate(readers)
    )
    return [
        [
            Attempt(sentence, own[index], [other[index].ids for other in others], request, whole)
            for request in wanted
        ]
        for index, (sentence, wanted) in enumerate(zip(sentences, requests, strict=True))
    ]


@dataclass(frozen=True)
class TranslationCall:
    """The sentences of one call as the models read them, and all that their translation needs.

    A sentence is known by its index.

    Attributes:
        models: one or an ensemble, in evaluation mode, on one device.
        target: the tokenizer of the translations.
        choice: the attention of the first model that is shown.
        options: of the call.
        config: the settings of the search, from the options and the run.
        sentences: as they were given, within the limit of a line.
        attempts: the ways to translate each sentence that are left, the present one first.
        engine: CTranslate2 with the model, if it is to search.
        warnings: counts of sentences by kind of warning, which are added to.
    """

    models: Sequence[Seq2Seq]
    target: Tokenizer
    choice: AlignmentChoice
    options: TranslateOptions
    config: SearchConfig
    sentences: Sequence[str]
    attempts: Sequence[list[Attempt]]
    engine: "CTranslate2Search | None"
    warnings: Counter[str]

    @property
    def present(self) -> list[Attempt]:
        """The attempt of each sentence that is searched for, or was the last."""
        return [attempts[0] for attempts in self.attempts]

    @property
    def sources(self) -> list[list[Sequence[int]]]:
        """For each model, the ids of all sentences as it reads them."""
        return [list(of_model) for of_model in zip(*(attempt.ids for attempt in self.present), strict=True)]

    @property
    def record(self) -> Record | None:
        """The attention that hypotheses carry, if any."""
        recorded = self.options.aligned or (self.config.coverage_penalty > 0 and not self.config.sample)
        return Record(self.choice.layer, self.choice.heads) if recorded else None

    def blank(self) -> list[Translation]:
        """An empty translation for every sentence, which stays where the sentence is blank."""
        writer = "torch" if self.engine is None else self.engine.name
        best, found = (ScoredText("", 0.0),) * (self.options.n_best > 1), []
        for index, source in enumerate(attempt.pieces for attempt in self.present):
            alignment = _nothing(source) if self.options.aligned else NO_ALIGNMENT
            empty = Translation("", 0.0, alignment, n_best=best, engine=writer)
            found.append(empty if source.ids else self._carried(index, empty))
        return found

    def translate(self, workers: int = 1) -> list[Translation]:
        """The translations of all sentences, in order.

        Args:
            workers: threads that search side by side.
        """
        results = dict(enumerate(self.blank()))
        left = [index for index, attempt in enumerate(self.present) if attempt.pieces.ids]
        with evaluation_mode(self.models[0]):
            while left:
                again: list[int] = []
                if self.engine is not None:
                    found = self.engine.search(
                        self.groups(left),
                        self.sources[0],
                        self.config,
                        n_best=self.options.n_best,
                        choice=self.choice if self.options.aligned else None,
                    )
                    left = []
                    results |= self.results(_ended(found, left), again, engine=self.engine.name)
                    self.warn(AT_LIMIT, len(left))
                results |= self.results(self._search(left, workers), again)
                left = again
        return list(results.values())

    def warn(self, kind: str, count: int) -> None:
        """Count sentences with a warning."""
        if count:
            self.warnings[kind] += count

    def groups(self, chosen: Sequence[int]) -> list[list[int]]:
        """Sentences in batches of similar lengths, the longest first: others may wait for the last."""
        lengths = [len(self.attempts[index][0].pieces.ids) for index in chosen]
        batches = length_batches(lengths, self.config.batch_size, [self.held(index) for index in chosen])
        return [[chosen[place] for place in batch] for batch in batches][::-1]

    def held(self, index: int) -> tuple[int, int]:
        """Weights that the search of a sentence may record, and numbers that its decoder may keep."""
        length = len(self.attempts[index][0].pieces.ids) + 1
        steps = self.config.longest(length) * self.options.hypotheses(self.config)
        heads = 0 if self.record is None else len(self.record.heads)
        return length * steps * heads, steps * self.models[0].cached_numbers

    def pair(self, index: int, ids: Sequence[int]) -> EncodedPair:
        """A source, as it was read, and a translation in pieces."""
        return EncodedPair.of(self.attempts[index][0].pieces, self.target.decode_words(ids)[1])

    def _search(self, chosen: Sequence[int], workers: int) -> Iterator[Finished]:
        """Search sentences by torch; one without a hypothesis has not met its constraints."""

        def begin(group: list[int]) -> SentenceGroup:
            attempts = [self.attempts[index][0] for index in group]
            ids = [list(of_model) for of_model in zip(*(attempt.ids for attempt in attempts), strict=True)]
            requests = [attempt.request for attempt in attempts]
            return SentenceGroup(group, read_sources(self.models, ids), requests)

        config = self.config
        policy = Draw(config, self.options.hypotheses(config)) if config.sample else Beam(config)
        work = partial(search, begin=begin, config=config, policy=policy, record=self.record)
        return share_out(work, self.groups(chosen), workers)

    def results(
        self, found: Iterable[Finished], again: list[int], *, engine: str = "torch"
    ) -> Iterator[tuple[int, Translation]]:
        """The index and the translation of each sentence that a search has found.

        Args:
            found: what the search has found for the present attempts.
            again: gets the indexes of sentences that are to be searched again, by their next attempt.
            engine: that searched.
        """
        found = iter(found)
        while part := list(islice(found, TOGETHER)):
            part = [
                finished for finished in part if finished.hypotheses or not self._next(finished.key, again)
            ]
            chosen = [self._ranked(finished) for finished in part]
            if self.options.aligned:
                texts, alignments = self._aligned([finished.key for finished in part], chosen)
            else:
                texts = self.target.decode_all([best.ids for best, *_ in chosen])
                alignments = [NO_ALIGNMENT] * len(part)
            for finished, hypotheses, text, alignment in zip(part, chosen, texts, alignments, strict=True):
                result = self._carried(finished.key, self._result(hypotheses, text, alignment, engine))
                if self._has_all(finished.key, result) or not self._next(finished.key, again):
                    yield finished.key, result

    def _next(self, index: int, again: list[int]) -> bool:
        """Go on to the next attempt of a sentence, if there is one."""
        last, *others = self.attempts[index]
        if others:
            del self.attempts[index][0]
            self.warn(UNMET, bool(last.request.phrases) and not others[0].request.phrases)
            again.append(index)
        return bool(others)

    def _has_all(self, index: int, result: Translation) -> bool:
        """Whether a translation has all that the present attempt hopes for."""
        attempt, texts = self.attempts[index][0], {result.text, *(other.text for other in result.n_best)}
        kept = not attempt.whole or all(keeps_markup(text, self.sentences[index]) for text in texts)
        return kept and all(has_phrase(result.text, phrase) for phrase in attempt.request.hoped)

    def _ranked(self, found: Finished) -> list[Hypothesis]:
        """The hypotheses in the order of the scores that the configuration asks for."""
        if not (hypotheses := found.hypotheses):  # all scores were NaN or minus infinity
            raise UserError(
                "the model gives no finite score for a sentence, so its weights are damaged or too large; "
                "load another checkpoint of the run, or train it again"
            )
        if self.options.mbr:
            return self._least_risk(hypotheses)
        if not self.config.coverage_penalty or self.config.sample:
            return hypotheses
        start = own_start(self.attempts[found.key][0].pieces.ids)  # previous sentences need not be covered
        weights = [found.weights[..., start:] for found in hypotheses if found.weights is not None]
        scored = [
            hypothesis._replace(score=hypothesis.score + self.config.coverage_penalty * penalty)
            for hypothesis, penalty in zip(hypotheses, coverage(weights, self.choice.shift), strict=True)
        ]
        return sorted(scored, key=lambda hypothesis: -hypothesis.score)

    def _least_risk(self, samples: list[Hypothesis]) -> list[Hypothesis]:
        """Different texts among the samples, first the one that agrees best with all."""
        texts = [self.target.decode(sample.ids) for sample in samples]
        scored = zip(texts, samples, expected_chrf(texts).tolist(), strict=True)
        unique = {text: sample._replace(score=score) for text, sample, score in scored}
        return sorted(unique.values(), key=lambda sample: -sample.score)

    def _aligned(
        self, indexes: Sequence[int], chosen: Sequence[list[Hypothesis]]
    ) -> tuple[list[str], list[Alignment]]:
        """The texts of the best hypotheses, and their alignments piece by piece as they were found."""
        targets = [self.target.decode_words(best.ids) for best, *_ in chosen]
        pairs = [
            EncodedPair.of(self.attempts[index][0].pieces, words)
            for index, (_, words) in zip(indexes, targets, strict=True)
        ]
        recorded = [best.weights for best, *_ in chosen if best.weights is not None]
        if recorded:
            alignments = align_recorded(pairs, self.choice, recorded)
        else:  # the engine does not show the chosen heads
            alignments = align(self.models[0], pairs, self.choice)
        return [text for text, _ in targets], alignments

    def _result(
        self, hypotheses: list[Hypothesis], text: str, alignment: Alignment, engine: str
    ) -> Translation:
        """The translation with the best hypothesis, which has this text."""
        best, *others = hypotheses[: self.options.n_best]
        tokens = tuple(self.target.pieces(best.ids))
        if self.options.n_best == 1:
            return Translation(text, best.score, alignment, (), tokens, engine)
        listed = [ScoredText(text, best.score, tokens)]
        for hypothesis, other in zip(others, self.target.decode_all([o.ids for o in others]), strict=True):
            listed.append(ScoredText(other, hypothesis.score, tuple(self.target.pieces(hypothesis.ids))))
        return Translation(text, best.score, alignment, tuple(listed), tokens, engine)

    def _carried(self, index: int, result: Translation) -> Translation:
        """The translation with the source's markup, and source words for unknown ones."""
        if not (self.options.markup or self.options.replace_unknown):
            return result
        text, alignment = self._carry(index, result.text, result.alignment)
        listed = result.n_best
        if listed:
            texts = [other.text for other in listed[1:]]
            carried = [
                replace(other, text=self._carry(index, other.text, found)[0])
                for other, found in zip(listed[1:], self.align(index, texts), strict=True)
            ]
            listed = (replace(listed[0], text=text), *carried)
        alignments = alignment if self.options.alignments else NO_ALIGNMENT
        return replace(result, text=text, n_best=listed, alignment=alignments)

    def _carry(self, index: int, text: str, alignment: Alignment) -> tuple[str, Alignment]:
        source, whole = self.attempts[index][0].marked, self.attempts[index][0].whole
        if self.options.replace_unknown:
            text, alignment = replace_unknown(text, alignment)
        if self.options.markup and not whole and (clean := without_made_up(text, source.text)) != text:
            text = clean
            (alignment,) = self.align(index, [text])
        if not source.items:
            return text, alignment
        text = one_line(place_markup(source, text, alignment))
        return text, self.located(index, text, alignment)

    def located(self, index: int, text: str, alignment: Alignment) -> Alignment:
        """The alignment with offsets into a source and its translation ``text``, both with their markup."""
        attempt = self.attempts[index][0]
        if not attempt.marked.items:
            return alignment
        spans = partial(marked_spans, placeholders=not attempt.whole)
        source = spans(self.sentences[index], alignment.source_words)
        return replace(alignment, source_offsets=source, target_offsets=spans(text, alignment.target_words))

    def align(self, index: int, targets: Sequence[str]) -> list[Alignment]:
        """The alignments of a source, as it was read, with targets that are as long as the model allows."""
        limit = self.models[0].max_target_length
        found = [self.target.encode_words(text) for text in targets]
        found = found if limit is None else [pieces.cut(limit - 1) for pieces in found]
        pairs = [EncodedPair.of(self.attempts[index][0].pieces, pieces) for pieces in found]
        return align(self.models[0], pairs, self.choice)


def _ended(found: Iterable[Finished], left: list[int]) -> Iterator[Finished]:
    """The sentences of which any hypothesis has ended; the others are added to ``left``."""
    for finished in found:
        if finished.hypotheses:
            yield finished
        else:
            left.append(finished.key)


def _nothing(source: Pieces) -> Alignment:
    """The alignment of a source whose translation has no words."""
    words = [word.text for word in source.words]
    return Alignment(words, [], np.zeros((0, len(words))), [(word.start, word.end) for word in source.words])
