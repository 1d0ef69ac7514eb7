"""A corpus as ids: cached, with links for guided alignment and for augmentation."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from translate.aligner.links import Gold, Links, parse_gold
from translate.aligner.statistical import KnownLinks, estimate_links
from translate.columns.column import Column
from translate.columns.fingerprint import fingerprint
from translate.config.data import DataConfig
from translate.config.settings import Settings
from translate.corpora.batching import EncodedCorpus, Ragged, piece_links
from translate.corpora.corpus import Corpus, Split
from translate.corpora.encoded_cache import cache_directory, collect_encoded, read_encoded, write_encoded
from translate.errors import UserError
from translate.images.picture_reader import PictureReader
from translate.images.picture_store import PictureStore
from translate.images.picture_tokenizer import PictureTokenizer
from translate.text.aside import told
from translate.text.documents import ContextSize
from translate.text.lines import read_lines
from translate.text.tokenizer import Pieces, TokenizerPair


def read_pictures(
    tokenizers: TokenizerPair, data: DataConfig, store: PictureStore | None = None
) -> TokenizerPair:
    """The tokenizers; the source's reads pictures too if ``data.read`` says so, a corpus's from ``store``."""
    if data.read == "text":
        return tokenizers
    reader = PictureReader(data.patch_size, data.picture_size, store)
    return TokenizerPair(PictureTokenizer(tokenizers.source, data.read, reader), tokenizers.target)


def context_of(data: DataConfig) -> ContextSize:
    """How much of a document is read before a sentence."""
    return ContextSize(data.context_sentences, data.context_pieces)


def encode(split: Split, tokenizers: TokenizerPair, path: Path | None = None) -> EncodedCorpus:
    """A split as ids, in a file if it is large or has a ``path``; raises ``OSError`` if the disk is full."""
    if isinstance(tokenizers.source, PictureTokenizer):
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


def _encode_linked(split: Split, tokenizers: TokenizerPair, path: Path | None = None) -> EncodedCorpus:
    """As :func:`encode`, with the links that the corpus itself has; raises ``UserError`` for a wrong one."""
    assert split.links is not None
    lines = Column.of(split.links).blocks()

    def blocks() -> Iterator[list[list[list[int]]]]:
        number = 0
        for sides, links in zip(split.blocks(), lines, strict=True):
            found: list[list[list[int]]] = [[], [], []]
            for source_line, target_line, line in zip(*sides, links, strict=True):
                number += 1
                source = tokenizers.source.encode_words(source_line)
                target = tokenizers.target.encode_words(target_line)
                gold = parse_gold(
                    line or "",
                    where=f"links of training pair {number:,}",
                    source_length=len(source.words),
                    target_length=len(target.words),
                )
                packed = piece_links(source, target, gold.to_teach(1))
                for side, values in zip(found, (source.ids, target.ids, packed), strict=True):
                    side.append(values)
            yield found

    return collect_encoded(blocks(), path)


def encode_training(settings: Settings, corpus: Corpus, tokenizers: TokenizerPair) -> EncodedCorpus:
    """The training split as ids, from the cache if possible.

    The name in the cache is a fingerprint of everything that the ids depend on: the filtered sentences, the
    tokenizers, whether there are links, and the gold links they were estimated with. Links from a file are
    not cached.
    """
    config, split = settings.training, corpus.train
    guided = config.needs_links
    folder = cache_directory(settings.runtime.cache)
    pictures = isinstance(tokenizers.source, PictureTokenizer)  # they have a cache of their own
    if folder is None or config.guided_links is not None or pictures:
        return _encode(settings, corpus, tokenizers)
    own_links = guided and split.links is not None
    # "agreed ..." names the way links are estimated: another way needs another name, or old links return
    way = "of the corpus" if own_links else "agreed, p0 learnt"
    kind = f"guided={guided and way} tokenised={settings.data.tokenised} pairs={len(split)}"
    models = (tokenizers.source.model, tokenizers.target.model)
    known = known_pairs(settings, corpus, tokenizers) if guided and not own_links else None
    gold = [] if known is None else [repr((s, t, sorted(links))) for s, t, links in zip(*known, strict=True)]
    name = fingerprint([kind, *models, split.fingerprint, *gold])
    path = folder / "encoded" / f"{name}.arrow"
    cached = read_encoded(path)
    if cached is not None:
        print(f"encoded corpus from {path}", flush=True)
        return cached
    try:
        if not guided or own_links:
            return (_encode_linked if guided else encode)(split, tokenizers, path)
        encoded = _encode(settings, corpus, tokenizers)
        write_encoded(path, encoded)
    except OSError as error:  # without the cache everything works, more slowly
        print(f"note: the encoded corpus cannot be kept in {path.parent} ({error.strerror})", flush=True)
        return encoded if guided and not own_links else _encode(settings, corpus, tokenizers)
    return read_encoded(path) or encoded


def _encode(settings: Settings, corpus: Corpus, tokenizers: TokenizerPair) -> EncodedCorpus:
    split, guided = corpus.train, settings.training.needs_links
    if not guided or (split.links is not None and settings.training.guided_links is None):
        with told("the system's folder of temporary files (TMPDIR)"):
            return (_encode_linked if guided else encode)(split, tokenizers)
    whitespace = settings.data.tokenised or settings.training.guided_whitespace
    sources = [tokenizers.source.encode_words(line, whitespace=whitespace) for line in split.source]
    targets = [tokenizers.target.encode_words(line, whitespace=whitespace) for line in split.target]
    links = training_links(settings, corpus, sources, targets, tokenizers)
    packed = [piece_links(*pair) for pair in zip(sources, targets, links, strict=True)]
    return EncodedCorpus(
        Ragged.of([pieces.ids for pieces in sources]),
        Ragged.of([pieces.ids for pieces in targets]),
        Ragged.of(packed),
    )


def training_links(
    settings: Settings,
    corpus: Corpus,
    sources: list[Pieces],
    targets: list[Pieces],
    tokenizers: TokenizerPair,
) -> list[Links]:
    """Word links of the training pairs: from ``training.guided_links``, or estimated by word alignment.

    Gold links of the training pairs are used only if that file holds them.
    """
    path = settings.training.guided_links
    if path is not None:
        return read_links(Path(path).expanduser(), corpus, sources, targets)
    known = known_pairs(settings, corpus, tokenizers)
    purpose = "guided alignment" if settings.training.guided_alignment else "augmentation"
    print(
        f"{purpose}: links estimated by word alignment of {len(sources):,} training pairs"
        + (f" and {len(known.links):,} validation pairs with gold links" if known else ""),
        flush=True,
    )
    return estimate_links(_words_of(sources), _words_of(targets), known=known)


def known_pairs(settings: Settings, corpus: Corpus, tokenizers: TokenizerPair) -> KnownLinks | None:
    """The validation pairs, if they have gold links that word alignment may learn from."""
    split = corpus.validation
    if not settings.training.guided_gold or split is None or split.gold is None:
        return None
    source, target = (
        _words_of([tokenizer.encode_words(line, whitespace=True) for line in lines])
        for tokenizer, lines in ((tokenizers.source, split.source), (tokenizers.target, split.target))
    )
    return KnownLinks(source, target, [gold.to_teach(0, 1) for gold in gold_links(split)])


def read_links(path: Path, corpus: Corpus, sources: list[Pieces], targets: list[Pieces]) -> list[Links]:
    """Links of the training pairs, from a file with one line a pair.

    The lines belong to the training split as it is, or as it was before pairs were filtered out. From gold, a
    target word takes its sure links, or its possible ones if it has no sure one.

    Raises:
        UserError: if the number of lines differs, or a link points outside its sentence.
    """
    lines, split = read_lines(path), corpus.train
    numbers: Sequence[int] = range(len(split))
    if len(lines) != len(split):
        if len(lines) != corpus.num_read or split.numbers is None:
            before = f" ({corpus.num_read:,} before filtering)" if corpus.num_read != len(split) else ""
            raise UserError(
                f"training.guided_links={path}: {len(lines):,} lines of links, but the training split has "
                f"{len(split):,} pairs{before}; expected one line a pair"
            )
        numbers = split.numbers
    found = []
    for number, source, target in zip(numbers, sources, targets, strict=True):
        gold = parse_gold(
            lines[number],
            where=f"{path}, line {number + 1}",
            source_length=len(source.words),
            target_length=len(target.words),
        )
        found.append(gold.to_teach(1))
    return found


def gold_links(split: Split, count: int | None = None) -> list[Gold]:
    """The parsed gold links of the first ``count`` pairs of a split that has gold."""
    assert split.gold is not None
    return [parse_gold(text, where=f"gold line {i}") for i, text in enumerate(split.gold[:count], 1)]


def _words_of(sentences: list[Pieces]) -> list[list[str]]:
    return [[word.text for word in sentence.words] for sentence in sentences]
