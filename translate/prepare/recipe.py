"""A recipe of ``translate prepare``; ``conf/prepare.yaml`` holds its defaults and meanings."""

from typing import Annotated, Any, Literal

from annotated_types import Ge, Gt, Le

from translate.config.declare import Count, Fraction, Positive, declared, to_section
from translate.config.files import YAML
from translate.errors import UserError

FILE, CORPUS_FILE = "prepare.yaml", "prepare_corpus.yaml"
Above = Annotated[float, Gt(1), Le(1000)]
WordLength = Annotated[int, Ge(1), Le(999)]
Files = str | list[str] | None
ShardPairs = Annotated[int, Ge(1), Le(10_000_000)]
SampleLinks = Annotated[int, Ge(1), Le(1_000_000_000)]


@declared(CORPUS_FILE, "validation")
class HeldFiles:
    """The files of a split that is kept whole."""

    source: Files = YAML
    target: Files = YAML


@declared(CORPUS_FILE)
class CorpusFiles:
    """The files of one corpus."""

    source: Files = YAML
    target: Files = YAML
    document: Files = YAML
    source_field: str | None = YAML
    target_field: str | None = YAML
    validation: HeldFiles = YAML
    test: HeldFiles = YAML


@declared(FILE, "filters")
class FilterConfig:
    """The filters that judge a training pair by itself."""

    max_words: Positive | None = YAML
    max_word_length: WordLength | None = YAML
    max_ratio: Above | None = YAML
    min_letters: Fraction | None = YAML
    min_script: Fraction | None = YAML
    damaged: bool = YAML
    identical: bool = YAML
    language: Fraction | None = YAML
    language_letters: Positive = YAML
    numbers: Fraction | None = YAML
    placeholders: bool = YAML


@declared(FILE, "links")
class LinkConfig:
    """Links between words, from counts on a sample."""

    min_probability: Fraction | None = YAML
    sample_pairs: Positive = YAML
    sample_links: SampleLinks = YAML
    write: bool = YAML


@declared(FILE)
class Recipe:
    """The corpora, and everything that ``translate prepare`` does with them."""

    source_language: str
    target_language: str
    corpora: dict[str, CorpusFiles] = YAML
    seed: Count = YAML
    validation_pairs: Count = YAML
    test_pairs: Count = YAML
    shard_pairs: ShardPairs = YAML
    overlap: Literal["keep", "pair", "side"] = YAML
    filters: FilterConfig = YAML
    duplicates: bool = YAML
    near_duplicates: bool = YAML
    max_partners: Positive | None = YAML
    links: LinkConfig = YAML

    def __post_init__(self) -> None:
        """Refuse what no preparation can mean."""
        if self.source_language == self.target_language:
            raise UserError(
                f"source_language and target_language are both {self.source_language}; expected two languages"
            )


def recipe_of(values: dict[str, Any]) -> Recipe:
    """A recipe from the content of its file; raises ``UserError`` for an unknown key or a wrong value."""
    return to_section(values, Recipe, "")
