"""``translate text``: sentences in, translations out, line by line."""

import json
import math
import os
import re
import shlex
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from translate.cli.console import (
    as_unicode,
    input_lines,
    print_note,
    print_warning,
    print_warnings,
    progress,
)
from translate.cli.options import (
    Run,
    TranslationMachine,
    note_unfinished,
    print_engine,
    warn_of_exchange,
    warn_of_languages,
    with_groups,
)
from translate.cli.source_options import LineInDocument, PictureInput, TextDocuments
from translate.cli.text_options import (
    AlignmentOptions,
    LengthOptions,
    OutputOptions,
    SampleOptions,
    SearchOptions,
    check_sampling,
    search_config,
)
from translate.config.names import counted, shorten, shown_path
from translate.errors import LineError, UserError
from translate.text.languages import FEWEST, SOME
from translate.text.markup import find_markup
from translate.text.sentences import split

if TYPE_CHECKING:
    from translate.text.glossary import Terms
    from translate.translation import ScoredText, TranslateOptions, Translation
    from translate.translator import Translator

LOST = "tags or placeholders that the translation lacks; --markup carries them over"
FAILED = 1  # the exit code if a line could not be translated

# Some readers of lines also end a line at these.
LINE_BREAKS = {character: f"\\u{ord(character):04x}" for character in "\x85\u2028\u2029"}


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
    machine: TranslationMachine,
) -> None:
    """Translate sentences, given as arguments or on standard input.

    The score of a translation is its log-probability divided by length^A (--length-penalty); the length
    counts the end of sentence. An option of the search that you leave out has the value of the section
    search in the run's config.yaml.

    A run that reads previous sentences (data.context_sentences) takes the lines for one document; a blank
    line ends it.

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
      translate file runs/mine note.docx --out note.fr.docx
    """
    check_sampling(search, samples)
    translator = machine.load_ensemble(run, search.ensemble)
    if any(vars(alignment).values()):
        note_unfinished(run)
    if translator.reads != "picture":
        _refuse_file(run, sentences or [], pictures=translator.reads == "both")
    words = sentences or []
    if len(words) > 1 and all(word.isascii() and f"a{word.strip('.,!?')}".isalpha() for word in words):
        print_note(f"{len(words)} sentences of one word each; a sentence of several is put in quotes")
    if translator.reads == "text" and any(_are_sentences(word) for word in words):
        print_note(
            "several sentences in one pair of quotes are translated as one, which may leave some out; put "
            "each in its own, or translate file, which finds them in a .txt"
        )
    for setting in filter(re.compile(r"[a-z_]+[._][a-z_.]+=\S*").fullmatch, words):
        print_note(f"{shorten(setting)} is translated; settings here are options (see translate text --help)")
    if translator.reads == "text" and len(words) == 1 and re.fullmatch(r"[\w/-]+(\.[a-z]{2,5})+", words[0]):
        print_note(f"{shorten(words[0])} is translated; there is no file of that name")
    sentences, terms = pictures.lines(translator, sentences), search.terms()
    options = options_of(translator, output, alignment, search, lengths, samples, machine, terms)
    most = documents.most(translator)

    tolerant = Tolerant(
        partial(_translate, translator, options),
        partial(_row, output, translator.engine.asked, align=alignment.align),
        translator.warnings,
        stream=sentences is None or sentences == ["-"],
    )
    bar, reading, first = progress(), Counter[str](), list[str]()
    for block in documents.follow(_blocks(sentences, reading), most):
        first += [line.text for line in block][: SOME - len(first)]
        for row in tolerant.rows(block):
            print(row)
        sys.stdout.flush()
        bar.update(len(block))
    bar.close()
    translator.warnings.update(reading)
    print_warnings(translator)
    if not reading and translator.reads == "text":
        warn = warn_of_languages if len(first) >= FEWEST else warn_of_exchange
        warn(translator.languages, first)
    tolerant.end()


def options_of(
    translator: "Translator",
    output: OutputOptions,
    alignment: AlignmentOptions,
    search: SearchOptions,
    lengths: LengthOptions,
    samples: SampleOptions,
    machine: TranslationMachine,
    terms: "Terms | None",
) -> "TranslateOptions":
    """The options of every call; says which engine translates with them."""
    from translate.search.sources import check_phrases
    from translate.translation import TranslateOptions

    phrases = [*(search.constraint or ()), *(terms.entries.values() if terms else ())]
    options = TranslateOptions(
        n_best=output.n_best,
        alignments=alignment.align or output.format == "jsonl",
        batch_size=machine.batch_size,
        prefix=search.prefix,
        constraints=search.constraint,
        glossary=terms,
        mbr=samples.mbr,
        search=search_config(translator.search, search, lengths, samples),
        markup=alignment.markup,
        replace_unknown=alignment.replace_unknown,
    )
    check_phrases(translator.tokenizers.target, phrases)
    print_engine(translator.engine_for(options))
    return options


def _blocks(sentences: list[str] | None, warnings: Counter[str]) -> Iterator[list[str]]:
    """The sentences of the arguments, or blocks of lines as standard input provides them."""
    if sentences and sentences != ["-"]:
        return iter([sentences])
    from translate.text.lines import gather

    if sys.stdin is not None and sys.stdin.isatty():
        print_note("type sentences, one a line; Ctrl-D ends the input")
    return gather(input_lines(warnings))


def _are_sentences(text: str) -> bool:
    """Whether a text has several sentences with letters."""
    return sum(any(map(str.isalpha, text[start:end])) for start, end in split(text)) > 1


