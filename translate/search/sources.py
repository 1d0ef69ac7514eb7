"""Source sentences as models read them: in pieces, with what a translation must have, in padded batches."""

import functools
import itertools
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from torch import Tensor

from translate.config.data import TAG
from translate.config.names import counted, escaped, listed, shorten
from translate.corpora.batching import pad
from translate.errors import UserError
from translate.models import Seq2Seq
from translate.text.documents import ALONE, ContextSize, in_context
from translate.text.tokenizer import EOS, LONGEST_PIECE, UNK, Pieces, Tokenizer

MAX_RECORDED = 1 << 26  # weights that a batch may record, 256 MiB; with more, it holds fewer sentences
MAX_CACHED = 1 << 28  # numbers that the decoder of a batch may keep, 1 GiB; with more, it holds fewer, too
MOST_FORMS = 100  # of the phrases of a sentence: bounds the memory of its search
MOST_UNKNOWN = 9  # characters that a message names, of at least three sentences
MAX_BATCH_PIECES = 8192  # of padded sources: bounds the memory of batches of long sentences

Ids = Sequence[int]
Previous = Sequence[Sequence[str]]

CUT = "source cut at {} pieces; split it into sentences"
UNKNOWN = "only characters that the vocabulary does not have"
PARTLY_UNKNOWN = "some characters that the vocabulary does not have"
UNKNOWN_TAG = "before the sentence a tag that the model was not trained with; it knows {}"
NO_TAG = "without a tag before the sentence, which the model was trained with; it knows {}"


def warning_lines(warnings: Mapping[str, int], unknown: Iterable[str]) -> list[str]:
    """Lines that count the sentences of every kind of warning, and name the unknown characters."""
    lines = [f"{counted(count, 'sentence')}: {kind}" for kind, count in warnings.items()]
    shown = ", ".join(c if c.isprintable() else unicodedata.name(c, escaped(c)) for c in sorted(unknown))
    return [*lines, f"such characters are, for example, {shown}"] if shown else lines


