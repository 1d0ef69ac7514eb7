"""``translate text``: sentences in, translations out, line by line."""

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from translate.cli import text_flags as flags
from translate.cli.console import (
    BatchSize,
    Device,
    Plugins,
    Precision,
    Threads,
    input_lines,
    load_translator,
    print_warning,
    print_warnings,
)
from translate.cli.rate import Rate
from translate.errors import UserError

if TYPE_CHECKING:
    from translate.translation import Translation
    from translate.translator import Translator

EXAMPLES = """
Examples:

  translate text runs/demo/transformer "I love you ."

  translate text runs/mine < sentences.en > sentences.de

  translate text runs/mine --n-best 5 --format jsonl "A man sleeps."

  translate text runs/mine --align "A man sleeps."

  translate text runs/mine --sample --top-p 0.9 --n-best 3 "A man sleeps."

  translate text runs/mine --prefix "Ein Herr" --constraint "auf dem Sofa" "A man sleeps on the couch."

  translate text runs/mine --ensemble runs/other --mbr 32 "A man sleeps."

  translate text runs/mine --markup "A <b>man</b> has {0} dogs."
"""

# Some readers of lines end one at these, too.
LINE_BREAKS = {ord(each): f"\\u{ord(each):04x}" for each in "\x85\u2028\u2029"}


def text(
    run: flags.Run,
    sentences: flags.Sentences = None,
    beam_size: flags.BeamSize = None,
    n_best: flags.NBest = 1,
    length_penalty: flags.LengthPenalty = None,
    length_normalisation: flags.LengthNormalisation = None,
    coverage_penalty: flags.CoveragePenalty = None,
    no_repeat_ngram: flags.NoRepeatNgram = None,
    min_length: flags.MinLength = None,
    max_length: flags.MaxLength = None,
    min_length_ratio: flags.MinLengthRatio = None,
    max_length_ratio: flags.MaxLengthRatio = None,
    prefix: flags.Prefix = None,
    constraint: flags.Constraint = None,
    sample: flags.Sample = False,
    temperature: flags.Temperature = None,
    top_k: flags.TopK = None,
    top_p: flags.TopP = None,
    seed: flags.Seed = None,
    mbr: flags.Mbr = None,
    ensemble: flags.Ensemble = None,
    int8: flags.Int8 = False,
    split_sentences: flags.SplitSentences = False,
    format: flags.Format = "text",
    align: flags.Align = False,
    markup: flags.Markup = False,
    replace_unknown: flags.ReplaceUnknown = False,
    batch_size: BatchSize = None,
    device: Device = "auto",
    threads: Threads = None,
    precision: Precision = "float32",
    plugin: Plugins = None,
) -> None:
    """Translate sentences, given as arguments or on standard input.

    The score is the log-probability divided by length^A (--length-penalty), end of sentence counted; what is
    not given is as config.yaml of the run says under search.
    """
    _check_encoding(sentences or [])
    settings = {
        "length_penalty": length_penalty,
        "length_normalisation": length_normalisation,
        "coverage_penalty": coverage_penalty,
        "no_repeat_ngram": no_repeat_ngram,
        "min_length": min_length,
        "max_length": max_length,
        "min_length_ratio": min_length_ratio,
        "max_length_ratio": max_length_ratio,
    }
    drawing = {"temperature": temperature, "top_k": top_k, "top_p": top_p, "seed": seed}
    _check_use(settings, drawing, beam_size=beam_size, sampled=sample or mbr is not None)
    if split_sentences and (align or markup or n_best > 1):
        raise UserError("--split-sentences joins sentences: --align, --markup and --n-best do not go with it")
    translator, *others = (
        load_translator(each, device, threads, plugin, int8=int8, precision=precision)
        for each in (run, *(ensemble or ()))
    )
    if others:
        translator = translator.join(others)
    options: dict[str, Any] = {
        "beam_size": beam_size,
        "batch_size": batch_size,
        "n_best": n_best,
        "alignments": align or (format == "jsonl" and not split_sentences),
        "prefix": prefix,
        "constraints": constraint or None,
        "mbr": mbr,
        "markup": markup,
        "replace_unknown": replace_unknown,
        "search": _search(translator, {**settings, **drawing, "sample": sample or None}),
    }
    rate = Rate()
    for block in _blocks(sentences, translator):
        if split_sentences:
            for row in _paragraphs(translator, block, format, options):
                print(row)
        else:
            for source, result in zip(block, translator.translate(block, **options), strict=True):
                print(_json(source, result) if format == "jsonl" else _plain(result, align=align))
        sys.stdout.flush()
        rate.add(len(block))
    rate.end()
    print_warnings(translator)


