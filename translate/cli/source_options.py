"""The options of sources that are more than sentences: documents and pictures."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, NamedTuple

from translate.cli.console import as_unicode, print_warning
from translate.cli.options import flag, option
from translate.config.names import shorten, shown_path
from translate.errors import UserError

if TYPE_CHECKING:
    from translate.translator import Translator

DocumentIds = Annotated[
    list[Path] | None,
    option(
        "FILE", "The id of each sentence's document, for runs that read context; one file for every test set."
    ),
]
NoContext = Annotated[
    bool, flag("--no-context", "Read every sentence without the previous ones of its document.")
]


class LineInDocument(NamedTuple):
    """A line with those before it in its document, the nearest last."""

    text: str
    previous: list[str]


@dataclass(frozen=True)
class TextDocuments:
    """Documents among the lines, for runs that read previous sentences."""

    PANEL: ClassVar = "Documents"

    document_ids: Annotated[
        Path | None,
        option(
            "FILE",
            "The id of each line's document, for runs that read previous sentences. Default: the lines "
            "are one document, or several with blank lines between them.",
        ),
    ] = None
    no_context: NoContext = False

    def most(self, translator: "Translator", *, split_sentences: bool) -> int:
        """How many previous sentences are read; raises :class:`UserError` for an option without effect."""
        given = {"--document-ids": self.document_ids is not None, "--no-context": self.no_context}
        reads = _checked_context(translator, given)
        if self.document_ids is not None and (self.no_context or split_sentences):
            other = "--no-context" if self.no_context else "--split-sentences"
            raise UserError(f"--document-ids has no effect with {other}: leave one of them out")
        return 0 if self.no_context else reads

    def follow(self, blocks: Iterable[list[str]], most: int) -> Iterator[list[LineInDocument]]:
        """Blocks of lines with those before them, ``most`` at most.

        Raises:
            UserError: if there are more or fewer ids than lines.
        """
        from translate.text.documents import previous_sentences
        from translate.text.lines import read_lines

        ids = None if self.document_ids is None else read_lines(self.document_ids)
        before, number = list[LineInDocument](), 0
        for block in blocks:
            number += len(block)
            if ids is not None and number > len(ids):
                raise self._other_length(len(ids), f"more than {number - 1:,}" if number > 1 else "more")
            seen = [line.text for line in before]
            known = None if ids is None else ids[number - len(block) - len(seen) : number]
            found = list(previous_sentences([*seen, *block], most, known))[len(seen) :]
            lines = [LineInDocument(*pair) for pair in zip(block, found, strict=True)]
            yield lines
            before = [*before, *lines][-most:] if most else []
        if ids is not None and number < len(ids):
            raise self._other_length(len(ids), f"{number:,}")

    def _other_length(self, ids: int, lines: str) -> UserError:
        assert self.document_ids is not None
        return _other_length(self.document_ids, ids, f"{lines} lines")


@dataclass(frozen=True)
class PairContext:
    """The document of one pair."""

    PANEL: ClassVar = "Documents"

    context: Annotated[
        list[str] | None,
        option(
            "SENTENCE",
            "A previous sentence of the document, for a run that reads them; several times, "
            "in their order. A heatmap shows sentences and words.",
            callback=as_unicode,
        ),
    ] = None


def reads_context(translator: "Translator") -> int:
    """The most previous sentences that a run, or a member of an ensemble, reads."""
    return max(member.context.sentences for member in (translator, *translator.partners))


def _checked_context(translator: "Translator", given: Mapping[str, bool]) -> int:
    """The result of :func:`reads_context`; raises :class:`UserError` if options are given in vain."""
    reads = reads_context(translator)
    for name in (name for name, is_given in given.items() if is_given and not reads):
        raise UserError(
            f"{name}: this run reads no previous sentences; expected one trained with data.context_sentences"
        )
    return reads


def _other_length(path: Path, ids: int, sentences: str) -> UserError:
    return UserError(
        f"{shown_path(path)}: {ids:,} ids of documents for {sentences}; expected as many lines as sentences"
    )


def contexts_of(
    translator: "Translator",
    sources: Sequence[Sequence[str]],
    files: Sequence[Path] | None,
    *,
    no_context: bool,
) -> list[list[list[str]] | None]:
    """The previous sentences of each source of several test sets; ``None`` if they are not known.

    Args:
        translator: of the run.
        sources: of each test set.
        files: the ids of documents of each.
        no_context: whether none are wanted.

    Raises:
        UserError: for files that do not fit the sources, or that the run does not read.
    """
    from translate.text.documents import previous_sentences
    from translate.text.lines import read_lines

    most = _checked_context(translator, {"--documents": bool(files), "--no-context": no_context})
    if files and no_context:
        raise UserError("--documents has no effect with --no-context: leave one of them out")
    if no_context:
        return [[[] for _ in source] for source in sources]
    if not files:
        return [None for _ in sources]
    if len(files) != len(sources):
        raise UserError(f"--documents: {len(files)} files for {len(sources)} test sets; give as many")
    found: list[list[list[str]] | None] = []
    for path, source in zip(files, sources, strict=True):
        ids = read_lines(path)
        if len(ids) != len(source):
            raise _other_length(path, len(ids), f"{len(source):,} sentences")
        found.append(list(previous_sentences(source, most, ids)))
    return found


@dataclass(frozen=True)
class PictureInput:
    """Pictures beside the arguments."""

    PANEL: ClassVar = "Picture"

    image: Annotated[
        list[Path] | None,
        option(
            "FILE",
            "A picture that the run describes, or reads beside the sentence; several times: one for "
            "each sentence. Lines of standard input name theirs before a tab.",
        ),
    ] = None

    def lines(self, translator: "Translator", sentences: Sequence[str] | None) -> list[str] | None:
        """The source lines of arguments; raises :class:`UserError` if pictures and sentences do not fit."""
        if not self.image:
            return None if sentences is None else list(sentences)
        from translate.corpora.images.line import join_line

        if translator.reads == "text":
            raise UserError(
                "--image: this run reads text alone; expected a run trained with data.read=picture or both"
            )
        names = [str(path) for path in self.image]
        if not sentences:
            return [join_line(name) for name in names]
        if list(sentences) == ["-"]:
            raise UserError(
                "--image: it goes with sentences among the arguments; lines of standard input name their "
                "picture before a tab"
            )
        if len(names) == 1:
            names *= len(sentences)
        if len(names) != len(sentences):
            few = "1 sentence" if len(sentences) == 1 else f"{len(sentences)} sentences"
            raise UserError(f"--image: {len(names)} pictures for {few}; expected one, or as many")
        return [join_line(*pair) for pair in zip(names, sentences, strict=True)]


@dataclass(frozen=True)
class OnePicture:
    """The picture of a single pair."""

    PANEL: ClassVar = "Picture"

    image: Annotated[
        Path | None, option("FILE", "The picture that the run describes, or reads beside SOURCE.")
    ] = None

    def check(self, sentence: str | None) -> None:
        """Raise :class:`UserError` if there is neither a picture nor a sentence."""
        if self.image is None and sentence is None:
            raise UserError(
                "missing argument SOURCE: a source sentence, or the picture that a run describes (see "
                "translate align pair --help)"
            )

    def line(self, translator: "Translator", sentence: str | None) -> str:
        """The source line; raises :class:`UserError` if picture and sentence do not fit."""
        from translate.corpora.images.line import is_unread

        if self.image is None:
            if sentence and is_unread(sentence, translator.reads):
                print_warning(f"{shorten(sentence)} names a picture, but is read as words; use --image")
            return sentence or ""
        lines = PictureInput([self.image]).lines(translator, [sentence] if sentence else None)
        assert lines is not None
        return lines[0]


def check_words_alone(what: str, translator: "Translator", source: str) -> None:
    """Raise :class:`UserError` for a source with a picture, whose patches ``what`` would draw as words."""
    from translate.corpora.images.line import split_line

    with_picture = translator.reads == "both" and split_line(source).image is not None
    if translator.reads == "picture" or with_picture:
        raise UserError(
            f"{what}: it draws the words of a sentence, and the patches of a picture are none; "
            "translate align pair --out FILE draws where each word looked"
        )