@dataclass(frozen=True)
class SentenceReader:
    """Reads source sentences within the limits of a model.

    Attributes:
        tokenizer: of the source.
        limit: most pieces of a sentence; the rest is not read.
        context: how much of the previous sentences is read.
        tagged: whether every sentence of the training had a tag before it.
        warnings: counts of sentences that were cut or unknown, which are added to.
        unknown: the first characters that the vocabulary does not have, which are added to.
    """

    tokenizer: Tokenizer
    limit: int
    context: ContextSize = ALONE
    tagged: bool = False
    warnings: Counter[str] = field(default_factory=Counter)
    unknown: set[str] = field(default_factory=set)

    def read(
        self, sentences: Sequence[str], *, words: bool, previous: Previous | None = None
    ) -> list[Pieces]:
        """The sentences in pieces, and in words on request.

        Args:
            sentences: the sources.
            words: whether the words are wanted.
            previous: the sentences before each one in its document, the nearest last.
        """
        starts = [sentence[: self.limit * LONGEST_PIECE] for sentence in sentences]  # more cannot fit
        if self.tokenizer.tags:
            self._check_tags(starts)
        if words:
            found = [self.tokenizer.encode_words(start) for start in starts]
        else:
            found = [Pieces(ids, [], []) for ids in self.tokenizer.encode_all(starts)]
        for index, (sentence, start) in enumerate(zip(sentences, starts, strict=True)):
            found[index] = self._within_limit(found[index], shortened=len(sentence) > len(start))
            if UNK in found[index].ids and self.tokenizer.reads == "text":
                self._note_unknown(start)
        if previous is None or not self.context.sentences:
            return found
        before = self._previous_ids(previous)
        return [in_context(own, self._nearest(own, ids)) for own, ids in zip(found, before, strict=True)]

    def near(self, sentence: str, previous: Sequence[str]) -> list[str]:
        """Those of the previous sentences that are read before a sentence of a given pair."""
        (ids,) = self._previous_ids([previous])
        count = len(self._nearest(self.tokenizer.encode_words(sentence), ids))
        texts = [text for text in previous if text.strip()]
        return texts[len(texts) - count :]

    def encode_words(self, sentence: str, previous: Sequence[str], *, whitespace: bool) -> Pieces:
        """A sentence of a given pair, whole, with its words."""
        own = self.tokenizer.encode_words(sentence, whitespace=whitespace)
        if not previous or not self.context.sentences:
            return own
        return in_context(own, self._nearest(own, *self._previous_ids([previous])))

    def _previous_ids(self, previous: Previous) -> list[list[list[int]]]:
        """The previous sentences of each source in pieces; blank ones are left out."""
        near = [[text for text in texts if text.strip()] for texts in previous]
        near = [texts[-self.context.sentences :] for texts in near]
        known = dict.fromkeys(text for texts in near for text in texts)
        starts = [text[: self.context.pieces * LONGEST_PIECE] for text in known]
        ids = dict(zip(known, self.tokenizer.encode_all(starts), strict=True))
        return [[ids[text] for text in texts] for texts in near]

    def _nearest(self, own: Pieces, previous: Sequence[Ids]) -> Sequence[Ids]:
        """The nearest of the previous sentences, as many as are read before a sentence."""
        room = min(self.context.pieces, self.limit - len(own.ids))
        count = self.context._replace(pieces=room).nearest(map(len, reversed(previous)))
        return previous[len(previous) - count :]

    def _check_tags(self, sentences: Sequence[str]) -> None:
        """Count sentences with a tag that the model reads as words, and without the tag that it expects."""
        known = self.tokenizer.tags
        for sentence in filter(str.strip, sentences):
            tags = [*itertools.takewhile(TAG.fullmatch, sentence.split())]
            if any(tag not in known for tag in tags):
                self.warnings[UNKNOWN_TAG.format(listed(known))] += 1
            elif self.tagged and not tags:
                self.warnings[NO_TAG.format(listed(known))] += 1

    def _note_unknown(self, sentence: str) -> None:
        """Add characters of a sentence to the unknown ones, unless one of them is known to be unknown."""
        if self.unknown.isdisjoint(sentence) and len(self.unknown) < MOST_UNKNOWN:
            characters = sorted({*"".join(sentence.split())})
            found = (character for character in characters if UNK in self.tokenizer.encode(character))
            self.unknown.update(itertools.islice(found, min(3, MOST_UNKNOWN - len(self.unknown))))

    def _within_limit(self, pieces: Pieces, *, shortened: bool) -> Pieces:
        if shortened or len(pieces.ids) > self.limit:
            pieces = pieces.cut(self.limit)
            self.warnings[CUT.format(self.limit)] += 1
        if UNK in pieces.ids:
            unknown = self.tokenizer.only_unknown(pieces.ids)
            self.warnings[UNKNOWN if unknown else PARTLY_UNKNOWN] += 1
        return pieces


@dataclass(frozen=True)
class Request:
    """Pieces that a translation must have.

    Attributes:
        prefix: pieces that it begins with.
        phrases: sequences of pieces that must appear in it, in any order.
        wishes: the number of the wish that each phrase fulfils, for phrases of which one is enough; every
            phrase is a wish of its own if there are none.
        initial: how many phrases, the last ones, may stand at the beginning alone.
        hoped: phrases of a glossary that the translation should contain without being made to.
        inner: pieces that go on with a word, which may not follow a phrase; none if one ends with a sign.
    """

    prefix: Sequence[int] = ()
    phrases: Sequence[Sequence[int]] = field(default_factory=tuple)
    inner: Sequence[int] = ()
    wishes: Sequence[int] = ()
    initial: int = 0
    hoped: Sequence[str] = ()

    @property
    def length(self) -> int:
        """Pieces needed to fulfil it, without the end of sentence."""
        lengths: dict[int, int] = {}
        for wish, phrase in zip(self.wishes or range(len(self.phrases)), self.phrases, strict=True):
            lengths[wish] = max(len(phrase), lengths.get(wish, 0))
        return len(self.prefix) + sum(lengths.values())


