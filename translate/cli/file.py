"""``translate file``: a document in, the same document with translated sentences out."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from translate.cli.console import print_warnings, progress
from translate.cli.options import (
    Run,
    Tag,
    TranslationMachine,
    check_place,
    languages_of,
    option,
    tagged,
    with_groups,
)
from translate.cli.text import options_of
from translate.cli.text_options import (
    AlignmentOptions,
    LengthOptions,
    OutputOptions,
    SampleOptions,
    SearchOptions,
)
from translate.config.names import counted, shorten, shown_path
from translate.errors import UserError

if TYPE_CHECKING:
    from translate.translation import Translation

TOGETHER = 1024  # sentences
MANY, LEAST_SURE, SHOWN = 10, 3, 60  # sentences of which some are shown, how many, and their characters


@with_groups
def file(
    run: Run,
    document: Annotated[Path, typer.Argument(metavar="FILE", help="The file to translate.")],
    *,
    tag: Tag = None,
    out: Annotated[Path, option("FILE", "The translated file, of the same kind.")],
    search: SearchOptions,
    lengths: LengthOptions,
    machine: TranslationMachine,
) -> None:
    """Translate a file: its text is translated sentence by sentence, and all else stays as it is.

    It may be Word (docx), OpenDocument (odt), HTML (html, htm), Markdown (md), subtitles (srt, vtt),
    a catalogue of messages (po, xliff, xlf) or plain text (txt). Markup within a sentence goes to the
    words that are aligned to its own.

    Examples:
      translate file runs/mine note.docx --out note.fr.docx
      translate file runs/mine page.html --out page.fr.html --beam-size 8
    """
    from translate.runs.runtime import translate_all
    from translate.serve.documents import FORMATS, MAX_BYTES, read
    from translate.text.bounded import read_bounded
    from translate.text.documents import previous_sentences
    from translate.text.file_writing import aside
    from translate.text.lines import check_file

    languages = languages_of(run)
    check_file(document)
    if document.suffix.lower() not in FORMATS:
        raise UserError(
            f"{shown_path(document)}: unknown kind of file; expected one of {', '.join(FORMATS)}; if it has "
            f"one sentence a line: translate text {shown_path(run)} < FILE"
        )
    if document.suffix.lower() != out.suffix.lower():
        raise UserError(f"--out {shown_path(out)}: expected a name in {document.suffix}, as the file")
    check_place(out, document)
    content = read_bounded(document, limit=MAX_BYTES)
    found = read(str(document), content, *languages)
    translator = machine.load_ensemble(run, search.ensemble)
    if translator.reads != "text":
        raise UserError(f"{shown_path(run)} reads pictures; expected a run that translates text alone")
    sentences = tagged(translator, tag, found.sentences)
    output, markup, terms = OutputOptions(), AlignmentOptions(markup=True), search.terms()
    options = options_of(translator, output, markup, search, lengths, SampleOptions(), machine, terms)
    most = translator.most_context
    context = list(previous_sentences(sentences, most)) if most else None
    results, bar = list["Translation"](), progress(total=len(sentences), quiet_meanwhile=True)
    for start in range(0, len(sentences), TOGETHER):
        part = slice(start, start + TOGETHER)
        before = None if context is None else context[part]
        own = replace(options, context=before)
        results += translate_all(translator, sentences[part], options=own)
        bar.update(len(sentences[part]))
    bar.close()
    with aside(out) as new:
        new.write_bytes(found.write([result.text for result in results]))
    nothing = "" if sentences else "; all of the file's messages have translations already"
    print(f"{shown_path(out)}: {counted(len(sentences), 'sentence')} translated{nothing}")
    _print_least_sure(sentences, results)
    print_warnings(translator)


def _print_least_sure(sentences: Sequence[str], results: Sequence["Translation"]) -> None:
    """Print the translations of the lowest scores, if there are many."""
    if len(results) < MANY:
        return
    print("least sure, with the mean probability of their pieces:")
    ranked = sorted(zip(sentences, results, strict=True), key=lambda pair: pair[1].score)
    for sentence, result in ranked[:LEAST_SURE]:
        texts = " -> ".join(shorten(text, SHOWN) for text in (sentence, result.text))
        print(f"  {math.exp(result.score):.2f}  {texts}")
