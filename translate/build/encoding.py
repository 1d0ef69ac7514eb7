"""A corpus as ids: cached, with links to guide the attention, or in pieces drawn anew in each epoch."""

from collections.abc import Callable

from translate.alignment.guide import piece_links, words_of
from translate.alignment.statistical import align_corpus
from translate.build.schema import Settings
from translate.text.batching import EncodedCorpus, Ragged
from translate.text.corpus import Split
from translate.text.encoded_cache import cache_directory, fingerprint, read_encoded, write_encoded
from translate.text.sampling import sample_corpus
from translate.text.tokenizer import TokenizerPair


def encode(split: Split, tokenizers: TokenizerPair) -> EncodedCorpus:
    """A split as ids."""
    return EncodedCorpus(
        Ragged.of(tokenizers.source.encode_corpus(split.source)),
        Ragged.of(tokenizers.target.encode_corpus(split.target)),
    )


def encode_training(settings: Settings, split: Split, tokenizers: TokenizerPair) -> EncodedCorpus:
    """The training split as ids, from the cache if it is there; gold links are never read.

    The name in the cache is made of all that the ids depend on: the sentences that the filters left, the
    tokenizers, and whether there are links.
    """
    guided = bool(settings.training.guided_alignment)
    folder = cache_directory(settings.runtime.cache)
    if folder is None:
        return _encode(settings, split, tokenizers, guided=guided)
    kind = f"guided={guided} tokenised={settings.data.tokenised} pairs={len(split)}"
    models = (tokenizers.source.model, tokenizers.target.model)
    path = folder / "encoded" / f"{fingerprint([kind, *models, *split.source, *split.target])}.arrow"
    cached = read_encoded(path)
    if cached is not None:
        print(f"encoded corpus from {path}", flush=True)
        return cached
    corpus = _encode(settings, split, tokenizers, guided=guided)
    try:
        write_encoded(path, corpus)
    except OSError as error:  # it is a cache: without it everything works, more slowly
        print(f"note: the encoded corpus cannot be kept in {path.parent} ({error.strerror})", flush=True)
        return corpus
    return read_encoded(path) or corpus


def _encode(settings: Settings, split: Split, tokenizers: TokenizerPair, *, guided: bool) -> EncodedCorpus:
    if not guided:
        return encode(split, tokenizers)
    whitespace = settings.data.tokenised
    sources = [tokenizers.source.encode_words(line, whitespace=whitespace) for line in split.source]
    targets = [tokenizers.target.encode_words(line, whitespace=whitespace) for line in split.target]
    links = align_corpus(words_of(sources), words_of(targets), method="intersection")
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