def read_requests(
    tokenizer: Tokenizer,
    count: int,
    prefix: str | Sequence[str] | None,
    constraints: Sequence[str] | Sequence[Sequence[str]] | None,
    max_pieces: int | None,
    hoped: Sequence[Sequence[str]] = (),
) -> list[list[Request]]:
    """The requests for every sentence: each holds if no translation has what those before it ask for.

    Args:
        tokenizer: of the target.
        count: number of sentences.
        prefix: the beginning of every translation, or one for every sentence.
        constraints: phrases that every translation must contain, or a list of phrases for every sentence;
            ``"patent|patents"`` is one of the two. At the beginning, a capital letter may be its first.
        max_pieces: most pieces of a translation that the model allows, with the end of sentence, or ``None``.
        hoped: phrases of a glossary for every sentence, which become constraints where a translation without
            them has none of their forms.

    Raises:
        UserError: for a text with pieces outside the vocabulary, or lists of a wrong length.
    """
    if prefix == "":
        raise UserError("prefix: there is no word in it; leave it out")
    if isinstance(constraints, str):
        raise UserError("constraints: expected a list of phrases, got one string; write [phrase]")
    if not isinstance(constraints, Sequence | None):
        raise UserError(f"constraints: expected a list of phrases, got {shorten(repr(constraints))}")
    if prefix is None and not constraints and not any(hoped):
        return [[Request()]] * count
    prefixes = [prefix or ""] * count if prefix is None or isinstance(prefix, str) else list(prefix)
    given = list(constraints or ())
    alike = all(isinstance(phrase, str) for phrase in given)
    phrases: list[Any] = [given] * count if alike else given
    for name, values in (("prefix", prefixes), ("constraints", phrases)):
        if len(values) != count:
            raise UserError(f"{name}: expected one a sentence, that is {count}, got {len(values)}")
    if any(not isinstance(begin, str) for begin in prefixes):
        raise UserError(f"prefix: expected text, or a list of texts, got {shorten(repr(prefix))}")
    for texts in phrases:
        if not isinstance(texts, list | tuple) or not all(isinstance(phrase, str) for phrase in texts):
            got = shorten(repr(texts))
            raise UserError(f"constraints: expected a list of phrases for every sentence, got {got}")
    pieces = functools.cache(functools.partial(_known_pieces, tokenizer))
    found = []
    for begin, texts, terms in zip(prefixes, phrases, hoped or [()] * count, strict=True):
        requests = [Request(pieces("prefix", begin) if begin else ())]
        if texts or terms:
            requests.insert(0, _with_phrases(requests[0], [*texts, *terms], tokenizer, pieces))
        if terms:
            first = _with_phrases(requests[-1], texts, tokenizer, pieces)
            requests.insert(0, replace(first, hoped=terms))
        found.append(requests)
    longest = max((request.length + 1 for requests in found for request in requests), default=0)
    if max_pieces is not None and longest > max_pieces:
        raise UserError(f"prefix and constraints: {longest} pieces, but the model says {max_pieces} at most")
    return found


def _with_phrases(
    request: Request, texts: Sequence[str], tokenizer: Tokenizer, pieces: Callable[[str, str], list[int]]
) -> Request:
    """A request for phrases, too."""
    forms = [(wish, form) for wish, text in enumerate(texts) for form in text.split("|")]
    if len(forms) > MOST_FORMS:
        raise UserError(f"constraints: {len(forms)} phrases of a sentence; expected at most {MOST_FORMS}")
    wanted = {tuple(pieces("constraint", form)): wish for wish, form in forms}
    capitals = {tuple(tokenizer.encode(form[:1].upper() + form[1:])): wish for wish, form in forms}
    capitals = {ids: wish for ids, wish in capitals.items() if UNK not in ids and ids not in wanted}
    inner = tokenizer.inner if forms and all(form.rstrip()[-1].isalnum() for _, form in forms) else ()
    either = wanted | capitals
    return Request(request.prefix, [*either], inner, [*either.values()], len(capitals))


