"""A corpus as ids: cached, with links for guided alignment and for augmentation."""

from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

from translate.config.data import DataConfig
from translate.config.settings import Settings
from translate.corpora.batching import piece_links
from translate.corpora.caches import cache_directory, fingerprint, one_at_a_time
from translate.corpora.columns import Column
from translate.corpora.corpus import Corpus, Split
from translate.corpora.encoded import EncodedCorpus, Ragged, collect_encoded, read_encoded
from translate.corpora.images.image_store import ImageStore
from translate.corpora.images.image_tokenizer import ImageReader, ImageTokenizer
from translate.corpora.linkers import (
    Linker,
    WrittenLinks,
    estimated,
    has_gaps,
    links_of_file,
    sample_of,
)
from translate.links.links import Gold, parse_gold
from translate.links.statistical import KnownLinks
from translate.text.aside import told
from translate.text.tokenizer import TokenizerPair


def read_pictures(
    tokenizers: TokenizerPair, data: DataConfig, store: ImageStore | None = None
) -> TokenizerPair:
    """The tokenizers; the source's reads pictures too if ``data.read`` says so, a corpus's from ``store``."""
    if data.read == "text":
        return tokenizers
    reader = ImageReader(data.patch_size, data.picture_size, store)
    return TokenizerPair(ImageTokenizer(tokenizers.source, data.read, reader), tokenizers.target)


def encode(split: Split, tokenizers: TokenizerPair, path: Path | None = None) -> EncodedCorpus:
    """A split as ids, in a file if it is large or has a ``path``; raises ``OSError`` if the disk is full."""
    if isinstance(tokenizers.source, ImageTokenizer):
        return EncodedCorpus(
            tokenizers.source.encode_sources(split.source),
            Ragged.of(tokenizers.target.encode_corpus(split.target)),
        )
    sides = tokenizers.source, tokenizers.target
    blocks = (
        [tokenizer.encode_corpus(lines) for tokenizer, lines in zip(sides, block, strict=True)]
        for block in split.blocks()
    )
    return collect_encoded(blocks, path)


def _encode_linked(
    split: Split, tokenizers: TokenizerPair, linker: Linker, path: Path | None, *, whitespace: bool
) -> EncodedCorpus:
    """As :func:`encode`, with the links of each pair."""
    sides = tokenizers.source, tokenizers.target

    def blocks() -> Iterator[list[list[list[int]]]]:
        begin = 0
        for block in split.blocks():
            source, target = (
                [tokenizer.encode_words(line, whitespace=whitespace) for line in lines]
                for tokenizer, lines in zip(sides, block, strict=True)
            )
            words = ([[word.text for word in each.words] for each in side] for side in (source, target))
            links = linker(begin, *words)
            packed = [piece_links(*pair) for pair in zip(source, target, links, strict=True)]
            yield [[each.ids for each in source], [each.ids for each in target], packed]
            begin += len(packed)

    return collect_encoded(blocks(), path, linked=True)


def _whitespace(settings: Settings, split: Split) -> bool:
    """Whether the links of a split number words that are split at white space alone."""
    if split.links is not None and settings.training.guided_links is None:
        return False  # as translate prepare numbers them
    return settings.data.tokenised or settings.training.guided_whitespace


def encode_training(settings: Settings, corpus: Corpus, tokenizers: TokenizerPair) -> EncodedCorpus:
    """The training split as ids, from the cache if possible.

    The name in the cache is a fingerprint of everything that the ids depend on: the filtered sentences, the
    tokenizers, whether there are links, and the gold links they were estimated with. Links from a file are
    not cached.
    """
    config, split = settings.training, corpus.train
    guided = config.needs_links
    folder = cache_directory(settings.runtime.cache)
    pictures = isinstance(tokenizers.source, ImageTokenizer)  # they have a cache of their own
    if folder is None or config.guided_links is not None or pictures:
        linker = linker_of(settings, corpus, tokenizers) if guided else None
        return _encode_aside(settings, split, tokenizers, linker)
    known = known_pairs(settings, corpus, tokenizers) if guided and has_gaps(split) else None
    gold = [] if known is None else [repr((s, t, sorted(links))) for s, t, links in zip(*known, strict=True)]
    models = (tokenizers.source.model, tokenizers.target.model)
    way = guided and _way(split, config.guided_sample_links)
    kind = f"guided={way} tokenised={settings.data.tokenised} pairs={len(split)}"
    path = folder / "encoded" / f"{fingerprint([kind, *models, split.fingerprint, *gold])}.arrow"
    cached = read_encoded(path)
    with nullcontext() if cached is not None else one_at_a_time(path):
        cached = read_encoded(path) if cached is None else cached  # another process may just have written it
        if cached is not None:
            print(f"encoded corpus from {path}", flush=True)
            return cached
        linker = linker_of(settings, corpus, tokenizers) if guided else None
        try:
            return _encode(settings, split, tokenizers, linker, path)
        except OSError as error:  # without the cache everything works, more slowly
            print(f"note: the encoded corpus cannot be kept in {path.parent} ({error.strerror})", flush=True)
    return _encode_aside(settings, split, tokenizers, linker)


def _encode_aside(
    settings: Settings, split: Split, tokenizers: TokenizerPair, linker: Linker | None
) -> EncodedCorpus:
    with told("the system's folder of temporary files (TMPDIR)"):
        return _encode(settings, split, tokenizers, linker, None)


def _encode(
    settings: Settings, split: Split, tokenizers: TokenizerPair, linker: Linker | None, path: Path | None
) -> EncodedCorpus:
    if linker is None:
        return encode(split, tokenizers, path)
    return _encode_linked(split, tokenizers, linker, path, whitespace=_whitespace(settings, split))


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
    sample = sample_of(split, settings.training.guided_sample_links, whitespace=whitespace)
    all_pairs = "" if sample.whole else f" of {len(split):,}"
    print(
        f"{purpose}: links estimated by word alignment of {len(sample.sources):,}{all_pairs} training pairs"
        + (f" and {len(known.links):,} validation pairs with gold links" if known else "")
        + ("" if sample.whole else " (training.guided_sample_links)"),
        flush=True,
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


def _way(split: Split, most_links: int) -> str:
    """Names the way links come about: another way needs another name, or old links return from the cache."""
    ways = [] if split.links is None else ["of the corpus"]
    if has_gaps(split):
        ways.append(f"agreed, p0 learnt, at most {most_links}")
    return ", or ".join(ways)


def gold_links(split: Split, count: int | None = None) -> list[Gold]:
    """The parsed gold links of the first ``count`` pairs of a split that has gold."""
    assert split.gold is not None
    return [parse_gold(text, where=f"gold line {i}") for i, text in enumerate(split.gold[:count], 1)]
