"""From text to text: translations with their alignments."""

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from itertools import accumulate
from operator import or_
from typing import Any

import torch

from translate.alignment.alignment import Alignment, AlignmentChoice, DocumentAlignment
from translate.alignment.methods import align
from translate.alignment.pairs import EncodedPair
from translate.alignment.transfer import MAX_PLACED
from translate.config.names import did_you_mean, nearest, shorten
from translate.config.search import SearchConfig
from translate.errors import UserError
from translate.models import Seq2Seq
from translate.search.ctranslate2.choosing import EngineChoice, beyond
from translate.search.sources import Previous, Request, SentenceReader, read_requests
from translate.text.documents import ALONE, ContextSize, as_one
from translate.text.glossary import as_terms
from translate.text.languages import base, is_foreign, language_name
from translate.text.lines import LINE_CUT, MAX_CHARACTERS
from translate.text.markup import Marked, read_markup
from translate.text.tokenizer import UNK, TokenizerPair
from translate.translation import TranslateOptions, Translation
from translate.translation_call import Attempt, TranslationCall, read_attempts

FOREIGN = "without a letter of the script of {}, which the run reads"
BLANK = "blank, so the translation is empty"
MANY_TAGS = f"more than {MAX_PLACED} tags, kept in order but not aligned"
UNBALANCED = "tags without a partner or crossing, kept as well as possible"
WITHOUT_CONTEXT = "read without the previous sentences of their documents, on which the run was trained"


