"""A corpus as ids: cached, with links to guide the attention, or in pieces drawn anew in each epoch."""

from collections.abc import Callable

from translate.config.settings import Settings
from translate.corpora.batching import EncodedCorpus, Ragged
from translate.corpora.corpus import Corpus, Split
from translate.corpora.encoded_cache import cache_directory, fingerprint, read_encoded, write_encoded
from translate.corpora.piece_links import piece_links
from translate.runs.guiding import guiding_links, known_pairs
from translate.text.subword_sampling import sample_corpus
from translate.text.tokenizer import TokenizerPair


def encode(split: Split, tokenizers: TokenizerPair) -> EncodedCorpus:
    """A split as ids."""
    return EncodedCorpus(
        Ragged.of(tokenizers.source.encode_corpus(split.source)),
        Ragged.of(tokenizers.target.encode_corpus(split.target)),
    )


def encode_training(settings: Settings, corpus: Corpus, tokenizers: TokenizerPair) -> EncodedCorpus:
    """The training split as ids, from the cache if it is there.

    The name in the cache is made of all that the ids depend on: the sentences that the filters left, the
    tokenizers, whether there are links, and the gold that was counted with them. Links of a file are read
    anew each time.
    """
    config, split = settings.training, corpus.train
    guided = bool(config.guided_alignment)
    folder = cache_directory(settings.runtime.cache)
    if folder is None or config.guided_links is not None:
        return _encode(settings, corpus, tokenizers)
    # "agreed ..." names how links are counted: another way needs another name, or the cache gives old links
    kind = f"guided={guided and 'agreed, p0 learnt'} tokenised={settings.data.tokenised} pairs={len(split)}"
    models = (tokenizers.source.model, tokenizers.target.model)
    known = known_pairs(settings, corpus, tokenizers) if guided else None
    gold = [] if known is None else [repr((s, t, sorted(links))) for s, t, links in zip(*known, strict=True)]
    name = fingerprint([kind, *models, *split.source, *split.target, *gold])
    path = folder / "encoded" / f"{name}.arrow"
    cached = read_encoded(path)
    if cached is not None:
        print(f"encoded corpus from {path}", flush=True)
        return cached
    encoded = _encode(settings, corpus, tokenizers)
    try:
        write_encoded(path, encoded)
    except OSError as error:  # it is a cache: without it everything works, more slowly
        print(f"note: the encoded corpus cannot be kept in {path.parent} ({error.strerror})", flush=True)
        return encoded
    return read_encoded(path) or encoded


def _encode(settings: Settings, corpus: Corpus, tokenizers: TokenizerPair) -> EncodedCorpus:
    split = corpus.train
    if not settings.training.guided_alignment:
        return encode(split, tokenizers)
    whitespace = settings.data.tokenised or settings.training.guided_whitespace
    sources = [tokenizers.source.encode_words(line, whitespace=whitespace) for line in split.source]
    targets = [tokenizers.target.encode_words(line, whitespace=whitespace) for line in split.target]
    links = guiding_links(settings, corpus, sources, targets, tokenizers)
    packed = [piece_links(*each) for each in zip(sources, targets, links, strict=True)]
    return EncodedCorpus(
        Ragged.of([each.ids for each in sources]),
        Ragged.of([each.ids for each in targets]),
        Ragged.of(packed),
    )


def sampler(
    settings: Settings, split: Split, tokenizers: TokenizerPair
) -> Callable[[int, int], EncodedCorpus] | None:
    """Gives the training split in pieces drawn for a seed and an epoch; ``None`` if pieces stay the same."""
    amount = settings.training.subword_sampling
    if amount is None:
        return None

    kind = settings.tokenizer.model_type

    def sample(seed: int, epoch: int) -> EncodedCorpus:
        return EncodedCorpus(
            Ragged.of(sample_corpus(tokenizers.source, split.source, kind, amount, [seed, epoch, 0])),
            Ragged.of(sample_corpus(tokenizers.target, split.target, kind, amount, [seed, epoch, 1])),
        )

    return sample
