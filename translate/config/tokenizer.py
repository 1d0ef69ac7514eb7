"""What the ``tokenizer`` section of the configuration holds; the values are in ``conf/tokenizer``."""

from dataclasses import dataclass


@dataclass
class TokenizerConfig:
    """How text becomes pieces; the values are in ``conf/tokenizer``."""

    model_type: str = "unigram"
    vocabulary_size: int = 8000
    shared: bool = True
    character_coverage: float = 1.0
    byte_fallback: bool = False
    normalization: str = "nmt_nfkc"