def _check_encoding(sentences: list[str]) -> None:
    for number, sentence in enumerate(sentences, 1):
        try:
            sentence.encode("utf-8")
        except UnicodeEncodeError as error:  # Python keeps the bytes as lone surrogates
            raise UserError(f"sentence {number} of the arguments: not UTF-8; convert it to UTF-8") from error


def _check_use(
    settings: dict[str, Any], drawing: dict[str, Any], *, beam_size: int | None, sampled: bool
) -> None:
    """Raise :class:`UserError` for an option that would not be read."""

    def option(name: str) -> str:
        return "--" + name.replace("_", "-")

    if not sampled:
        for name, value in drawing.items():
            if value is not None:
                raise UserError(f"{option(name)} is for samples: add --sample or --mbr N")
        return
    for name, value in (("beam_size", beam_size), ("coverage_penalty", settings["coverage_penalty"])):
        if value is not None:
            raise UserError(
                f"{option(name)} is read by beam search, and --sample and --mbr draw samples instead; "
                f"leave out one or the other"
            )


def _search(translator: "Translator", given: dict[str, Any]) -> Any:
    """The run's search with what the user gave in its place."""
    try:
        return replace(translator.search, **{name: each for name, each in given.items() if each is not None})
    except ValueError as error:
        raise UserError(str(error)) from error


def _blocks(sentences: list[str] | None, translator: "Translator") -> Iterator[list[str]]:
    if sentences and sentences != ["-"]:
        if len(sentences) == 1 and _is_file(sentences[0]):
            print_warning(
                f"{sentences[0]} is a file, and its name was translated; for its lines: < {sentences[0]}"
            )
        return iter([sentences])
    from translate.text.lines import gather

    return gather(input_lines(translator.warnings))


def _is_file(name: str) -> bool:
    try:
        return Path(name).is_file()
    except OSError:  # longer than a name can be
        return False


def _paragraphs(
    translator: "Translator", block: list[str], format: str, options: dict[str, Any]
) -> Iterator[str]:
    """A row for each paragraph, whose sentences are translated one by one."""
    from translate.text.words import split_sentences
    from translate.translator import BLANK

    split = [split_sentences(line) for line in block]
    if blank := sum(not sentences for sentences in split):
        translator.warnings[BLANK] += blank
    results = iter(translator.translate([each for sentences in split for each in sentences], **options))
    for line, sentences in zip(block, split, strict=True):
        found = [next(results) for _ in sentences]
        joined = " ".join(_plain(each, align=False) for each in found)
        if format == "text":
            yield joined
            continue
        parts = [
            {"source": source, "text": each.text, "score": each.score, "tokens": list(each.tokens)}
            for source, each in zip(sentences, found, strict=True)
        ]
        yield _dump({"source": line, "text": joined, "sentences": parts})


def _plain(result: "Translation", *, align: bool) -> str:
    parts = [each.text for each in result.n_best] or [result.text]
    if align and result.alignment is not None:
        parts.append(result.alignment.pharaoh())
    return "\t".join(parts)


def _json(source: str, result: "Translation") -> str:
    row: dict[str, Any] = {"source": source, "text": result.text, "score": result.score}
    row["tokens"] = list(result.tokens)
    if result.n_best:
        row["n_best"] = [
            {"text": each.text, "score": each.score, "tokens": list(each.tokens)} for each in result.n_best
        ]
    alignment = result.alignment
    assert alignment is not None
    row["alignment"] = {
        "source_words": alignment.source_words,
        "target_words": alignment.target_words,
        "links": alignment.pharaoh(),
        "weights": [[round(float(weight), 4) for weight in weights] for weights in alignment.weights],
    }
    return _dump(row)


def _dump(row: dict[str, Any]) -> str:
    return json.dumps(row, ensure_ascii=False).translate(LINE_BREAKS)
