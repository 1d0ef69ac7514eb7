"""Documents: their sentences with inline markup, and the same documents with translations in their place."""

import re
from collections.abc import Callable
from dataclasses import replace

from translate.config.names import is_code, shown_path
from translate.errors import UserError
from translate.serve.documents.catalogues import read_po, read_xliff
from translate.serve.documents.document import MAX_BYTES, Document, Segmented
from translate.serve.documents.markdown import read_markdown
from translate.serve.documents.office import read_docx, read_odt
from translate.serve.documents.plain import read_plain, read_subtitles
from translate.serve.documents.tagged_text import read_html, read_tagged
from translate.text.languages import base, script_of

__all__ = ["FORMATS", "MAX_BYTES", "Document", "Segmented", "read", "read_html", "read_tagged"]

# The reader of each kind of file, by its suffix.
FORMATS: dict[str, Callable[[bytes, str], Document]] = {
    ".txt": read_plain,
    ".html": read_html,
    ".htm": read_html,
    ".md": read_markdown,
    ".srt": read_subtitles,
    ".vtt": read_subtitles,
    ".docx": read_docx,
    ".odt": read_odt,
    ".po": read_po,
    ".xliff": read_xliff,
    ".xlf": read_xliff,
}


_LANG = re.compile(rb"(<html\b[^>]{0,300}?(?<![\w:-])lang\s*=\s*[\"']?)[\w-]+", re.IGNORECASE)
_HTML = re.compile(rb"<html\b", re.IGNORECASE)
_DIRECTION = re.compile(rb"(<html\b[^>]{0,300}?)\s{1,20}dir\s{0,20}=\s{0,20}[\"']?\w+[\"']?", re.IGNORECASE)
RIGHT_TO_LEFT = (r"\p{Arabic}", r"\p{Hebrew}")  # scripts
# The language of the translations in a catalogue: PO, XLIFF 1.2 and 2.0.
_TARGET = re.compile(rb"""(?m)^"Language:[ ]*([\w-]+)|\s(?:target-language|trgLang)\s*=\s*["']([\w-]+)""")


def read(name: str, content: bytes, language: str = "", target: str = "") -> Document:
    """The document of a file.

    ``document.write(translate(document.sentences))`` is its translation; ``translate`` carries the markup:
    ``[result.text for result in translator.translate(document.sentences, markup=True)]``.

    Args:
        name: of the file; its suffix tells the format.
        content: at most ``MAX_BYTES``.
        language: of the text, a code: its rules tell where sentences end.
        target: the language of the translation, a code, which an HTML page names.
    Raises:
        UserError: for another format, for a file that is damaged, too large or nested too deeply, and for
            one that is not empty and has nothing to translate, unless it is a catalogue: it is done.
    """
    suffix = "." + name.rpartition(".")[2].lower()
    shown = shown_path(name)
    if suffix not in FORMATS:
        raise UserError(f"{shown}: unknown kind of file; expected one of {', '.join(FORMATS)}")
    if len(content) > MAX_BYTES:
        raise UserError(f"{shown}: {len(content):,} bytes; expected at most {MAX_BYTES:,}")
    if FORMATS[suffix] is read_html and target:
        code = target.lower().encode() if is_code(target.lower()) else b""  # which says that it is unknown
        content = _LANG.sub(lambda found: found[1] + code, content, count=1)
        content = _DIRECTION.sub(rb"\1", content, count=1)
        if script_of(target) in RIGHT_TO_LEFT:
            content = _HTML.sub(rb'\g<0> dir="rtl"', content, count=1)
    is_catalogue = FORMATS[suffix] in (read_po, read_xliff)
    if is_catalogue and is_code(target) and (own := _TARGET.search(content)):
        theirs = (own[1] or own[2]).decode("ascii", "replace")
        if base(theirs) != base(target):
            advice = f"take a run into that language, or write {target} there"
            raise UserError(f"{shown}: its header says {theirs}, the run translates into {target}; {advice}")
    document = replace(FORMATS[suffix](content, shown), language=language)
    if not document.sentences and not is_catalogue:
        raise UserError(f"{shown}: no text to translate was found in it")
    return document
