"""The embedded corpus of the grammar as splits."""

from translate.config.data import DataConfig
from translate.config.names import shorten
from translate.corpora.split import RawCorpus, Split, SplitReader
from translate.errors import UserError


def load_grammar(data: DataConfig) -> RawCorpus:
    """The splits of `data=grammar` and `data=grammar_sov`; raises :class:`UserError` for other languages."""
    source_language, target_language = data.source_language or "en", data.target_language or "fr"
    backward = target_language == "en"
    other = source_language if backward else target_language
    if "en" not in (source_language, target_language) or other not in ("fr", "sov"):
        raise UserError(
            f"the grammar corpus translates between en and fr or sov, not {shorten(source_language, 100)} to "
            f"{shorten(target_language, 100)}; use data=grammar or data=grammar_sov"
        )
    if data.num_train < 1:
        raise UserError(f"data.num_train={data.num_train}: expected at least 1")
    from translate.grammar.generator import generate

    sizes = data.num_train, data.num_validation, data.num_test
    splits = {
        name: Split([e.source for e in examples], [e.target for e in examples], [e.gold for e in examples])
        for name, examples in generate(*sizes, data.seed, target=other).items()
        if examples
    }
    if backward:
        splits = {name: split.swapped() for name, split in splits.items()}
    readers = {name: SplitReader.of(split) for name, split in splits.items()}
    return RawCorpus(source_language, target_language, readers)
