"""Sentences as a model reads them: in pieces, cut at the limits, with counts of what was cut or unknown."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from translate.errors import UserError
from translate.models import Seq2Seq
from translate.search import Request, SentenceGroup, read_sources
from translate.text.tokenizer import LONGEST_PIECE, UNK, Pieces, Tokenizer

CUT = "source cut at {} pieces"
UNKNOWN = "only characters that the vocabulary does not have"
PARTLY_UNKNOWN = "some characters that the vocabulary does not have"


@dataclass(frozen=True)
class SentenceReader:
    """Reads source sentences.

    Attributes:
        tokenizer: of the source.
        limit: most pieces of a sentence; the rest is not read.
        warnings: counts of sentences that were cut or unknown, which are added to.
    """

    tokenizer: Tokenizer
    limit: int
    warnings: Counter[str]

    def read(self, sentences: Sequence[str], *, words: bool) -> list[Pieces]:
        """Each sentence in pieces, with the words that were read on request."""
        starts = [each[: self.limit * LONGEST_PIECE] for each in sentences]  # more cannot fit
        if words:
            found = [self.tokenizer.encode_words(start) for start in starts]
        else:
            found = [Pieces(ids, [], []) for ids in self.tokenizer.encode_all(starts)]
        rows = zip(sentences, starts, found, strict=True)
        return [
            self._checked(pieces, shortened=len(sentence) > len(start)) for sentence, start, pieces in rows
        ]

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
