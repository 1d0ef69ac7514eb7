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
from translate.search.sources import Request, SentenceGroup, length_batches, read_sources
from translate.text.documents import own_start
from translate.text.glossary import has_phrase
from translate.text.markup import Marked, without_made_up
from translate.text.tokenizer import Pieces, Tokenizer, one_line
from translate.translation import ScoredText, TranslateOptions, Translation

if TYPE_CHECKING:
    from translate.search.ctranslate2.ctranslate2_search import CTranslate2Search

TOGETHER = 64  # translations whose alignments are computed together

AT_LIMIT = "at the maximum length, where CTranslate2 would break off, so torch translated"
UNMET = "constraints that could not be met"


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
        marked: the sentences without their markup, and the markup.
        pieces: the sentences as the first model reads them; without pieces if they are blank.
        others: for every further model, ids of each sentence.
        requests: pieces that each translation must have.
        engine: CTranslate2 with the model, if it is to search.
        warnings: counts of sentences by kind of warning, which are added to.
    """

    models: Sequence[Seq2Seq]
    target: Tokenizer
    choice: AlignmentChoice
    options: TranslateOptions
    config: SearchConfig
    sentences: Sequence[str]
    marked: Sequence[Marked]
    pieces: Sequence[Pieces]
    others: Sequence[Sequence[Sequence[int]]]
    requests: Sequence[Request]
    engine: "CTranslate2Search | None"
    warnings: Counter[str]

    @property
    def record(self) -> Record | None:
        """The attention that hypotheses carry, if any."""
        recorded = self.options.aligned or (self.config.coverage_penalty > 0 and not self.config.sample)
        return Record(self.choice.layer, self.choice.heads) if recorded else None

    def blank(self) -> list[Translation]:
        """An empty translation for every sentence, which stays where the sentence is blank."""
        writer = "torch" if self.engine is None else self.engine.name
        best, found = (ScoredText("", 0.0),) * (self.options.n_best > 1), []
        for index, source in enumerate(self.pieces):
            alignment = _nothing(source) if self.options.aligned else NO_ALIGNMENT
            empty = Translation("", 0.0, alignment, n_best=best, engine=writer)
            found.append(empty if source.ids else self._carried(index, empty))
        return found

    def translate(self, workers: int = 1) -> list[Translation]:
        """The translations of all sentences, in order.

        Args:
            workers: threads that search side by side.
        """
        results, left = self.blank(), [index for index, source in enumerate(self.pieces) if source.ids]
        with evaluation_mode(self.models[0]):
            if self.engine is not None:
                found = self.engine.search(
                    self.groups(left),
                    [source.ids for source in self.pieces],
                    self.config,
                    n_best=self.options.n_best,
                    choice=self.choice if self.options.aligned else None,
                )
                left = []
                for index, result in self.results(_ended(found, left), engine=self.engine.name):
                    results[index] = result
                self.warn(AT_LIMIT, len(left))
            requests = list(self.requests)
            while left:
                again: list[int] = []
                found = self._search(left, requests, workers)
                for index, result in self.results(self._fulfilled(found, requests, again)):
                    results[index] = result
                left = again
        return results

    def following(self, request: Request, found: Finished) -> Request | None:
        """What is to be asked for next, if a search for this request has not found what it wants."""
        if request.otherwise is None:
            return None
        if found.hypotheses:
            text = self.target.decode(self._ranked(found)[0].ids)
            if all(has_phrase(text, phrase) for phrase in request.hoped):
                return None
        self.warn(UNMET, bool(request.phrases) and not request.otherwise.phrases)
        return request.otherwise

    def _fulfilled(
        self, found: Iterable[Finished], requests: list[Request], again: list[int]
    ) -> Iterator[Finished]:
        """The sentences that are done; the others are added to ``again``, with the next of ``requests``."""
        for finished in found:
            following = self.following(requests[finished.key], finished)
            if following is None:
                yield finished
            else:
                requests[finished.key] = following
                again.append(finished.key)

    def warn(self, kind: str, count: int) -> None:
        """Count sentences with a warning."""
        if count:
            self.warnings[kind] += count

    def groups(self, chosen: Sequence[int]) -> list[list[int]]:
        """Sentences in batches of similar lengths, the longest first: others may wait for the last."""
        lengths = [len(self.pieces[index].ids) for index in chosen]
        batches = length_batches(lengths, self.config.batch_size, [self.held(index) for index in chosen])
        return [[chosen[place] for place in batch] for batch in batches][::-1]

    def held(self, index: int) -> tuple[int, int]:
        """Weights that the search of a sentence may record, and numbers that its decoder may keep."""
        length = len(self.pieces[index].ids) + 1
        steps = self.config.longest(length) * self.options.hypotheses(self.config)
        heads = 0 if self.record is None else len(self.record.heads)
        return length * steps * heads, steps * self.models[0].cached_numbers

    def pair(self, index: int, ids: Sequence[int]) -> EncodedPair:
        """A source, as it was read, and a translation in pieces."""
        return EncodedPair.of(self.pieces[index], self.target.decode_words(ids)[1])

    def _search(self, chosen: Sequence[int], requests: Sequence[Request], workers: int) -> Iterator[Finished]:
        """Search sentences by torch; one without a hypothesis has not met its constraints."""

        def begin(group: list[int]) -> SentenceGroup:
            ids: list[list[Sequence[int]]] = [[self.pieces[index].ids for index in group]]
            ids += [[sentences[index] for index in group] for sentences in self.others]
            return SentenceGroup(group, read_sources(self.models, ids), [requests[index] for index in group])

        config = self.config
        policy = Draw(config, self.options.hypotheses(config)) if config.sample else Beam(config)
        work = partial(search, begin=begin, config=config, policy=policy, record=self.record)
        return share_out(work, self.groups(chosen), workers)

    def results(
        self, found: Iterable[Finished], *, engine: str = "torch"
    ) -> Iterator[tuple[int, Translation]]:
        """The index and the translation of each sentence that a search has found."""
        found = iter(found)
        while part := list(islice(found, TOGETHER)):
            chosen = [self._ranked(finished) for finished in part]
            if self.options.aligned:
                texts, alignments = self._aligned([finished.key for finished in part], chosen)
            else:
                texts = self.target.decode_all([best.ids for best, *_ in chosen])
                alignments = [NO_ALIGNMENT] * len(part)
            for finished, hypotheses, text, alignment in zip(part, chosen, texts, alignments, strict=True):
                result = self._result(hypotheses, text, alignment, engine)
                yield finished.key, self._carried(finished.key, result)

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
        start = own_start(self.pieces[found.key].ids)  # previous sentences need not be covered
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
            EncodedPair.of(self.pieces[index], words)
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
        source = self.marked[index]
        if self.options.replace_unknown:
            text, alignment = replace_unknown(text, alignment)
        if self.options.markup and (clean := without_made_up(text, source.text)) != text:
            text = clean
            (alignment,) = self.align(index, [text])
        if not source.items:
            return text, alignment
        text = one_line(place_markup(source, text, alignment))
        return text, self.located(index, text, alignment)

    def located(self, index: int, text: str, alignment: Alignment) -> Alignment:
        """The alignment with offsets into a source and its translation ``text``, both with their markup."""
        if not self.marked[index].items:
            return alignment
        source, target = alignment.source_words, alignment.target_words
        offsets = marked_spans(self.sentences[index], source), marked_spans(text, target)
        return replace(alignment, source_offsets=offsets[0], target_offsets=offsets[1])

    def align(self, index: int, targets: Sequence[str]) -> list[Alignment]:
        """The alignments of a source, as it was read, with targets that are as long as the model allows."""
        limit = self.models[0].max_target_length
        found = [self.target.encode_words(text) for text in targets]
        found = found if limit is None else [pieces.cut(limit - 1) for pieces in found]
        pairs = [EncodedPair.of(self.pieces[index], pieces) for pieces in found]
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
