"""The training text as ids: cached, with links, and changed in every epoch if it is augmented or sampled."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from translate.config.names import counted
from translate.config.settings import Settings
from translate.corpora.augmentation import DRAWN, Augmenter, LinkedPair, PairToken, marks, text_of
from translate.corpora.batching import POSITION_BITS, piece_links
from translate.corpora.caches import cache_directory, fingerprint, one_at_a_time
from translate.corpora.columns import Column, kept_or_temporary
from translate.corpora.corpus import Corpus, Split
from translate.corpora.encoded import EncodedCorpus, Ragged, collect_encoded, read_encoded, seldom_collected
from translate.corpora.images.image_tokenizer import ImageTokenizer
from translate.corpora.linkers import Linker, WrittenLinks, estimated, has_gaps, links_of_file, sample_of
from translate.errors import UserError
from translate.links.links import Gold, Links, parse_gold
from translate.links.statistical import KnownLinks
from translate.text.subword_sampling import encode_spans, sample_corpus
from translate.text.tokenizer import NO_WORD, UNK, Tokenizer, TokenizerPair


def encode(
    split: Split,
    tokenizers: TokenizerPair,
    path: Path | None = None,
    linker: Linker | None = None,
    *,
    whitespace: bool = False,
) -> EncodedCorpus:
    """A split as ids, in a file if it is large or has a ``path``; raises ``OSError`` if the disk is full.

    Args:
        linker: gives the links of the pairs, if they are wanted.
        whitespace: whether only white space separates the words that it links.
    """
    if isinstance(tokenizers.source, ImageTokenizer):
        return EncodedCorpus(
            tokenizers.source.encode_sources(split.source),
            Ragged.of(tokenizers.target.encode_corpus(split.target)),
        )
    sides = tokenizers.source, tokenizers.target

    def blocks() -> Iterator[list[list[list[int]]]]:
        begin = 0
        for block in split.blocks():
            if linker is None:
                yield [tokenizer.encode_corpus(lines) for tokenizer, lines in zip(sides, block, strict=True)]
                continue
            source, target = (
                [tokenizer.encode_words(line, whitespace=whitespace) for line in lines]
                for tokenizer, lines in zip(sides, block, strict=True)
            )
            words = ([[word.text for word in line.words] for line in side] for side in (source, target))
            links = linker(begin, *words)
            packed = [piece_links(*pair) for pair in zip(source, target, links, strict=True)]
            yield [[line.ids for line in source], [line.ids for line in target], packed]
            begin += len(packed)

    return collect_encoded(blocks(), path, linked=linker is not None)


def _whitespace(settings: Settings, split: Split) -> bool:
    """Whether the links of a split number words that are split at white space alone."""
    if split.links is not None and settings.training.guided_links is None:
        return False  # as translate prepare numbers them
    return settings.data.tokenised or settings.training.guided_whitespace


@seldom_collected()
def encode_training(settings: Settings, corpus: Corpus, tokenizers: TokenizerPair) -> EncodedCorpus:
    """The training split as ids, from the cache if possible.

    The name in the cache is a fingerprint of everything that the ids depend on: the filtered sentences, the
    tokenizers, whether there are links, and the gold links they were estimated with. Links from a file are
    not cached.
    """
    config, split = settings.training, corpus.train
    path = _cached_file(settings, corpus, tokenizers)
    with nullcontext() if path is None else one_at_a_time(path):
        if path is not None and (cached := read_encoded(path)) is not None:
            print(f"encoded corpus from {path}")
            return cached
        print("encoding the corpus")
        linker = linker_of(settings, corpus, tokenizers) if config.needs_links else None
        whitespace = _whitespace(settings, split)
        return kept_or_temporary(
            path,
            "the encoded corpus",
            lambda file: encode(split, tokenizers, file, linker, whitespace=whitespace),
        )


def _cached_file(settings: Settings, corpus: Corpus, tokenizers: TokenizerPair) -> Path | None:
    """The file of the encoded corpus in the cache, if it is kept there; images have a file of their own."""
    config, split = settings.training, corpus.train
    folder = cache_directory(settings.runtime.cache)
    if folder is None or config.guided_links is not None or isinstance(tokenizers.source, ImageTokenizer):
        return None
    guided = config.needs_links
    known = known_pairs(settings, corpus, tokenizers) if guided and has_gaps(split) else None
    gold = [] if known is None else [repr((s, t, sorted(links))) for s, t, links in zip(*known, strict=True)]
    models = (tokenizers.source.model, tokenizers.target.model)
    way = guided and _way(split)
    kind = f"guided={way} tokenised={settings.data.tokenised} pairs={len(split)}"
    return folder / "encoded" / f"{fingerprint([kind, *models, split.fingerprint, *gold])}.arrow"


def linker_of(settings: Settings, corpus: Corpus, tokenizers: TokenizerPair) -> Linker:
    """Word links of the training pairs: of ``training.guided_links``, of the corpus, or estimated.

    Gold links of the training pairs are used only if that file holds them.
    """
    config, split = settings.training, corpus.train
    if config.guided_links is not None:
        return links_of_file(Path(config.guided_links).expanduser(), corpus)
    purpose = "guided alignment" if config.guided_alignment else "augmentation"
    whitespace = _whitespace(settings, split)
    if split.links is None:
        return estimated_linker(settings, corpus, tokenizers, purpose, whitespace=whitespace)
    others = None
    if has_gaps(split):
        purpose += " of pairs without links"
        others = estimated_linker(settings, corpus, tokenizers, purpose, whitespace=whitespace)
    return WrittenLinks(Column.of(split.links), "links of training pair ", others=others)


def estimated_linker(
    settings: Settings, corpus: Corpus, tokenizers: TokenizerPair, purpose: str, *, whitespace: bool
) -> Linker:
    """Links by word alignment of the training pairs, or of a sample, and of validation pairs with gold."""
    split, known = corpus.train, known_pairs(settings, corpus, tokenizers)
    sample = sample_of(split, tags=tokenizers.source.tags, whitespace=whitespace)
    used = counted(len(sample.sources), "training pair") + f" of the {len(split):,}" * (not sample.whole)
    print(
        f"{purpose}: links estimated by word alignment of {used}"
        + (f" and {len(known.links):,} validation pairs with gold links" if known else "")
    )
    return estimated(sample, known)


def known_pairs(settings: Settings, corpus: Corpus, tokenizers: TokenizerPair) -> KnownLinks | None:
    """The validation pairs, if they have gold links that word alignment may learn from."""
    split = corpus.validation
    if not settings.training.guided_gold or split is None or split.gold is None:
        return None
    source, target = (
        [[word.text for word in tokenizer.encode_words(line, whitespace=True).words] for line in lines]
        for tokenizer, lines in ((tokenizers.source, split.source), (tokenizers.target, split.target))
    )
    return KnownLinks(source, target, [gold.to_teach(0, 1) for gold in gold_links(split)])


def _way(split: Split) -> str:
    """Names the way links come about: another way needs another name, or old links return from the cache."""
    ways = [] if split.links is None else ["of the corpus"]
    if has_gaps(split):
        ways.append("agreed, p0 learnt")
    return ", or ".join(ways)


def gold_links(split: Split, count: int | None = None) -> list[Gold]:
    """The parsed gold links of the first ``count`` pairs of a split that has gold."""
    assert split.gold is not None
    return [parse_gold(text, where=f"gold line {i}") for i, text in enumerate(split.gold[:count], 1)]


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
        Augmenter(config.augment, whitespace, tokenizers.source.tags),
        split,
        tokenizers,
        encoded,
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
                f"{names}: the tokenizer does not know {unknown[0]}; train without training.start_from and "
                "tokenizer.path, or leave it out"
            )


@dataclass(frozen=True)
class PairSampler:
    """Rows of a corpus as they are in one epoch.

    Attributes:
        augmenter: draws the changes.
        split: the training pairs.
        tokenizers: of both sides.
        encoded: the same pairs in their likeliest pieces.
        amount: of subword sampling; ``None`` for the likeliest pieces.
        guided: whether the pairs are given with links.
    """

    augmenter: Augmenter
    split: Split
    tokenizers: TokenizerPair
    encoded: EncodedCorpus
    amount: float | None
    guided: bool

    def __call__(self, seed: Sequence[int], rows: np.ndarray) -> EncodedCorpus:
        """The pairs of ``rows``, which depend on ``seed`` and on the order of the rows."""
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
            sides = zip(self._sides, (pair.source, pair.target), ids, strict=True)
            source, target = (
                encode_spans(tokenizer, *text_of(tokens), None if self.amount is None else side[place])
                for tokenizer, tokens, side in sides
            )
            ids[0][place], ids[1][place] = source.ids, target.ids
            packed.append(piece_links(source, target, pair.links))
        return EncodedCorpus(Ragged.of(ids[0]), Ragged.of(ids[1]), Ragged.of(packed))

    @property
    def _sides(self) -> tuple[Tokenizer, Tokenizer]:
        return self.tokenizers.source, self.tokenizers.target

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
            _owners(tokenizer, side, ids.row(row).tolist())
            for tokenizer, side, ids in zip(
                self._sides, tokens, (self.encoded.source, self.encoded.target), strict=True
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
        tokenizer = self._sides[side]
        if self.amount is not None:
            return [*sample_corpus(tokenizer, texts, self.amount, [*seed, side])]
        known = (self.encoded.source, self.encoded.target)[side]
        found: list[Sequence[int]] = [known.row(row).tolist() for row in rows.tolist()]
        new = tokenizer.encode_corpus([texts[place] for place in changed])
        for place, ids in zip(changed, new, strict=True):
            found[place] = ids
        return found


def _owners(tokenizer: Tokenizer, tokens: Sequence[PairToken], ids: Sequence[int]) -> list[int]:
    """The word of each of the likeliest pieces."""
    pieces = encode_spans(tokenizer, *text_of(tokens))
    return pieces.piece_words if len(pieces.ids) == len(ids) else []


def _word_links(packed: Sequence[int], source: Sequence[int], target: Sequence[int]) -> Links:
    """Links of words, from packed links of their pieces."""
    found = set()
    for link in packed:
        s, t = int(link) & (1 << POSITION_BITS) - 1, int(link) >> POSITION_BITS
        if s < len(source) and t < len(target) and NO_WORD not in (source[s], target[t]):
            found.add((source[s], target[t]))
    return frozenset(found)
