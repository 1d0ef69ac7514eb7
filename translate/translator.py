"""From text to text: translations with their alignments."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import Any, Unpack

import torch

from translate.alignment.alignment import Alignment
from translate.alignment.choice import AlignmentChoice
from translate.alignment.extract import align
from translate.alignment.pairs import EncodedPair, evaluation_mode
from translate.alignment.transfer.markup import MAX_PLACED
from translate.alignment.transfer.tags import Marked, read_markup
from translate.config.search import SearchConfig
from translate.errors import UserError
from translate.models import Seq2Seq
from translate.search import read_requests, share_out
from translate.search.ctranslate2.choosing import EngineChoice, beyond
from translate.source_reading import (
    WITHOUT_CONTEXT,
    Previous,
    SentenceReader,
    Sources,
    check_sentences,
    without_context,
)
from translate.text.documents import ALONE, ContextSize
from translate.text.lines import LINE_CUT, MAX_CHARACTERS
from translate.text.tokenizer import TokenizerPair
from translate.translation import BatchTranslator, OptionKeywords, TranslateOptions, Translation
from translate.work import Work

UNMET = "constraints that could not be met"
BLANK = "blank, so the translation is empty"
MANY_TAGS = f"more than {MAX_PLACED} tags, kept in order but not aligned"
AT_LIMIT = "at the maximum length, where CTranslate2 would break off, so torch translated"
UNBALANCED = "tags without a partner or crossing, kept as well as possible"


@dataclass(repr=False)
class Translator:
    """A trained model, ready to translate and to align.

    Attributes:
        model: on its device, in evaluation mode.
        tokenizers: of both sides.
        search: defaults of the run.
        choice: the attention shown as the alignment.
        languages: of source and target.
        warnings: counts of sentences that were blank, cut or unknown, by kind of warning.
        partners: further members of an ensemble; see :meth:`join`.
        context: how much of the previous sentences of a document the model reads.
        engine: what searches for translations; alignments of given pairs are torch's.
    """

    model: Seq2Seq
    tokenizers: TokenizerPair
    search: SearchConfig
    choice: AlignmentChoice
    languages: tuple[str, str] = ("", "")
    warnings: Counter[str] = field(default_factory=Counter)
    partners: tuple["Translator", ...] = ()
    engine: EngineChoice = field(default_factory=EngineChoice)
    context: ContextSize = ALONE

    def __repr__(self) -> str:
        direction = "-".join(language or "?" for language in self.languages)
        sizes = [f"{len(each):,}" for each in (self.tokenizers.source, self.tokenizers.target)]
        ensemble = f", ensemble of {len(self._members)}" if self.partners else ""
        return (
            f"Translator({type(self.model).__name__}, {direction}, "
            f"{self.model.num_parameters():,} parameters, "
            f"vocabularies of {sizes[0]} and {sizes[1]}, on {self.device}{ensemble})"
        )

    @property
    def reads(self) -> str:
        """What the model reads of a source: text, picture or both."""
        return self.tokenizers.source.reads

    @property
    def device(self) -> torch.device:
        return next(self.model.parameters()).device

    def join(self, others: Sequence["Translator"]) -> "Translator":
        """An ensemble that follows the mean of the probabilities; alignments and settings are this run's.

        Raises:
            UserError: if the target vocabularies are not the same.
        """
        for number, other in enumerate(others, 2):
            if other.tokenizers.target.model != self.tokenizers.target.model:
                sizes = [len(each.tokenizers.target) for each in (self, other)]
                raise UserError(
                    f"ensemble: run {number} has another target vocabulary ({sizes[1]} pieces) than the "
                    f"first ({sizes[0]}); train it with the first one's tokenizer"
                )
            if other.reads != self.reads:
                raise UserError(
                    f"ensemble: run {number} reads {other.reads} and the first {self.reads} (data.read); "
                    "expected the same of all"
                )
        return replace(self, partners=tuple(others), warnings=Counter())

    def translate(
        self,
        sentences: Sequence[str],
        *,
        beam_size: int | None = None,
        n_best: int = 1,
        alignments: bool = False,
        options: TranslateOptions | None = None,
        **keywords: Unpack[OptionKeywords],
    ) -> list[Translation]:
        """Translate sentences; a blank one gives an empty translation.

        Args:
            sentences: one sentence each. What lies behind the limits of docs/translating.md is not read.
            beam_size: the run's own by default; 1 is greedy.
            n_best: number of texts that each translation lists, at most the beam; any number of samples.
            alignments: whether each translation carries its alignment, between words without markup.
            options: see :class:`TranslateOptions`.
            keywords: fields of ``options``, in place of those given there.

        Raises:
            UserError: for settings that are impossible.
        """
        work = self.begin(
            sentences, beam_size=beam_size, n_best=n_best, alignments=alignments, options=options, **keywords
        )
        return work.finish(self._translate_all(work))

    def begin(
        self,
        sentences: Sequence[str],
        *,
        beam_size: int | None = None,
        n_best: int = 1,
        alignments: bool = False,
        options: TranslateOptions | None = None,
        **keywords: Unpack[OptionKeywords],
    ) -> Work:
        """The work of :meth:`translate` up to the search, which may run together with that of other calls."""
        check_sentences("translate", sentences)
        options = replace(options or TranslateOptions(), **keywords)
        self._warn(WITHOUT_CONTEXT, without_context("translate", sentences, options.context, self._members))
        config = options.search_config(self.search, beam_size, n_best)
        marked = self._marked(sentences, markup=options.markup)
        aligned = alignments or options.markup or options.replace_unknown
        batch = BatchTranslator(
            [member.model for member in self._members],
            self.tokenizers.target,
            config,
            self.choice,
            self._sources(marked, options, config, words=aligned),
            n_best,
            options.mbr,
            aligned,
            self.engine_for(config, options).engine,
        )
        return Work(batch, marked, options, keep=alignments)

    def engine_for(self, config: SearchConfig, options: TranslateOptions) -> EngineChoice:
        """The engine of one call; raises :class:`UserError` if one was demanded that has not all options."""
        given = options.beside_search + (["ensemble"] if self.partners else [])
        return self.engine.without(beyond(config, given, len(self.tokenizers.target)))

    def stream(
        self, lines: Iterable[str], *, chunk: int = 1024, **options: Any
    ) -> Iterator[tuple[str, Translation]]:
        """Translate lines as they come, ``chunk`` at a time: each line with its translation, in order."""
        iterator = iter(lines)
        while block := list(islice(iterator, chunk)):
            yield from zip(block, self.translate(block, **options), strict=True)

    def align(
        self,
        sources: Sequence[str],
        targets: Sequence[str],
        *,
        method: str = "attention",
        whitespace: bool = False,
        batch_size: int | None = None,
        context: Previous | None = None,
    ) -> list[Alignment]:
        """The alignments of given pairs, by teacher forcing.

        Args:
            sources: one sentence each.
            targets: their translations.
            method: ``attention``, ``gradient``, ``erasure`` or ``norm``.
            whitespace: split words at white space alone, as gold links do.
            batch_size: most pairs at a time; limited by tokens alone by default.
            context: the sentences before each source in its document, for a run that reads them.

        Raises:
            UserError: for unequal numbers of sources and targets, an unknown method, a pair longer than the
                model can read, or a batch size below 1.
        """
        check_sentences("align", sources)
        check_sentences("align", targets)
        if len(sources) != len(targets):
            raise UserError(f"align: {len(sources)} sources but {len(targets)} targets")
        pairs = self.encode_pairs(sources, targets, whitespace=whitespace, context=context)
        return align(self.model, pairs, self.choice, method=method, batch_size=batch_size, device=self.device)

    def reads_whole(self, sentence: str) -> bool:
        """Whether nothing of a sentence lies behind the limits of docs/translating.md."""
        reader = self._reader()
        return len(sentence) <= MAX_CHARACTERS and len(reader.tokenizer.encode(sentence)) <= reader.limit

    def encode_pairs(
        self,
        sources: Sequence[str],
        targets: Sequence[str],
        *,
        whitespace: bool = False,
        context: Previous | None = None,
    ) -> list[EncodedPair]:
        """Pairs as pieces with their words; the sentences before a source, if given, have no words."""
        self._warn(WITHOUT_CONTEXT, without_context("align", sources, context, self._members))
        before: Previous = [()] * len(sources) if context is None else context
        triples = zip(sources, targets, before, strict=True)
        return [self.encode_pair(s, t, whitespace=whitespace, previous=p) for s, t, p in triples]

    def encode_pair(
        self, source: str, target: str, *, whitespace: bool = False, previous: Sequence[str] = ()
    ) -> EncodedPair:
        """A pair as pieces with their words; ``previous`` are the sentences before it, the nearest last."""
        read = self._reader().encode_words(source, previous, whitespace=whitespace)
        return EncodedPair.of(read, self.tokenizers.target.encode_words(target, whitespace=whitespace))

    def read_previous(self, source: str, previous: Sequence[str]) -> list[str]:
        """Those of the previous sentences that are read before ``source``, the nearest last."""
        return self._reader().near(source, previous)

    @property
    def _members(self) -> tuple["Translator", ...]:
        return (self, *self.partners)

    def _sources(
        self, marked: Sequence[Marked], options: TranslateOptions, config: SearchConfig, *, words: bool
    ) -> Sources:
        """The sentences as every member reads them, with their requests."""
        limits = [member.model.max_target_length for member in self._members]
        most = min((limit for limit in limits if limit is not None), default=None)
        tokenizer = self.tokenizers.target
        requests = read_requests(tokenizer, len(marked), options.prefix, options.constraints, most)
        if config.sample and any(request.phrases for request in requests):
            raise UserError("constraints: they need beam search; leave out sampling, or the constraints")
        texts, before = [each.text for each in marked], options.context
        if before is not None and options.markup:
            before = [[read_markup(text).text for text in each] for each in before]
        pieces = self._reader().read(texts, words=words, previous=before)
        self._warn(BLANK, sum(not (each.ids or m.items) for each, m in zip(pieces, marked, strict=True)))
        read = [other._reader().read(texts, words=False, previous=before) for other in self.partners]
        others = [[each.ids for each in sentences] for sentences in read]
        return Sources(pieces, others, requests)

    def _translate_all(self, work: Work) -> list[Translation]:
        """The translations of all sources, in order."""
        results, batch, left = work.blank(), work.batch, list(range(len(work.batch.sources.pieces)))

        def translate_left() -> None:
            self._warn(AT_LIMIT, len(left) if batch.engine else 0)
            groups, left[:] = batch.groups(left), []
            for index, result, met in share_out(batch.translate, groups, self.device):
                results[index] = result
                self._warn(UNMET, not met)

        with evaluation_mode(self.model):
            if batch.engine is not None:
                groups, left[:] = batch.groups(left), []
                for index, result in batch.translate_elsewhere(groups, left, translate_left):
                    results[index] = result
            translate_left()
        return results

    def _marked(self, sentences: Sequence[str], *, markup: bool) -> list[Marked]:
        """The sentences within the limit of a line, and without markup if it is to be carried over."""
        self._warn(LINE_CUT, sum(len(each) > MAX_CHARACTERS for each in sentences))
        read = partial(read_markup, tags=self.tokenizers.source.tags) if markup else Marked
        marked = [read(each[:MAX_CHARACTERS]) for each in sentences]
        self._warn(UNBALANCED, sum(each.unbalanced > 0 for each in marked))
        self._warn(MANY_TAGS, sum(len(each.items) > MAX_PLACED for each in marked))
        return marked

    def _warn(self, kind: str, count: int) -> None:
        if count:
            self.warnings[kind] += count

    def _reader(self) -> SentenceReader:
        limit = self.search.max_source_pieces
        if self.model.max_target_length is not None:  # learned positions have the same limit on both sides
            limit = min(limit, self.model.max_target_length - 1)
        return SentenceReader(self.tokenizers.source, limit, self.warnings, self.context)
