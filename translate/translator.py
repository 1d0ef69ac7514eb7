"""From text to text: translations, each with what it looked at."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

import torch

from translate.alignment.alignment import Alignment
from translate.alignment.choice import AlignmentChoice
from translate.alignment.extract import align
from translate.alignment.forced import EncodedPair, evaluation_mode
from translate.errors import UserError
from translate.models import Seq2Seq
from translate.search import Hypothesis, SearchConfig, beam_search
from translate.text.batching import pad
from translate.text.tokenizer import EOS, TokenizerPair


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
    ) -> list[Translation]:
        """Translate sentences; a blank one gives an empty translation.

        Args:
            sentences: one sentence each.
            beam_size: the run's own by default; 1 is greedy.
            batch_size: sentences at a time; the run's own by default.
            n_best: how many candidates each translation lists, at most the beam.
            alignments: whether each translation carries its alignment.

        Raises:
            UserError: for a beam, batch or n-best that is impossible.
        """
        _check_list("translate", sentences)
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
        if alignments:
            results = self._with_alignments(sentences, results, found, search.batch_size)
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

    def _search(self, beam_size: int | None, batch_size: int | None, n_best: int) -> SearchConfig:
        given = {"beam_size": beam_size, "batch_size": batch_size}
        try:
            search = replace(self.search, **{name: each for name, each in given.items() if each is not None})
        except ValueError as error:
            raise UserError(str(error)) from error
        if not 1 <= n_best <= search.beam_size:
            raise UserError(f"n_best: expected 1 to beam_size={search.beam_size}, got {n_best}")
        return search

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
            source = source.cut(self.search.max_source_pieces)
            ids = found[index][0].ids if found.get(index) else []
            pairs.append(EncodedPair.of(source, self.tokenizers.target.decode_words(ids)[1]))
        aligned = align(self.model, pairs, self.choice, batch_size=batch_size, device=self.device)
        return [replace(result, alignment=each) for result, each in zip(results, aligned, strict=True)]


def _check_list(what: str, sentences: Sequence[str]) -> None:
    if isinstance(sentences, str):
        raise UserError(f"{what}: expected a list of sentences, got one string; write [sentence]")