def _refuse_file(run: Path, sentences: list[str], *, pictures: bool) -> None:
    """Raise :class:`UserError`, with the command that reads it, for a sentence that names a file or a run."""
    from translate.runs.run_directory import is_run

    if others := [name for name in sentences if is_run(Path(name))]:
        raise UserError(f"{shown_path(others[0])} is a run; to join several, write: --ensemble {others[0]}")
    for name in filter(os.path.isfile, sentences):
        from translate.corpora.tables import is_table
        from translate.serve.documents import FORMATS

        path, file, folder = Path(name), shlex.quote(name), shlex.quote(str(run))
        write = f"translate text {folder} < {file}"
        if pictures:
            write = f"a sentence and --image {file} for a picture, or for lines: {write}"
        elif path.suffix.lower() in FORMATS:
            out = shlex.quote(f"{path.stem}.translated{path.suffix}")
            document = f"translate file {folder} {file} --out {out}"
            write = f"{document}, or line by line: {write}" if path.suffix.lower() == ".txt" else document
        elif is_table(path):
            write = f"its sentences into a file, one a line, and: translate text {folder} < LINES"
        raise UserError(f"{shown_path(name)} is a file; to translate what is in it, write: {write}")


def _translate(
    translator: "Translator", options: "TranslateOptions", block: list[LineInDocument]
) -> list["Translation"]:
    """The translation of each line of a block."""
    from translate.runs.runtime import translate_all

    context = [line.previous for line in block] if translator.most_context else None
    lines = [line.text for line in block]
    results = translate_all(translator, lines, options=replace(options, context=context))
    if not options.markup:
        tags = translator.tokenizers.source.tags
        lost = sum(
            any(mark[0] not in tags and mark[0] not in result.text for mark in find_markup(line))
            for line, result in zip(lines, results, strict=True)
        )
        translator.warnings.update({LOST: lost} if lost else {})
    return results


@dataclass
class Tolerant:
    """Translates blocks of lines. If a block fails, its halves are tried: only the line at fault is lost.

    Attributes:
        translate: gives one result for every line of a block.
        show: the row of a line and its result, which is ``None`` if the line failed.
        warnings: counts that ``translate`` adds to; those of a failed block are taken back.
        stream: whether the lines are many, so that a :class:`LineError` costs its line alone.
        failures: number of lines that failed.
        first: the first of their errors.
    """

    translate: Callable[[list[Any]], list[Any]]
    show: Callable[[Any, Any], str]
    warnings: Counter[str]
    stream: bool = False
    failures: int = 0
    first: str = ""

    def rows(self, block: list[Any]) -> Iterator[str]:
        """One row for every line of the block, in order.

        Raises:
            UserError: for settings that are impossible, which is no line's fault; and for that of one of few
                lines.
        """
        for line, result in zip(block, self._results(block), strict=True):
            try:
                row = self.show(line, result)
            except Exception as error:
                self._count(error)
                row = self.show(line, None)
            yield row

    def _results(self, block: list[Any]) -> list[Any]:
        before = self.warnings.copy()
        try:
            return [*self.translate(block)]
        except Exception as error:  # a line at fault, a bug of ours, or no memory for this many lines
            if isinstance(error, UserError) and not (self.stream and isinstance(error, LineError)):
                raise
            self.warnings.clear()
            self.warnings.update(before)
            if len(block) == 1:
                self._count(error)
                return [None]
        # Not inside the handler: the traceback holds the tensors of the block.
        half = len(block) // 2
        return self._results(block[:half]) + self._results(block[half:])

    def _count(self, error: Exception) -> None:
        self.failures += 1
        kind = "" if isinstance(error, UserError) else f"{type(error).__name__}: "
        self.first = self.first or shorten(f"{kind}{error}", 200)

    def end(self) -> None:
        """Say how many lines failed, and end the command with exit code 1 if any did."""
        if self.failures:
            print_warning(
                f"{counted(self.failures, 'line')} could not be translated and came out empty; the first "
                f"error: {self.first}"
            )
            raise typer.Exit(FAILED)


def _row(
    output: OutputOptions, engine: str, line: LineInDocument, found: "Translation | None", *, align: bool
) -> str:
    """The row of a line; an empty one if it could not be translated.

    Args:
        engine: the one that the user asked for.
    """
    result = found or _nothing()
    if output.format == "jsonl":
        return _json(line.text, result, engine)
    texts = [candidate.text for candidate in result.n_best] or [result.text]
    if align:
        texts.append(result.alignment.pharaoh())
    return "\t".join(texts)


def _nothing() -> "Translation":
    import numpy as np

    from translate.alignment.alignment import Alignment
    from translate.translation import Translation

    return Translation("", 0.0, Alignment([], [], np.zeros((0, 0))))


def _json(source: str, result: "Translation", engine: str) -> str:
    row: dict[str, Any] = {"source": source, **_scored(result)}
    if engine != "torch":
        row["engine"] = result.engine
    if result.n_best:
        row["n_best"] = [_scored(candidate) for candidate in result.n_best]
    alignment = result.alignment
    row["alignment"] = {
        "source_words": alignment.source_words,
        "target_words": alignment.target_words,
        "links": alignment.pharaoh(),
        "weights": [[round(weight, 4) for weight in weights] for weights in alignment.weights.tolist()],
    }
    text = json.dumps(row, ensure_ascii=False, allow_nan=False)
    for character, escape in LINE_BREAKS.items():
        text = text.replace(character, escape)  # str.translate takes a second for a line of long weights
    return text


def _scored(result: "Translation | ScoredText") -> dict[str, Any]:
    # JSON has neither infinity nor NaN.
    score = result.score if math.isfinite(result.score) else None
    return {"text": result.text, "score": score, "tokens": list(result.tokens)}
