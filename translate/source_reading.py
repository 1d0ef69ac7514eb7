"""Sentences as a model reads them: in pieces, cut at the limits, with counts of what was cut or unknown."""

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from translate.config.names import listed
from translate.config.tokenizer import TAG
from translate.corpora.images.line import is_unread
from translate.errors import UserError
from translate.models import Seq2Seq
from translate.search import Request, SentenceGroup, read_sources
from translate.text.documents import ALONE, ContextSize, in_context
from translate.text.tokenizer import LONGEST_PIECE, UNK, Pieces, Tokenizer

Ids = Sequence[int]
Previous = Sequence[Sequence[str]]

CUT = "source cut at {} pieces"
WITHOUT_CONTEXT = "read without the previous sentences of their documents, on which the run was trained"
UNREAD = "the name of a picture, which was translated as words"
UNKNOWN = "only characters that the vocabulary does not have"
PARTLY_UNKNOWN = "some characters that the vocabulary does not have"
UNKNOWN_TAG = "before the sentence a tag that the model was not trained with; it knows {}"


@dataclass(frozen=True)
class SentenceReader:
    """Reads source sentences.

    Attributes:
        tokenizer: of the source.
        limit: most pieces of a sentence; the rest is not read.
        warnings: counts of sentences that were cut or unknown, which are added to.
        context: how much of the previous sentences is read.
    """

    tokenizer: Tokenizer
    limit: int
    warnings: Counter[str]
    context: ContextSize = ALONE

    def read(
        self, sentences: Sequence[str], *, words: bool, previous: Previous | None = None
    ) -> list[Pieces]:
        """Each sentence in pieces, with the words that were read on request.

        Args:
            sentences: one a source.
            words: whether the words are wanted.
            previous: the sentences before each one in its document, the nearest last.
        """
        found = self._read_alone(sentences, words=words)
        if previous is None or not self.context.sentences:
            return found
        before = self.previous_ids(previous)
        return [in_context(each, self._within(each, ids)) for each, ids in zip(found, before, strict=True)]

    def near(self, sentence: str, previous: Sequence[str]) -> list[str]:
        """Those of the previous sentences that are read before a sentence of a given pair."""
        (ids,) = self.previous_ids([previous])
        count = len(self._within(self.encode_words(sentence, (), whitespace=False), ids))
        texts = [text for text in previous if text.strip()]
        return texts[len(texts) - count :]

    def encode_words(self, sentence: str, previous: Sequence[str], *, whitespace: bool) -> Pieces:
        """A sentence of a given pair, whole, with its words."""
        own = self.tokenizer.encode_words(sentence, whitespace=whitespace)
        if not previous or not self.context.sentences:
            return own
        return in_context(own, self._within(own, *self.previous_ids([previous])))

    def previous_ids(self, previous: Previous) -> list[list[list[int]]]:
        """The previous sentences of each source in pieces; blank ones are left out."""
        near = [[each for each in texts if each.strip()] for texts in previous]
        near = [texts[-self.context.sentences :] for texts in near]
        known = dict.fromkeys(text for texts in near for text in texts)
        starts = [text[: self.context.pieces * LONGEST_PIECE] for text in known]
        ids = dict(zip(known, self.tokenizer.encode_all(starts), strict=True))
        return [[ids[text] for text in texts] for texts in near]

    def _within(self, own: Pieces, previous: Sequence[Ids]) -> Sequence[Ids]:
        """The nearest of the previous sentences that are read before a sentence."""
        room = min(self.context.pieces, self.limit - len(own.ids))
        count = self.context._replace(pieces=room).nearest(map(len, reversed(previous)))
        return previous[len(previous) - count :]

    def _read_alone(self, sentences: Sequence[str], *, words: bool) -> list[Pieces]:
        if unread := sum(is_unread(each, self.tokenizer.reads) for each in sentences):
            self.warnings[UNREAD] += unread
        starts = [each[: self.limit * LONGEST_PIECE] for each in sentences]  # more cannot fit
        if self.tokenizer.tags:
            self._count_unknown_tags(starts)
        if words:
            found = [self.tokenizer.encode_words(start) for start in starts]
        else:
            found = [Pieces(ids, [], []) for ids in self.tokenizer.encode_all(starts)]
        rows = zip(sentences, starts, found, strict=True)
        return [
            self._checked(pieces, shortened=len(sentence) > len(start)) for sentence, start, pieces in rows
        ]

    def _count_unknown_tags(self, sentences: Sequence[str]) -> None:
        """A model that was trained with tags reads any other one as words."""
        known = self.tokenizer.tags
        for sentence in sentences:
            words = itertools.takewhile(TAG.fullmatch, sentence.split())
            if any(word not in known for word in words):
                self.warnings[UNKNOWN_TAG.format(listed(known))] += 1

    def _checked(self, pieces: Pieces, *, shortened: bool) -> Pieces:
        """The pieces within the limit."""
        kept = pieces.cut(self.limit)
        if shortened or kept is not pieces:
            self.warnings[CUT.format(self.limit)] += 1
        if UNK in kept.ids:
            unknown = self.tokenizer.only_unknown(kept.ids)
            self.warnings[UNKNOWN if unknown else PARTLY_UNKNOWN] += 1
        return kept


@dataclass(frozen=True)
class Sources:
    """All sentences of one call as the models read them; a sentence is known by its index."""

    pieces: Sequence[Pieces]  # of each sentence, for the first model
    others: Sequence[Sequence[Sequence[int]]]  # for each further model, ids of each sentence
    requests: Sequence[Request]  # one for each sentence

    def group(
        self, models: Sequence[Seq2Seq], chosen: Sequence[int], *, constrained: bool = True
    ) -> SentenceGroup:
        """Some sentences to search together."""
        ids: list[list[Sequence[int]]] = [[self.pieces[i].ids for i in chosen]]
        ids += [[sentences[i] for i in chosen] for sentences in self.others]
        requests = [self.requests[i] for i in chosen]
        if not constrained:
            requests = [replace(request, phrases=()) for request in requests]
        return SentenceGroup(chosen, read_sources(models, ids), requests)


class Reads(Protocol):
    """A member of an ensemble, which may read previous sentences."""

    @property
    def context(self) -> ContextSize: ...


def without_context(
    what: str, sentences: Sequence[str], previous: Previous | None, members: Sequence[Reads]
) -> int:
    """How many sentences lack the context that one of the members reads.

    Raises:
        UserError: for context that no member reads, or that does not fit the sentences.
    """
    reads = any(each.context.sentences for each in members)
    if previous is None:
        return sum(bool(each.strip()) for each in sentences) if reads else 0
    if len(previous) != len(sentences):
        raise UserError(
            f"{what}: context: {len(previous)} lists of previous sentences for {len(sentences)} sentences"
        )
    if any(previous) and not reads:
        raise UserError(f"{what}: context: this run reads no previous sentences (data.context_sentences=0)")
    for each in previous:
        check_sentences(f"{what}: context", each)
    return 0


def check_sentences(what: str, sentences: Sequence[str]) -> None:
    """Raise :class:`UserError` unless they are a list of texts."""
    if isinstance(sentences, str):
        raise UserError(f"{what}: expected a list of sentences, got one string; write [sentence]")
    for number, sentence in enumerate(sentences, 1):
        if not isinstance(sentence, str):
            raise UserError(f"{what}: sentence {number} is no string, but {type(sentence).__name__}")
        try:
            sentence.encode()
        except UnicodeEncodeError as error:
            raise UserError(f"{what}: sentence {number} is no text: it has a lone surrogate") from error
