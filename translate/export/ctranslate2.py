"""Exports a Transformer to CTranslate2, a fast engine for CPUs and GPUs."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import torch

from translate.export.contents import Contents, Engine, require
from translate.search.ctranslate2.choosing import EngineChoice
from translate.search.ctranslate2.conversion import (
    Convertible,
    convert,
    refuse_attentions,
    transformer_of,
)
from translate.search.ctranslate2.ctranslate2_search import CTranslate2Search

FORMAT = "ctranslate2"
EXACT = "float32"


def export(contents: Contents, directory: Path, quantization: str = EXACT) -> Engine:
    """Write ``model.bin``, ``config.json``, vocabularies and SentencePiece models.

    Args:
        contents: of a Transformer.
        directory: to be created.
        quantization: the type of stored weights, and of computation if the processor supports it.

    Returns:
        The engine, which translates with the written files.

    Raises:
        UserError: for a setting that CTranslate2 cannot represent, or if it is not installed.
    """
    model = transformer_of(contents.model, f"--format {FORMAT}")
    refuse_attentions(model, f"--format {FORMAT}").check()
    library = require("ctranslate2", FORMAT)
    run = Convertible(
        model, contents.tokenizers, contents.choice, contents.longest_source, contents.longest_target
    )
    convert(library, run, directory, quantization)
    contents.tokenizers.save(directory / "tokenizer")
    loaded = library.Translator(
        str(directory), device="cpu", compute_type=quantization, intra_threads=torch.get_num_threads()
    )
    search = CTranslate2Search(library, loaded, run)
    translator = replace(contents, engine=EngineChoice("ctranslate2", search))
    return partial(translator.translate, alignments=True)
