"""From text to text: translations, each with what it looked at."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

import torch

from translate.alignment.alignment import Alignment
from translate.alignment.extract import AlignmentChoice, EncodedPair, align, evaluation_mode
from translate.alignment.markup import place_markup
from translate.alignment.unknown import replace_unknown as with_source_words
from translate.errors import UserError
from translate.models import Seq2Seq
from translate.search import Hypothesis, SearchConfig, beam_search
from translate.text.batching import pad
from translate.text.markup import Marked, read_markup
from translate.text.tokenizer import EOS, TokenizerPair

UNBALANCED = "tags without a partner, kept as well as possible"


@dataclass(frozen=True)
class Candidate:
    """One of the n best translations of a sentence."""

    text: str
    score: float  # log-probability / length ** length_penalty; natural logarithm


@dataclass(frozen=True)
class Translation:
    """A sentence's best translation; ``alignment`` and ``n_best`` if they were asked for."""

    text: str
    score: float  # log-probability / length ** length_penalty; natural logarithm
    alignment: Alignment | None = None
    n_best: tuple[Candidate, ...] = ()


@dataclass
class Translator:
    """A trained model, ready to translate and to align.

    Attributes:
        model: on its device, in evaluation mode.
        tokenizers: of both sides.
        search: defaults of the run.
        choice: the attention that is shown as the alignment.
        languages: of source and target.
        warnings: counts of what was cut, by kind.
    """

    model: Seq2Seq
    tokenizers: TokenizerPair
    search: SearchConfig
    choice: AlignmentChoice
    languages: tuple[str, str] = ("", "")
    warnings: Counter[str] = field(default_factory=Counter)

    @property
    def device(self) -> torch.device:
        return next(self.model.parameters()).device

    def translate(
        self,
        sentences: Sequence[str],
        *,
        beam_size: int | None = None,
        batch_size: int | None = None,
        n_best: int = 1,
        alignments: bool = False,
        markup: bool = False,
        replace_unknown: bool = False,
    ) -> list[Translation]:
        """Translate sentences; a blank one gives an empty translation.

        Args:
            sentences: one sentence each.
            beam_size: the run's own by default; 1 is greedy.
            batch_size: sentences at a time; the run's own by default.
            n_best: how many candidates each translation lists, at most the beam.
            alignments: whether each translation carries its alignment, between words without markup.
            markup: carry tags and placeholders over, to the words that are aligned to theirs.
            replace_unknown: put the source word that an unknown word is aligned to in its place.

        Raises:
            UserError: for a beam, batch or n-best that is impossible.
        """
        _check_list("translate", sentences)
        marked = self._read_markup(sentences) if markup else [Marked(sentence) for sentence in sentences]
        sentences = [each.text for each in marked]
        search = self._search(beam_size, batch_size, n_best)
        sources = [self._encode(sentence) for sentence in sentences]
        order = sorted((i for i, ids in enumerate(sources) if ids), key=lambda i: len(sources[i]))
        found: dict[int, list[Hypothesis]] = {}
        with evaluation_mode(self.model):
            for begin in range(0, len(order), search.batch_size):
                chosen = order[begin : begin + search.batch_size]
                source, mask = pad([[*sources[i], EOS] for i in chosen])
                mask = None if mask is None else mask.to(self.device)
                hypotheses = beam_search(self.model, source.to(self.device), mask, search)
                found.update(zip(chosen, hypotheses, strict=True))
        results = [self._result(found.get(i, []), n_best) for i in range(len(sentences))]
        if alignments or markup or replace_unknown:
            results = self._with_alignments(sentences, results, found, search.batch_size)
        if markup or replace_unknown:
            results = [
                self._carry(source, result, replace_unknown=replace_unknown, keep=alignments)
                for source, result in zip(marked, results, strict=True)
            ]
        return results

    def stream(
        self, lines: Iterable[str], *, chunk: int = 1024, **options: int | bool | None
    ) -> Iterator[tuple[str, Translation]]:
        """Translate lines as they come, ``chunk`` at a time, in order: each line with its translation."""
        iterator = iter(lines)
        while block := list(islice(iterator, chunk)):
            yield from zip(block, self.translate(block, **options), strict=True)  # type: ignore[arg-type]

    def align(
        self,
        sources: Sequence[str],
        targets: Sequence[str],
        *,
        whitespace: bool = False,
        batch_size: int | None = None,
    ) -> list[Alignment]:
        """The alignment of given pairs: each target is forced on its source.

        Args:
            sources: one sentence each.
            targets: their translations.
            whitespace: count words at white space alone, as gold links do.
            batch_size: pairs at a time; the run's own by default.

        Raises:
            UserError: if there are not as many targets as sources, or for a batch that is impossible.
        """
        _check_list("align", sources)
        _check_list("align", targets)
        if len(sources) != len(targets):
            raise UserError(f"align: {len(sources)} sources but {len(targets)} targets")
        pairs = [self.encode_pair(s, t, whitespace=whitespace) for s, t in zip(sources, targets, strict=True)]
        batch_size = self.search.batch_size if batch_size is None else batch_size
        return align(self.model, pairs, self.choice, batch_size=batch_size, device=self.device)

    def encode_pair(self, source: str, target: str, *, whitespace: bool = False) -> EncodedPair:
        """A pair as pieces with their words."""
        return EncodedPair.of(
            self.tokenizers.source.encode_words(source, whitespace=whitespace),
            self.tokenizers.target.encode_words(target, whitespace=whitespace),
        )

    def _search(self, beam_size: int | None, batch_size: int | None, n_best: int) -> SearchConfig:
        given = {"beam_size": beam_size, "batch_size": batch_size}
        try:
            search = replace(self.search, **{name: each for name, each in given.items() if each is not None})
        except ValueError as error:
            raise UserError(str(error)) from error
        if not 1 <= n_best <= search.beam_size:
            raise UserError(f"n_best: expected 1 to beam_size={search.beam_size}, got {n_best}")
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
        return place_markup(source, text, alignment), alignment

    def _encode(self, sentence: str) -> list[int]:
        ids = self.tokenizers.source.encode(sentence)
        if len(ids) > self.search.max_source_pieces:
            self.warnings[f"source cut at {self.search.max_source_pieces} pieces"] += 1
        return ids[: self.search.max_source_pieces]

    def _result(self, hypotheses: list[Hypothesis], n_best: int) -> Translation:
        if not hypotheses:
            return Translation("", 0.0)
        candidates = [
            Candidate(self.tokenizers.target.decode(each.ids), each.score) for each in hypotheses[:n_best]
        ]
        listed = tuple(candidates) if n_best > 1 else ()
        return Translation(candidates[0].text, candidates[0].score, n_best=listed)

    def _with_alignments(
        self,
        sentences: Sequence[str],
        results: list[Translation],
        found: dict[int, list[Hypothesis]],
        batch_size: int,
    ) -> list[Translation]:
        """Force each best path, piece by piece as it was found, on its source."""
        pairs = []
        for index, sentence in enumerate(sentences):
            source = self.tokenizers.source.encode_words(sentence)
            limit = self.search.max_source_pieces
            source = source._replace(ids=source.ids[:limit], piece_words=source.piece_words[:limit])
            ids = found[index][0].ids if found.get(index) else []
            pairs.append(EncodedPair.of(source, self.tokenizers.target.decode_words(ids)[1]))
        aligned = align(self.model, pairs, self.choice, batch_size=batch_size, device=self.device)
        return [replace(result, alignment=each) for result, each in zip(results, aligned, strict=True)]


def _check_list(what: str, sentences: Sequence[str]) -> None:
    if isinstance(sentences, str):
        raise UserError(f"{what}: expected a list of sentences, got one string; write [sentence]")
