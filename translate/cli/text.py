"""``translate text``: sentences in, translations out, line by line."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from translate.cli.console import (
    BatchSize,
    Device,
    Plugins,
    Threads,
    input_lines,
    load_translator,
    print_warnings,
)
from translate.errors import UserError

EXAMPLES = """
Examples:

  translate text runs/demo/transformer "I love you ."

  translate text runs/mine < sentences.en > sentences.de

  translate text runs/mine --n-best 5 --format jsonl "A man sleeps."

  translate text runs/mine --align "A man sleeps."

  translate text runs/mine --markup "A <b>man</b> has {0} dogs."
"""

# Some readers of lines end one at these, too.
LINE_BREAKS = {ord(each): f"\\u{ord(each):04x}" for each in "\x85\u2028\u2029"}


def text(
    run: Annotated[Path, typer.Argument(help="Run directory.")],
    sentences: Annotated[
        list[str] | None, typer.Argument(help="Sentences; standard input, line by line, if there is none.")
    ] = None,
    beam_size: Annotated[
        int | None, typer.Option(help="Hypotheses kept; 1 is greedy. [default: the run's search.beam_size]")
    ] = None,
    n_best: Annotated[int, typer.Option(help="Translations listed for each sentence, at most the beam.")] = 1,
    format: Annotated[
        Literal["text", "jsonl"], typer.Option(help="One line, or one JSON object, a sentence.")
    ] = ("text"),
    align: Annotated[
        bool, typer.Option("--align", help="Add word links, Pharaoh format (source-target), after a tab.")
    ] = False,
    markup: Annotated[
        bool,
        typer.Option("--markup", help="Carry tags (<b>, <br/>) and placeholders ({0}, %s) over, balanced."),
    ] = False,
    replace_unknown: Annotated[
        bool, typer.Option("--replace-unknown", help="Copy the source word where the model has none.")
    ] = False,
    batch_size: BatchSize = None,
    device: Device = "auto",
    threads: Threads = None,
    plugin: Plugins = None,
) -> None:
    """Translate sentences, given as arguments or on standard input.

    The score is the log-probability divided by the length, end of sentence counted.
    """
    _check_encoding(sentences or [])
    translator = load_translator(run, device, threads, plugin)
    lines: Iterator[str] = iter(sentences) if sentences else input_lines(sys.stdin.buffer)
    options: dict[str, Any] = {"beam_size": beam_size, "batch_size": batch_size, "n_best": n_best}
    options |= {"markup": markup, "replace_unknown": replace_unknown}
    if not sentences and sys.stdin.isatty():
        options["chunk"] = 1  # somebody is typing, and waits for an answer
    for source, result in translator.stream(lines, alignments=align or format == "jsonl", **options):
        print(_json(source, result) if format == "jsonl" else _plain(result, align=align), flush=True)
    print_warnings(translator)


def _check_encoding(sentences: list[str]) -> None:
    for number, sentence in enumerate(sentences, 1):
        try:
            sentence.encode("utf-8")
        except UnicodeEncodeError as error:  # Python keeps the bytes as lone surrogates
            raise UserError(f"sentence {number} of the arguments: not UTF-8; convert it to UTF-8") from error


def _plain(result: Any, *, align: bool) -> str:
    # A line stays a line, whatever the model writes.
    texts = [each.text for each in result.n_best] or [result.text]
    parts = [" ".join(text.split()) for text in texts]
    if align:
        parts.append(result.alignment.pharaoh())
    return "\t".join(parts)


def _json(source: str, result: Any) -> str:
    row: dict[str, Any] = {"source": source, "text": result.text, "score": result.score}
    if result.n_best:
        row["n_best"] = [{"text": each.text, "score": each.score} for each in result.n_best]
    alignment = result.alignment
    row["alignment"] = {
        "source_words": alignment.source_words,
        "target_words": alignment.target_words,
        "links": alignment.pharaoh(),
        "weights": [[round(float(weight), 4) for weight in weights] for weights in alignment.weights],
    }
    return json.dumps(row, ensure_ascii=False).translate(LINE_BREAKS)
