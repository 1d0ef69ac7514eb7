"""``translate text``: sentences in, translations out, line by line."""

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from translate.cli.console import (
    Rate,
    as_unicode,
    input_lines,
    print_note,
    print_warning,
    print_warnings,
)
from translate.cli.document_options import LineInDocument, TextDocuments, reads_context
from translate.cli.options import Run, print_engine, with_groups
from translate.cli.picture_input import PictureInput
from translate.cli.text_options import (
    AlignmentOptions,
    LengthOptions,
    OutputOptions,
    SampleOptions,
    SearchOptions,
    TextMachine,
    check_paragraphs,
    check_sampling,
    check_whole_lines,
    search_config,
)
from translate.cli.text_rows import paragraph_row, sentence_row
from translate.cli.tolerance import Tolerant
from translate.config.names import shorten
from translate.errors import UserError
from translate.runs.run_directory import is_run

if TYPE_CHECKING:
    from translate.translation import TranslateOptions, Translation
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
  translate text runs/mine --engine auto < sentences.en > sentences.de
  translate text runs/captions --image photo.jpg
  translate text runs/documents --document-ids lines.doc < lines.en
  translate text runs/mine --markup "A <b>man</b> has {0} dogs."
"""

# Some readers of lines also end a line at these.
MAX_SENTENCES = 1000  # of a line with --split-sentences; the rest is not read
SENTENCES_CUT = f"line cut at {MAX_SENTENCES:,} sentences"
SETTING = re.compile(r"[a-z_]+(\.[a-z_]+)+=\S*")  # of translate train
UNREAD = "the name of a picture, which was translated as words"
FAILED = 1  # the exit code if a line could not be translated

Translate = Callable[[list[LineInDocument]], "list[Translation]"]
Follow = Callable[[Iterator[list[str]]], Iterator[list[LineInDocument]]]


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
    pictures: PictureInput,
    documents: TextDocuments,
    machine: TextMachine,
) -> None:
    """Translate sentences, given as arguments or on standard input.

    The score of a translation is its log-probability divided by length^A (--length-penalty); the length
    counts the end of sentence. An option of the search that you leave out has the value of the section
    search in the run's config.yaml.

    A run that reads previous sentences (data.context_sentences) takes the lines for one document; a blank
    line ends it. With --split-sentences the sentences of a line are a document.
    """
    check_sampling(search, samples)
    check_paragraphs(output, alignment)
    if sentences and not run.exists() and is_run(Path(sentences[-1])):
        raise UserError(f"{shorten(run)}: no such run directory; the run comes first: {sentences[-1]}")
    translator = _load([run, *(search.ensemble or ())], machine)
    sentences = pictures.lines(translator, sentences)
    check_whole_lines(translator, output)
    options = _options(translator, output, alignment, search, lengths, samples, machine)
    most = documents.most(translator, split_sentences=output.split_sentences)

    translate = partial(_translate, translator, options)
    is_stream = sentences is None or sentences == ["-"]
    tolerant: Tolerant[LineInDocument, Any]
    if output.split_sentences:
        paragraphs = partial(_translate_paragraphs, translator, translate, most)
        named = partial(paragraph_row, output.format, translator.engine.asked)
        tolerant = Tolerant(paragraphs, named, translator.warnings, is_stream)
    else:
        show = partial(sentence_row, output.format, alignment.align, translator.engine.asked)
        tolerant = Tolerant(translate, show, translator.warnings, is_stream)
    _print_rows(partial(documents.follow, most=most), sentences, tolerant, translator)


def _translate(
    translator: "Translator", options: "TranslateOptions", block: list[LineInDocument]
) -> "list[Translation]":
    from translate.corpora.images.line import is_unread
    from translate.runs.runtime import parallel_search

    if unread := sum(is_unread(line.text, translator.reads) for line in block):
        translator.warnings[UNREAD] += unread
    context = [line.previous for line in block] if reads_context(translator) else None
    with parallel_search(translator, len(block)):
        return translator.translate([line.text for line in block], options=replace(options, context=context))


def _options(
    translator: "Translator",
    output: OutputOptions,
    alignment: AlignmentOptions,
    search: SearchOptions,
    lengths: LengthOptions,
    samples: SampleOptions,
    machine: TextMachine,
) -> "TranslateOptions":
    """The options of every call; says which engine translates with them."""
    from translate.translation import TranslateOptions

    options = TranslateOptions(
        n_best=output.n_best,
        alignments=alignment.align or (output.format == "jsonl" and not output.split_sentences),
        batch_size=machine.batch_size,
        prefix=search.prefix,
        constraints=search.constraint or None,
        mbr=samples.mbr,
        search=search_config(translator.search, search, lengths, samples),
        markup=alignment.markup,
        replace_unknown=alignment.replace_unknown,
    )
    print_engine(translator.engine_for(options))
    return options


def _print_rows(
    follow: "Follow",
    sentences: list[str] | None,
    tolerant: Tolerant[LineInDocument, Any],
    translator: "Translator",
) -> None:
    """Translate and print the sentences or lines; warnings at the end, and exit code 1 if any failed."""
    rate, reading = Rate(), Counter[str]()
    for block in follow(_blocks(sentences, reading, translator.reads)):
        for row in tolerant.rows(block):
            print(row)
        sys.stdout.flush()
        rate.add(len(block))
    rate.end()
    translator.warnings.update(reading)
    print_warnings(translator)
    if tolerant.failures:
        lines = "1 line" if tolerant.failures == 1 else f"{tolerant.failures:,} lines"
        print_warning(
            f"{lines} could not be translated and came out empty; the first error: {tolerant.first}"
        )
        raise typer.Exit(FAILED)


def _load(runs: list[Path], machine: TextMachine) -> "Translator":
    """The translator of a run, or of an ensemble of several."""
    translator, *others = (machine.load(run, int8=machine.int8) for run in runs)
    return translator.join(others) if others else translator


def _blocks(sentences: list[str] | None, warnings: Counter[str], reads: str) -> Iterator[list[str]]:
    """The sentences of the arguments, or blocks of lines as standard input provides them."""
    if sentences and sentences != ["-"]:
        if reads != "picture" and len(sentences) == 1 and _is_file(sentences[0]):
            name = sentences[0]
            hint = (
                f"for its lines write < {name}" if reads == "text" else f"write --image {name} for a picture"
            )
            print_warning(f"{name} is a file, but its name was translated; {hint}")
        for sentence in filter(SETTING.fullmatch, sentences):
            print_warning(
                f"{shorten(sentence)} looks like a setting of translate train, but was translated; "
                "the options of translate text begin with --"
            )
        return iter([sentences])
    from translate.text.lines import gather

    if sys.stdin is not None and sys.stdin.isatty():
        print_note("type sentences, one a line; Ctrl-D ends the input")
    return gather(input_lines(warnings))


def _is_file(name: str) -> bool:
    try:
        return Path(name).is_file()
    except OSError:  # longer than a name can be
        return False


def _translate_paragraphs(
    translator: "Translator", translate: Translate, most: int, block: list[LineInDocument]
) -> list[list[tuple[str, "Translation"]]]:
    """For each paragraph its sentences, each with its translation."""
    from translate.text.documents import previous_sentences
    from translate.text.sentences import split
    from translate.translator import BLANK

    language = translator.languages[0]
    texts = [line.text for line in block]
    all_sentences = [[line[start:end] for start, end in split(line, language)] for line in texts]
    if blank := sum(not sentences for sentences in all_sentences):
        translator.warnings[BLANK] += blank
    if long := sum(len(sentences) > MAX_SENTENCES for sentences in all_sentences):
        translator.warnings[SENTENCES_CUT] += long
    paragraphs = [sentences[:MAX_SENTENCES] for sentences in all_sentences]
    lines = [
        LineInDocument(*each)
        for sentences in paragraphs
        for each in zip(sentences, previous_sentences(sentences, most), strict=True)
    ]
    results = iter(translate(lines))
    return [[(sentence, next(results)) for sentence in sentences] for sentences in paragraphs]