def check_phrases(tokenizer: Tokenizer, phrases: Sequence[str]) -> None:
    """Raise :class:`UserError` for a phrase that no translation can have."""
    alone = [[phrase] for phrase in phrases]
    read_requests(tokenizer, len(alone), None, alone, None)


def _known_pieces(tokenizer: Tokenizer, kind: str, text: str) -> list[int]:
    ids = tokenizer.encode(text)
    if not ids:
        raise UserError(f"{kind} {shorten(repr(text))}: there is no word in it")
    if UNK in ids:
        found = next((character for character in text if UNK in tokenizer.encode(character)), text)
        shown, unknown = shorten(repr(text)), shorten(repr(found))
        raise UserError(f"{kind} {shown}: {unknown} is not in the run's target vocabulary")
    return ids


class Reader(NamedTuple):
    """A model with the sentences encoded in its own vocabulary."""

    model: Seq2Seq  # in evaluation mode, on the device of ``source``
    source: Tensor  # (B, S) ids, ending in end of sentence
    source_mask: Tensor | None  # (B, S) bool, True = visible

    @property
    def lengths(self) -> list[int]:
        """Source pieces of each sentence, with the end of sentence."""
        if self.source_mask is None:
            return [self.source.shape[1]] * len(self.source)
        return [int(length) for length in self.source_mask.sum(1).tolist()]


class SentenceGroup(NamedTuple):
    """Sentences that are encoded together and then searched one by one."""

    keys: Sequence[Any]  # the caller's name of each sentence
    readers: Sequence[Reader]  # one, or an ensemble with the same target vocabulary
    requests: Sequence[Request]


def read_sources(models: Sequence[Seq2Seq], sources: Sequence[Sequence[Ids]]) -> list[Reader]:
    """Sentences padded to one batch, on the models' device.

    Args:
        models: one or an ensemble, in evaluation mode, on one device.
        sources: for every model, ids of each sentence without the end of sentence.
    """
    readers = []
    for model, sentences in zip(models, sources, strict=True):
        source, mask = pad([[*ids, EOS] for ids in sentences])
        device = model.output_weight.device
        readers.append(Reader(model, source.to(device), None if mask is None else mask.to(device)))
    return readers


def most_sentences(batch_size: int, pieces: int, recorded: int = 0, cached: int = 0) -> int:
    """How many sentences may run together.

    Args:
        batch_size: the most whatever their length.
        pieces: of the longest source.
        recorded: weights that a sentence may record.
        cached: numbers that the decoder may keep of a sentence, if its translations become as long as they
            may and share no beginning.
    """
    most = min(batch_size, MAX_BATCH_PIECES // pieces)
    for numbers, limit in ((recorded, MAX_RECORDED), (cached, MAX_CACHED)):
        most = min(most, limit // numbers) if numbers else most
    return max(1, most)


def length_batches(
    lengths: Sequence[int], batch_size: int, held: Sequence[tuple[int, int]] | None = None
) -> Iterator[list[int]]:
    """Indexes of sources of similar lengths, shortest first; empty sources are left out.

    Args:
        lengths: pieces of each source.
        batch_size: most sources of a batch.
        held: weights that a sentence may record, and numbers that its decoder may keep; a pair a source.
    """
    batch: list[int] = []
    for index in sorted((i for i, length in enumerate(lengths) if length), key=lambda i: lengths[i]):
        length = lengths[index]
        if len(batch) >= most_sentences(batch_size, length, *(held[index] if held else ())):
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch
