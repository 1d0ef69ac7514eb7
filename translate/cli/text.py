"""``translate text``: sentences in, translations out, line by line."""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from translate.cli.console import Rate, as_unicode, input_lines, print_note, print_warning, print_warnings
from translate.cli.options import Run, with_groups
from translate.cli.text_options import (
    AlignmentOptions,
    LengthOptions,
    OutputOptions,
    SampleOptions,
    SearchOptions,
    TextMachine,
    check_paragraphs,
    check_sampling,
    search_config,
)

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
  translate text runs/mine --prefix "Ein Herr" --constraint Sofa "A man sleeps."
  translate text runs/mine --ensemble runs/other --mbr 32 "A man sleeps."
  translate text runs/mine --markup "A <b>man</b> has {0} dogs."
"""

# Some readers of lines also end a line at these.
LINE_BREAKS = {ord(character): f"\\u{ord(character):04x}" for character in "\x85\u2028\u2029"}

Translate = Callable[[list[str]], "list[Translation]"]


@with_groups
def text(
    run: Run,
    sentences: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SENTENCE",
            help="Sentences to translate. Without any, or with -, the lines of standard input.",
            callback=as_unicode,
        ),
    ] = None,
    *,
    output: OutputOptions,
    alignment: AlignmentOptions,
    search: SearchOptions,
    lengths: LengthOptions,
    samples: SampleOptions,
    machine: TextMachine,
) -> None:
    """Translate sentences, given as arguments or on standard input.

    The score of a translation is its log-probability divided by length^A (--length-penalty); the length
    counts the end of sentence. An option of the search that you leave out has the value of the section
    search in the run's config.yaml.
    """
    check_sampling(search, samples)
    check_paragraphs(output, alignment)
    translator = _load([run, *(search.ensemble or ())], machine)
    config = search_config(translator.search, search, lengths, samples)

    def translate(block: list[str]) -> "list[Translation]":
        return translator.translate(
            block,
            search=config,
            batch_size=machine.batch_size,
            n_best=output.n_best,
            alignments=alignment.align or (output.format == "jsonl" and not output.split_sentences),
            prefix=search.prefix,
            constraints=search.constraint or None,
            mbr=samples.mbr,
            markup=alignment.markup,
            replace_unknown=alignment.replace_unknown,
        )

    rate = Rate()
    for block in _blocks(sentences, translator):
        if output.split_sentences:
            rows = _paragraph_rows(translator, translate, block, output.format)
        else:
            rows = _sentence_rows(translate, block, output.format, align=alignment.align)
        for row in rows:
            print(row)
        sys.stdout.flush()
        rate.add(len(block))
    rate.end()
    print_warnings(translator)


def _load(runs: list[Path], machine: TextMachine) -> "Translator":
    """The translator of a run, or of an ensemble of several."""
    translator, *others = (machine.load(run, int8=machine.int8) for run in runs)
    return translator.join(others) if others else translator


def _blocks(sentences: list[str] | None, translator: "Translator") -> Iterator[list[str]]:
    """The sentences of the arguments, or blocks of lines as standard input provides them."""
    if sentences and sentences != ["-"]:
        if len(sentences) == 1 and _is_file(sentences[0]):
            print_warning(
                f"{sentences[0]} is a file, but its name was translated; for its lines write < {sentences[0]}"
            )
        return iter([sentences])
    from translate.text.lines import gather

    if sys.stdin is not None and sys.stdin.isatty():
        print_note("type sentences, one a line; Ctrl-D ends the input")
    return gather(input_lines(translator.warnings))


def _is_file(name: str) -> bool:
    try:
        return Path(name).is_file()
    except OSError:  # longer than a name can be
        return False


def _sentence_rows(translate: Translate, block: list[str], format: str, *, align: bool) -> Iterator[str]:
    """One row for each sentence."""
    for source, result in zip(block, translate(block), strict=True):
        yield _json(source, result) if format == "jsonl" else _plain(result, align=align)


def _paragraph_rows(
    translator: "Translator", translate: Translate, block: list[str], format: str
) -> Iterator[str]:
    """One row for each paragraph, whose sentences are translated one by one."""
    from translate.text.words import split_sentences
    from translate.translator import BLANK

    paragraphs = [split_sentences(line) for line in block]
    if blank := sum(not sentences for sentences in paragraphs):
        translator.warnings[BLANK] += blank
    results = iter(translate([sentence for sentences in paragraphs for sentence in sentences]))
    for line, sentences in zip(block, paragraphs, strict=True):
        found = [next(results) for _ in sentences]
        joined = " ".join(result.text for result in found)
        if format == "text":
            yield joined
            continue
        parts = [
            {"source": source, "text": result.text, "score": result.score, "tokens": list(result.tokens)}
            for source, result in zip(sentences, found, strict=True)
        ]
        yield _dump({"source": line, "text": joined, "sentences": parts})


def _plain(result: "Translation", *, align: bool) -> str:
    parts = [candidate.text for candidate in result.n_best] or [result.text]
    if align and result.alignment is not None:
        parts.append(result.alignment.pharaoh())
    return "\t".join(parts)


def _json(source: str, result: "Translation") -> str:
    row: dict[str, Any] = {"source": source, "text": result.text, "score": result.score}
    row["tokens"] = list(result.tokens)
    if result.n_best:
        row["n_best"] = [
            {"text": candidate.text, "score": candidate.score, "tokens": list(candidate.tokens)}
            for candidate in result.n_best
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
