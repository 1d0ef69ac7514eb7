"""From text to text: translations, each with what it looked at."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import numpy as np
import torch

from translate.alignment.alignment import Alignment
from translate.alignment.choice import AlignmentChoice
from translate.alignment.extract import align
from translate.alignment.forced import EncodedPair, evaluation_mode
from translate.config.search import SearchConfig
from translate.errors import UserError
from translate.models import Seq2Seq
from translate.search import length_batches, read_requests, share_out
from translate.text.tokenizer import UNK, Pieces, TokenizerPair, one_line
from translate.transfer.markup import place_markup
from translate.transfer.tags import Marked, read_markup
from translate.transfer.unknown import replace_unknown as with_source_words
from translate.translation import BatchTranslator, Sentences, Translation

CUT = "source cut at {} pieces"
UNKNOWN = "only characters that the vocabulary does not have"
PARTLY_UNKNOWN = "some characters that the vocabulary does not have"
UNMET = "constraints that could not be met"
BLANK = "blank, translated by nothing"
UNBALANCED = "tags without a partner or crossing, kept as well as possible"


@dataclass
class Translator:
    """A trained model, ready to translate and to align.

    Attributes:
        model: on its device, in evaluation mode.
        tokenizers: of both sides.
        search: defaults of the run.
        choice: the attention that is shown as the alignment.
        languages: of source and target.
        warnings: counts of sentences that were blank, cut, or of which nothing is known, by kind.
        partners: further members of an ensemble; see :meth:`join`.
    """

    model: Seq2Seq
    tokenizers: TokenizerPair
    search: SearchConfig
    choice: AlignmentChoice
    languages: tuple[str, str] = ("", "")
    warnings: Counter[str] = field(default_factory=Counter)
    partners: tuple["Translator", ...] = ()

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
        return replace(self, partners=tuple(others), warnings=Counter())

    def translate(
        self,
        sentences: Sequence[str],
        *,
        beam_size: int | None = None,
        batch_size: int | None = None,
        n_best: int = 1,
        alignments: bool = False,
        prefix: str | Sequence[str] | None = None,
        constraints: Sequence[str] | Sequence[Sequence[str]] | None = None,
        mbr: int | None = None,
        search: SearchConfig | None = None,
        markup: bool = False,
        replace_unknown: bool = False,
    ) -> list[Translation]:
        """Translate sentences; a blank one gives an empty translation.

        Args:
            sentences: one sentence each.
            beam_size: the run's own by default; 1 is greedy.
            batch_size: sentences at a time; the run's own by default.
            n_best: how many candidates each translation lists, at most the beam; with samples any number.
            alignments: whether each translation carries its alignment, between words without markup.
            prefix: how translations begin; for all, or one a sentence.
            constraints: phrases that must appear; for all, or a list a sentence.
            mbr: of so many samples, the one that agrees best with all: minimum Bayes risk with chrF.
            search: all other settings: ``replace(translator.search, sample=True, seed=3)``.
            markup: carry tags and placeholders over, to the words that are aligned to theirs.
            replace_unknown: put the source word that an unknown word is aligned to in its place.

        Raises:
            UserError: for settings that are impossible.
        """
        _check_list("translate", sentences)
        marked = self._read_markup(sentences) if markup else [Marked(sentence) for sentence in sentences]
        sentences = [each.text for each in marked]
        config = self._config(search or self.search, beam_size, batch_size, n_best, mbr)
        members = (self, *self.partners)
        places = [m.model.max_target_length for m in members if m.model.max_target_length is not None]
        most = min(places, default=None)
        requests = read_requests(self.tokenizers.target, len(sentences), prefix, constraints, most)
        if config.sample and any(request.phrases for request in requests):
            raise UserError("constraints: they need beam search; leave out sampling, or the constraints")
        shown = alignments or markup or replace_unknown
        pieces = [self._read(sentence, words=shown) for sentence in sentences]
        if blank := sum(not (each.ids or m.items) for each, m in zip(pieces, marked, strict=True)):
            self.warnings[BLANK] += blank
        partners = [[member._read(each, words=False).ids for each in sentences] for member in self.partners]
        results = [Translation("", 0.0, _nothing(each) if shown else None) for each in pieces]
        batch = BatchTranslator(
            [member.model for member in members],
            self.tokenizers.target,
            config,
            self.choice,
            n_best,
            mbr,
            aligned=shown,
        )

        def read(chosen: list[int]) -> Sentences:
            others = [[ids[i] for i in chosen] for ids in partners]
            return Sentences([pieces[i] for i in chosen], others, [requests[i] for i in chosen])

        # Long ones first: the last batches, which some workers may have to wait for, are short.
        batches = list(length_batches([len(each.ids) for each in pieces], config.batch_size))[::-1]
        with evaluation_mode(self.model):
            translated = share_out(lambda supply: batch.translate(supply, read), batches, self.device)
            for chosen, found, unmet in translated:
                if unmet:
                    self.warnings[UNMET] += unmet
                for place, result in zip(chosen, found, strict=True):
                    results[place] = result
        if markup or replace_unknown:
            results = [
                self._carry(source, result, replace_unknown=replace_unknown, keep=alignments)
                for source, result in zip(marked, results, strict=True)
            ]
        return results

    def stream(
        self, lines: Iterable[str], *, chunk: int = 1024, **options: Any
    ) -> Iterator[tuple[str, Translation]]:
        """Translate lines as they come, ``chunk`` at a time, in order: each line with its translation."""
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
    ) -> list[Alignment]:
        """The alignment of given pairs: each target is forced on its source.

        Args:
            sources: one sentence each.
            targets: their translations.
            method: ``attention``, ``gradient``, ``erasure`` or ``norm``.
            whitespace: count words at white space alone, as gold links do.
            batch_size: most pairs at a time; by default as many as a budget of tokens holds.

        Raises:
            UserError: if there are not as many targets as sources, for an unknown method, a pair longer than
                the model can read, or a batch that is impossible.
        """
        _check_list("align", sources)
        _check_list("align", targets)
        if len(sources) != len(targets):
            raise UserError(f"align: {len(sources)} sources but {len(targets)} targets")
        pairs = self.encode_pairs(sources, targets, whitespace=whitespace)
        return align(self.model, pairs, self.choice, method=method, batch_size=batch_size, device=self.device)

    def encode_pairs(
        self, sources: Sequence[str], targets: Sequence[str], *, whitespace: bool = False
    ) -> list[EncodedPair]:
        """Pairs as pieces with their words."""
        return [self.encode_pair(*pair, whitespace=whitespace) for pair in zip(sources, targets, strict=True)]

    def encode_pair(self, source: str, target: str, *, whitespace: bool = False) -> EncodedPair:
        """A pair as pieces with their words."""
        return EncodedPair.of(
            self.tokenizers.source.encode_words(source, whitespace=whitespace),
            self.tokenizers.target.encode_words(target, whitespace=whitespace),
        )

    def _config(
        self,
        search: SearchConfig,
        beam_size: int | None,
        batch_size: int | None,
        n_best: int,
        mbr: int | None,
    ) -> SearchConfig:
        given: dict[str, Any] = {"beam_size": beam_size, "batch_size": batch_size}
        given["sample"] = True if mbr else None
        try:
            search = replace(search, **{name: each for name, each in given.items() if each is not None})
        except ValueError as error:
            raise UserError(str(error)) from error
        if mbr is not None and mbr < 2:
            raise UserError(f"mbr: expected at least 2 samples, got {mbr}")
        most = mbr if mbr else None if search.sample else search.beam_size
        if n_best < 1 or (most is not None and n_best > most):
            limit = "at least 1" if most is None else f"1 to {'mbr' if mbr else 'beam_size'}={most}"
            hint = "; a wider beam has more" if most is not None and not mbr else ""
            raise UserError(f"n_best: expected {limit}, got {n_best}{hint}")
        return search

    def _read_markup(self, sentences: Sequence[str]) -> list[Marked]:
        marked = [read_markup(sentence) for sentence in sentences]
        unbalanced = sum(each.unbalanced > 0 for each in marked)
        if unbalanced:
            self.warnings[UNBALANCED] += unbalanced
        return marked

    def _carry(
        self, source: Marked, result: Translation, *, replace_unknown: bool, keep: bool
    ) -> Translation:
        """The translation with the source's markup, and its words in the place of unknown ones."""
        assert result.alignment is not None
        text, alignment = self._carry_text(source, result.text, result.alignment, replace_unknown)
        listed = result.n_best
        if listed:
            texts = [each.text for each in listed]
            others = self.align([source.text] * len(texts), texts)
            listed = tuple(
                replace(each, text=self._carry_text(source, each.text, other, replace_unknown)[0])
                for each, other in zip(listed[1:], others[1:], strict=True)
            )
            listed = (replace(result.n_best[0], text=text), *listed)
        return replace(result, text=text, n_best=listed, alignment=alignment if keep else None)

    def _carry_text(
        self, source: Marked, text: str, alignment: Alignment, replace_unknown: bool
    ) -> tuple[str, Alignment]:
        if replace_unknown:
            text, alignment = with_source_words(text, alignment)
        if not source.items:
            return text, alignment
        clean = read_markup(text)
        if clean.items:  # made up by the model: only the source's own may stand in the translation
            text = clean.text
            (alignment,) = self.align([source.text], [text])
        return one_line(place_markup(source, text, alignment)), alignment

    def _read(self, sentence: str, *, words: bool) -> Pieces:
        """A source, cut where it is too long; with its words where they are asked for."""
        tokenizer = self.tokenizers.source
        pieces = tokenizer.encode_words(sentence) if words else Pieces(tokenizer.encode(sentence), [], [])
        limit = self.search.max_source_pieces
        if len(pieces.ids) > limit:
            self.warnings[CUT.format(limit)] += 1
        if UNK in pieces.ids:
            self.warnings[UNKNOWN if tokenizer.only_unknown(pieces.ids) else PARTLY_UNKNOWN] += 1
        return pieces.cut(limit)


def _nothing(source: Pieces) -> Alignment:
    """The alignment of a source whose translation has no words."""
    words = [word.text for word in source.words]
    return Alignment(words, [], np.zeros((0, len(words))), [(word.start, word.end) for word in source.words])


def _check_list(what: str, sentences: Sequence[str]) -> None:
    if isinstance(sentences, str):
        raise UserError(f"{what}: expected a list of sentences, got one string; write [sentence]")
    for number, sentence in enumerate(sentences, 1):
        if not isinstance(sentence, str):
            raise UserError(f"{what}: sentence {number} is no string, but {type(sentence).__name__}")
