"""Exports a Transformer to CTranslate2, a fast engine for CPUs and GPUs."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from translate.alignment.methods import align_recorded
from translate.alignment.pairs import EncodedPair
from translate.errors import UserError
from translate.export.contents import Contents, Engine, Rendered, require
from translate.search.ctranslate2.conversion import (
    Convertible,
    Refusals,
    convert,
    refuse_attentions,
    transformer_of,
)
from translate.search.ctranslate2.ctranslate2_search import attention_tensor
from translate.text.tokenizer import EOS

FORMAT = "ctranslate2"
QUANTIZATIONS = ("float32", "int8", "int8_float32", "int16", "float16", "bfloat16")
EXACT = "float32"


def export(contents: Contents, directory: Path, quantization: str = EXACT) -> Engine:
    """Write ``model.bin``, ``config.json``, vocabularies and SentencePiece models.

    Args:
        contents: of a Transformer.
        directory: to be created.
        quantization: one of ``QUANTIZATIONS``: the type of stored weights, and of computation if the
            processor supports it.

    Returns:
        The engine, which translates with the written files.

    Raises:
        UserError: for a setting that CTranslate2 cannot represent, or if it is not installed.
    """
    if quantization not in QUANTIZATIONS:
        raise UserError(f"--quantization: expected one of {', '.join(QUANTIZATIONS)}, got {quantization!r}")
    model = transformer_of(contents.model, f"--format {FORMAT}")
    refusals = Refusals(f"--format {FORMAT}")
    refuse_attentions(model, refusals)
    refusals.check()
    library = require("ctranslate2", FORMAT)
    require("ctranslate2.converters", FORMAT)
    run = Convertible(
        model, contents.tokenizers, contents.choice, contents.longest_source, contents.longest_target
    )
    convert(library, run, directory, quantization)
    contents.tokenizers.save(directory / "tokenizer")
    return _engine(library, contents, directory, quantization)


def _engine(library: Any, contents: Contents, directory: Path, quantization: str) -> Engine:
    translator = library.Translator(
        str(directory), device="cpu", compute_type=quantization, intra_threads=torch.get_num_threads()
    )
    tokenizers, search = contents.tokenizers, contents.search

    def translate(sentences: Sequence[str]) -> list[Rendered]:
        found = {i: Rendered("", 0.0) for i in range(len(sentences))}
        sources = [contents.encode(sentence) for sentence in sentences]
        for i, source in enumerate(sources):
            if len(source) == 1:  # only end of sentence
                continue
            # One by one: in a batch with a beam, CTranslate2 4.8 returns a wrong attention of the first step.
            (result,) = translator.translate_batch(
                [tokenizers.source.pieces(source[:-1])],
                beam_size=search.beam_size,
                length_penalty=search.length_penalty,
                max_input_length=0,
                min_decoding_length=0,
                max_decoding_length=min(search.longest(len(source)), contents.longest_target),
                return_scores=True,
                return_end_token=True,
                return_attention=True,
            )
            found[i] = _rendered(contents, sentences[i], result)
        return [found[i] for i in range(len(sentences))]

    return translate


def _rendered(contents: Contents, sentence: str, result: Any) -> Rendered:
    """A result, with its alignment if one head shows it: CTranslate2's mean of several is not ours."""
    both, score = contents.tokenizers, result.scores[0]
    ids = both.target.ids(result.hypotheses[0])
    if ids[-1] != EOS or len(contents.choice.heads) > 1:
        return Rendered(both.target.decode(ids), score)
    text, target = both.target.decode_words(ids[:-1])
    source = both.source.encode_words(sentence).cut(contents.search.max_source_pieces)
    weights = attention_tensor(result.attention[0])
    (alignment,) = align_recorded([EncodedPair.of(source, target)], contents.choice, [weights])
    return Rendered(text, score, alignment)
