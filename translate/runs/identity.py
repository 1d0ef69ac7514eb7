"""What a run learns from, as short names of the content: a resumed run must find the same."""

from collections.abc import Mapping

from translate.corpora.corpus import Corpus, Split
from translate.corpora.encoded_cache import fingerprint
from translate.errors import UserError
from translate.text.tokenizer import TokenizerPair


def identity_of(corpus: Corpus, tokenizers: TokenizerPair) -> dict[str, str]:
    """Names of the texts and tokenizers, by the setting that they come from."""
    models = {"tokenizer (its files)": tokenizers.source.model + tokenizers.target.model}
    found = {key: fingerprint([model])[:12] for key, model in models.items()}
    found["data.train (its text)"] = _of_split(corpus.train)
    found["data.validation (its text)"] = _of_split(corpus.validation)
    return found


def _of_split(split: Split | None) -> str:
    if split is None:
        return "none"
    return f"{len(split):,} pairs {fingerprint([*split.source, *split.target])[:12]}"


def differing(now: Mapping[str, str], then: Mapping[str, str]) -> list[str]:
    """What differs, a line each; what one of them does not tell is believed."""
    return [f"{key} was {then[key]}, now {now[key]}" for key in now if key in then and now[key] != then[key]]


def check_identity(now: Mapping[str, str], then: Mapping[str, str], where: str) -> None:
    """Raise :class:`UserError` listing every text or tokenizer that is not that of the run."""
    found = differing(now, then)
    if found:
        raise UserError(f"{where}: cannot resume with other data: {'; '.join(found)}")
