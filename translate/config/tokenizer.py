"""The ``tokenizer`` section; ``conf/tokenizer/unigram.yaml`` holds defaults and meanings."""

import re
from typing import Annotated, Literal

from annotated_types import Ge, Le

from translate.config.declare import declared
from translate.config.files import YAML

NUM_SPECIAL = 4  # padding, unknown, begin and end of sentence
RESERVED = ("<pad>", "<unk>", "<s>", "</s>")  # their names
TAG = re.compile(r"<[\w:.+-]{1,40}>")  # of a corpus of a mixture, before its sources


@declared("tokenizer/unigram.yaml")
class TokenizerConfig:
    """How SentencePiece cuts text into pieces."""

    model_type: Literal["unigram", "bpe", "word", "char"] = YAML
    vocabulary_size: Annotated[int, Ge(NUM_SPECIAL + 1), Le(10_000_000)] = YAML
    shared: bool = YAML
    character_coverage: Annotated[float, Ge(0.9), Le(1)] = YAML
    byte_fallback: bool = YAML
    normalization: Literal["nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf", "identity"] = YAML