@dataclass(repr=False)
class Translator:
    """A trained model, ready to translate and to align; :func:`translate.load` makes one of a run.

    Attributes:
        model: on its device, in evaluation mode.
        tokenizers: of both sides.
        search: defaults of the run.
        choice: the attention shown as the alignment.
        languages: of source and target.
        warnings: counts of sentences that were blank, cut or unknown, by kind of warning.
        unknown: the first characters that the source vocabulary did not have.
        partners: further members of an ensemble; see :meth:`join`.
        engine: of the search; alignments of given pairs are torch's.
        context: how much of the previous sentences of a document the model reads.
        tagged: whether it was trained with a tag before every sentence.
        workers: threads that search side by side on a CPU; each has torch's own threads beside it, so more
            than one are for a program that has set torch's threads to a share of the processor.
    """

    model: Seq2Seq
    tokenizers: TokenizerPair
    search: SearchConfig
    choice: AlignmentChoice
    languages: tuple[str, str] = ("", "")
    warnings: Counter[str] = field(default_factory=Counter)
    unknown: set[str] = field(default_factory=set)
    partners: tuple["Translator", ...] = ()
    engine: EngineChoice = field(default_factory=EngineChoice)
    context: ContextSize = ALONE
    tagged: bool = False
    workers: int = 1

    def __setattr__(self, name: str, value: Any) -> None:
        """Refuse what would have no effect, such as ``translator.beam_size = 5``, and another class."""
        if name not in self.__dataclass_fields__:
            raise UserError(f"{shorten(name)}: a translator has no such setting; translate() takes options")
        kind = {"choice": AlignmentChoice, "search": SearchConfig, "workers": int}.get(name, object)
        if not isinstance(value, kind):
            raise UserError(f"{name}: expected {kind.__name__}, got {shorten(repr(value))}")
        object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        direction = "-".join(language or "?" for language in self.languages)
        sizes = [f"{len(side):,}" for side in (self.tokenizers.source, self.tokenizers.target)]
        ensemble = f", ensemble of {len(self._members)}" if self.partners else ""
        return (
            f"Translator({type(self.model).__name__}, {direction}, {self.model.num_parameters():,} parameters"
            f", vocabularies of {sizes[0]} and {sizes[1]}, on {self.device}{ensemble})"
        )

    @property
    def reads(self) -> str:
        """The kind of source that the model reads: text, picture or both."""
        return self.tokenizers.source.reads

    @property
    def most_context(self) -> int:
        """The most previous sentences that the model, or a member of the ensemble, reads."""
        return max(member.context.sentences for member in self._members)

    @property
    def device(self) -> torch.device:
        return next(self.model.parameters()).device

    def join(self, others: Sequence["Translator"]) -> "Translator":
        """An ensemble that follows the mean of the probabilities; alignments and settings are this run's.

        Raises:
            UserError: for one of the other direction, or with another target vocabulary.
        """
        if not isinstance(others, Sequence) or not all(isinstance(other, Translator) for other in others):
            raise UserError("join: expected a list of translators, each from translate.load")
        for number, other in enumerate(others, 2):
            if other.languages == self.languages[::-1] != self.languages:
                raise UserError(f"ensemble: run {number} translates in the other direction")
            if other.tokenizers.target.all_pieces != self.tokenizers.target.all_pieces:
                raise UserError(
                    f"ensemble: run {number} has another target vocabulary than the first; train it on the "
                    "first's corpus with another training.seed, or with its tokenizer (tokenizer.path)"
                )
            if other.reads != self.reads:
                kinds = f"{other.reads} and the first {self.reads} (data.read)"
                raise UserError(f"ensemble: run {number} reads {kinds}; expected the same of all")
        members = (member for other in others for member in other._members)
        return replace(self, partners=(*self.partners, *members), warnings=Counter())

    def translate(
        self, sentences: Sequence[str], *, options: TranslateOptions | None = None, **keywords: Any
    ) -> list[Translation]:
        """Translate sentences; a blank one gives an empty translation.

        Args:
            sentences: one sentence each. What lies behind the limits of docs/translating.md is not read.
            options: see :class:`TranslateOptions`.
            keywords: fields of ``options``, in place of those given there: ``beam_size=5, alignments=True``.

        Raises:
            UserError: for settings that are impossible.
        """
        return self.begin(sentences, options=options, **keywords).translate(self.workers)

    def begin(
        self, sentences: Sequence[str], *, options: TranslateOptions | None = None, **keywords: Any
    ) -> TranslationCall:
        """The sentences of :meth:`translate` before the search, which may run together with other calls."""
        if unknown := keywords.keys() - TranslateOptions.__dataclass_fields__.keys():
            known, name = [*TranslateOptions.__dataclass_fields__], min(unknown)
            near = "beam_size" if "beam" in name else nearest(name, known)
            hint = did_you_mean(near) or f"; expected one of {', '.join(known)}"
            if name in SearchConfig.__dataclass_fields__:
                hint = f"; write search=replace(translator.search, {name}=...), by dataclasses.replace"
            raise UserError(f"translate: no option {shorten(name)}{hint}")
        if not isinstance(options, TranslateOptions | None):
            raise UserError(f"options: expected TranslateOptions(...), got {shorten(repr(options))}")
        options = replace(options or TranslateOptions(), **keywords)
        self._check_sentences("translate", sentences)
        self._check_context("translate", sentences, options.context)
        self._note_foreign(sentences)
        config = options.search_config(self.search)
        hoped = [list[str]()] * len(sentences)
        if options.glossary is not None:
            terms = as_terms(options.glossary)
            hoped = [terms.of(sentence[:MAX_CHARACTERS]) for sentence in sentences]
            options = options if any(hoped) else replace(options, glossary=None)
        return TranslationCall(
            models=[member.model for member in self._members],
            target=self.tokenizers.target,
            choice=self.choice,
            options=options,
            config=config,
            sentences=[sentence[:MAX_CHARACTERS] for sentence in sentences],
            attempts=self._attempts(sentences, self._requests(hoped, options, config), options, config),
            engine=self.engine_for(options).engine,
            warnings=self.warnings,
        )

    def _attempts(
        self,
        sentences: Sequence[str],
        requests: Sequence[list[Request]],
        options: TranslateOptions,
        config: SearchConfig,
    ) -> list[list[Attempt]]:
        """The ways to translate each sentence, the first one first.

        A model that was trained on placeholders writes them where they belong, better than an alignment can
        place them; if it loses one, it reads the sentence without them.
        """
        marked, before = self._marked(sentences, markup=options.markup), options.context
        if before is not None and options.markup:
            before = [[read_markup(text).text for text in texts] for texts in before]
        readers = [replace(member._reader(options.search), unknown=self.unknown) for member in self._members]
        found = read_attempts(readers, marked, requests, before, words=options.aligned)
        # The same warning of several members is about the same sentences.
        self.warnings.update(reduce(or_, (reader.warnings for reader in readers)))
        self._warn(BLANK, sum(not (first.pieces.ids or first.marked.items) for first, *_ in found))
        if not options.markup or config.sample:
            return found
        places = [
            index
            for index, (first, *_) in enumerate(found)
            if first.pieces.ids and any(item.is_word for item in first.marked.items)
        ]
        tags = self.tokenizers.source.tags
        whole = [read_markup(sentences[index][:MAX_CHARACTERS], tags, placeholders=False) for index in places]
        quiet = [replace(reader, warnings=Counter(), unknown=set()) for reader in readers]
        previous = None if before is None else [before[index] for index in places]
        wanted = [requests[index][:1] for index in places]
        kept = read_attempts(quiet, whole, wanted, previous, words=options.aligned, whole=True)
        for index, (first,) in zip(places, kept, strict=True):
            found[index] = [first] * (UNK not in first.pieces.ids) + found[index]
        return found

    def engine_for(self, options: TranslateOptions) -> EngineChoice:
        """The engine of one call; raises :class:`UserError` if one was demanded that has not all options."""
        if self.engine.engine is None:
            return self.engine
        config = options.search_config(self.search)
        given = options.beside_search + (["ensemble"] if self.partners else [])
        before = self.engine.search
        given += ["max_source_pieces"] * (config.max_source_pieces > before.max_source_pieces)
        given += ["stop"] if config.stop != before.stop else []  # a run's own is said when it is loaded
        return self.engine.without(beyond(config, given, len(self.tokenizers.target)))

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
        self._check_sentences("align", sources)
        self._check_sentences("align", targets)
        self._note_foreign(sources)
        if len(sources) != len(targets):
            raise UserError(f"align: {len(sources)} sources but {len(targets)} targets")
        pairs = self.encode_pairs(sources, targets, whitespace=whitespace, context=context)
        return align(self.model, pairs, self.choice, method=method, batch_size=batch_size)

    def align_document(
        self,
        source: str,
        target: str,
        previous: Sequence[str],
        *,
        method: str = "attention",
        whitespace: bool = False,
    ) -> DocumentAlignment:
        """The alignment of a pair whose words are those of the previous sentences that are read, and its own.

        Raises:
            UserError: if the run reads no previous sentences, or as :meth:`align`.
        """
        self._check_context("align", [source], [previous])
        tokenizer = self.tokenizers.source
        texts = (*self._reader().near(source, previous), source)
        parts = [tokenizer.encode_words(text, whitespace=whitespace) for text in texts]
        words = self.tokenizers.target.encode_words(target, whitespace=whitespace)
        pair = EncodedPair.of(as_one(parts), words)
        (found,) = align(self.model, [pair], self.choice, method=method)
        starts = [0, *accumulate(len(part.words) for part in parts[:-1])]
        # Offsets are into several texts.
        return DocumentAlignment(replace(found, source_offsets=()), starts)

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
        self._check_context("align", sources, context)
        before: Previous = [()] * len(sources) if context is None else context
        triples = zip(sources, targets, before, strict=True)
        return [self.encode_pair(s, t, whitespace=whitespace, previous=p) for s, t, p in triples]

    def encode_pair(
        self, source: str, target: str, *, whitespace: bool = False, previous: Sequence[str] = ()
    ) -> EncodedPair:
        """A pair as pieces with their words; ``previous`` are the sentences before it, the nearest last."""
        read = self._reader().encode_words(source, previous, whitespace=whitespace)
        return EncodedPair.of(read, self.tokenizers.target.encode_words(target, whitespace=whitespace))

    @property
    def _members(self) -> tuple["Translator", ...]:
        return (self, *self.partners)

    def _requests(
        self, hoped: Sequence[Sequence[str]], options: TranslateOptions, config: SearchConfig
    ) -> list[list[Request]]:
        limits = [member.model.max_target_length for member in self._members]
        most = min((limit for limit in limits if limit is not None), default=None)
        if config.sample and (options.constraints or options.glossary):
            name = "constraints" if options.constraints else "glossary"
            raise UserError(f"{name}: needs beam search; leave out sampling, or the {name}")
        target, prefix = self.tokenizers.target, options.prefix
        return read_requests(target, len(hoped), prefix, options.constraints, most, hoped)

    def _marked(self, sentences: Sequence[str], *, markup: bool) -> list[Marked]:
        """The sentences within the limit of a line, and without markup if it is to be carried over."""
        self._warn(LINE_CUT, sum(len(sentence) > MAX_CHARACTERS for sentence in sentences))
        read = partial(read_markup, tags=self.tokenizers.source.tags) if markup else Marked
        marked = [read(sentence[:MAX_CHARACTERS]) for sentence in sentences]
        self._warn(UNBALANCED, sum(sentence.unbalanced > 0 for sentence in marked))
        self._warn(MANY_TAGS, sum(len(sentence.items) > MAX_PLACED for sentence in marked))
        return marked

    def _check_sentences(self, what: str, sentences: Sequence[str]) -> None:
        """Raise :class:`UserError` unless they are a list of texts."""
        if isinstance(sentences, str):
            raise UserError(f"{what}: expected a list of sentences, got one string; write [sentence]")
        if hasattr(sentences, "columns"):  # as a list, a table is the names of its columns
            raise UserError(f"{what}: expected a list of sentences, got a table; give one of its columns")
        # A generator would be read once, and then seem empty; a set has no order.
        if not hasattr(sentences, "__len__") or isinstance(sentences, Mapping | Set):
            raise UserError(f"{what}: expected a list of sentences, got {type(sentences).__name__}")
        for number, sentence in enumerate(sentences, 1):
            if not isinstance(sentence, str):
                kind = "an empty cell, NaN" if sentence != sentence else type(sentence).__name__
                raise UserError(f"{what}: sentence {number} is no string, but {kind}")
            try:
                sentence.encode()
            except UnicodeEncodeError as error:
                raise UserError(f"{what}: sentence {number} is no text: it has a lone surrogate") from error

    def _note_foreign(self, sentences: Sequence[str]) -> None:
        """Count the sentences that are not in the script of the source language."""
        language = self.languages[0]
        foreign = sum(is_foreign(sentence, language) for sentence in sentences) if self.reads == "text" else 0
        self._warn(FOREIGN.format(language_name(base(language))), foreign)

    def _check_context(self, what: str, sentences: Sequence[str], previous: Previous | None) -> None:
        """Count the sentences that lack the context that a member reads.

        Raises:
            UserError: for context that no member reads, or that does not fit the sentences.
        """
        reads = self.most_context
        if previous is None:
            self._warn(WITHOUT_CONTEXT, sum(bool(sentence.strip()) for sentence in sentences) if reads else 0)
            return
        if isinstance(previous, str):
            raise UserError(f"{what}: context: expected a list of previous sentences for each sentence")
        if len(previous) != len(sentences):
            raise UserError(
                f"{what}: context: {len(previous)} lists of previous sentences for {len(sentences)} sentences"
            )
        if any(previous) and not reads:
            raise UserError(f"{what}: context: the run reads no previous sentence (data.context_sentences=0)")
        for texts in previous:
            self._check_sentences(f"{what}: context", texts)

    def _warn(self, kind: str, count: int) -> None:
        if count:
            self.warnings[kind] += count

    def _reader(self, search: SearchConfig | None = None) -> SentenceReader:
        limit = self.model.within_positions((search or self.search).max_source_pieces + 1) - 1
        return SentenceReader(self.tokenizers.source, limit, self.context, self.tagged)
