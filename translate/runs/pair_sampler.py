"""The training pairs of an epoch, where they are not the same in each: augmented, or in sampled pieces."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from translate.config.settings import Settings
from translate.corpora.augmentation import DRAWN, Augmenter, LinkedPair, PairToken, marks, text_of
from translate.corpora.batching import POSITION_BITS, piece_links
from translate.corpora.columns import Column
from translate.corpora.encoded import EncodedCorpus, Ragged
from translate.corpora.split import Split
from translate.errors import UserError
from translate.links.links import Links
from translate.text.piece_words import SpanEncoder
from translate.text.subword_sampling import sample_corpus
from translate.text.tokenizer import NO_WORD, UNK, Pieces, Tokenizer, TokenizerPair


def pair_sampler(
    settings: Settings, split: Split, tokenizers: TokenizerPair, encoded: EncodedCorpus
) -> Callable[[Sequence[int], np.ndarray], EncodedCorpus] | None:
    """Gives rows of the training split as they are in one epoch; ``None`` if they stay the same.

    Args:
        settings: of the run.
        split: the training pairs.
        tokenizers: of both sides.
        encoded: the same pairs in their likeliest pieces, with links if anything needs them.

    Raises:
        UserError: if a tokenizer lacks the characters of markup that is to be inserted.
    """
    config = settings.training
    if config.subword_sampling is None and not config.augment.changes:
        return None
    whitespace = settings.data.tokenised or config.guided_whitespace
    check_marks(tokenizers, [name for name in DRAWN if getattr(config.augment, name)])
    return PairSampler(
        Augmenter(config.augment, whitespace),
        split,
        tokenizers,
        encoded,
        settings.tokenizer.model_type,
        config.subword_sampling,
        guided=bool(config.guided_alignment),
    )


def check_marks(tokenizers: TokenizerPair, changes: Sequence[str]) -> None:
    """Raise :class:`UserError` if a tokenizer does not know the characters that changes write."""
    for tokenizer in (tokenizers.source, tokenizers.target):
        unknown = [mark for mark in marks(changes).split() if UNK in tokenizer.encode(mark)]
        if unknown:
            names = " and ".join(f"training.augment.{name}" for name in changes if marks([name]))
            raise UserError(
                f"{names}: the tokenizer does not know {unknown[0]}; train without training.start_from, or "
                f"leave it out"
            )


@dataclass(frozen=True)
class PairSampler:
    """Rows of a corpus as they are in one epoch.

    Attributes:
        augmenter: draws the changes.
        split: the training pairs.
        tokenizers: of both sides.
        encoded: the same pairs in their likeliest pieces.
        model_type: of the tokenizers.
        amount: of subword sampling; ``None`` for the likeliest pieces.
        guided: whether the pairs are given with links.
    """

    augmenter: Augmenter
    split: Split
    tokenizers: TokenizerPair
    encoded: EncodedCorpus
    model_type: str
    amount: float | None
    guided: bool

    def __call__(self, seed: Sequence[int], rows: np.ndarray) -> EncodedCorpus:
        """The pairs of ``rows``, which depend on ``seed`` and each pair's own number alone."""
        texts = tuple(Column.of(side).gather(rows) for side in (self.split.source, self.split.target))
        changed = self._changed(seed, rows, texts) if self.augmenter.config.changes else {}
        for place, pair in changed.items():
            for side, tokens in zip(texts, (pair.source, pair.target), strict=True):
                side[place] = text_of(tokens)[0]
        ids = [self._ids(seed, side, rows, texts[side], changed) for side in (0, 1)]
        if not self.guided:
            return EncodedCorpus(*map(Ragged.of, ids))
        packed: list[Sequence[int]] = []
        for place, row in enumerate(rows.tolist()):
            if place not in changed and self.amount is None:
                assert self.encoded.links is not None
                packed.append(self.encoded.links.row(row).tolist())
                continue
            pair = changed.get(place) or self._pair(row, texts[0][place], texts[1][place])
            sides = zip(self._encoders, (pair.source, pair.target), ids, strict=True)
            source, target = (
                _pieces(encoder, tokens, None if self.amount is None else side[place])
                for encoder, tokens, side in sides
            )
            ids[0][place], ids[1][place] = source.ids, target.ids
            packed.append(piece_links(source, target, pair.links))
        return EncodedCorpus(Ragged.of(ids[0]), Ragged.of(ids[1]), Ragged.of(packed))

    @property
    def _tokenizers(self) -> tuple[Tokenizer, Tokenizer]:
        return self.tokenizers.source, self.tokenizers.target

    @cached_property
    def _encoders(self) -> tuple[SpanEncoder, SpanEncoder]:
        source, target = map(SpanEncoder, self._tokenizers)
        return source, target

    def _changed(
        self, seed: Sequence[int], rows: np.ndarray, texts: Sequence[list[str]]
    ) -> dict[int, LinkedPair]:
        """The pairs that change, by their places."""
        numbers = rows.tolist()

        def read(place: int) -> LinkedPair:
            return self._pair(numbers[place], texts[0][place], texts[1][place])

        found = {}
        for place, row in enumerate(numbers):
            pair = self.augmenter.pair(read, place, len(numbers), [*seed, row, place])
            if pair is not None:
                found[place] = pair
        return found

    def _pair(self, row: int, source: str, target: str) -> LinkedPair:
        """A pair with the links between its words, if links are known."""
        tokens = self.augmenter.tokens(source), self.augmenter.tokens(target)
        if self.encoded.links is None:
            return LinkedPair(*tokens)
        packed = self.encoded.links.row(row).tolist()
        owners = [
            _owners(encoder, side, ids.row(row).tolist())
            for encoder, side, ids in zip(
                self._encoders, tokens, (self.encoded.source, self.encoded.target), strict=True
            )
        ]
        return LinkedPair(*tokens, _word_links(packed, *owners))

    def _ids(
        self,
        seed: Sequence[int],
        side: int,
        rows: np.ndarray,
        texts: list[str],
        changed: dict[int, LinkedPair],
    ) -> list[Sequence[int]]:
        """The ids of one side."""
        tokenizer = self._tokenizers[side]
        if self.amount is not None:
            return [*sample_corpus(tokenizer, texts, self.model_type, self.amount, [*seed, side])]
        known = (self.encoded.source, self.encoded.target)[side]
        found: list[Sequence[int]] = [known.row(row).tolist() for row in rows.tolist()]
        new = tokenizer.encode_corpus([texts[place] for place in changed])
        for place, ids in zip(changed, new, strict=True):
            found[place] = ids
        return found


def _pieces(encoder: SpanEncoder, tokens: Sequence[PairToken], ids: Sequence[int] | None) -> Pieces:
    return encoder.encode(*text_of(tokens), ids)


def _owners(encoder: SpanEncoder, tokens: Sequence[PairToken], ids: Sequence[int]) -> list[int]:
    """The word of each of the likeliest pieces."""
    pieces = _pieces(encoder, tokens, None)
    return pieces.piece_words if len(pieces.ids) == len(ids) else []


def _word_links(packed: Sequence[int], source: Sequence[int], target: Sequence[int]) -> Links:
    """Links of words, from packed links of their pieces."""
    found = set()
    for link in packed:
        s, t = int(link) & (1 << POSITION_BITS) - 1, int(link) >> POSITION_BITS
        if s < len(source) and t < len(target) and NO_WORD not in (source[s], target[t]):
            found.add((source[s], target[t]))
    return frozenset(found)
