"""The options of sources that are more than sentences: documents and pictures."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, NamedTuple

from translate.cli.options import flag, option
from translate.config.names import counted, shown_path
from translate.errors import UserError

if TYPE_CHECKING:
    from translate.translator import Translator


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
    no_context: Annotated[
        bool, flag("--no-context", "Read every sentence without the previous ones of its document.")
    ] = False

    def most(self, translator: "Translator") -> int:
        """How many previous sentences are read; raises :class:`UserError` for an option without effect."""
        given = {"--document-ids": self.document_ids, "--no-context": self.no_context}
        reads = most_context(translator, *(name for name, value in given.items() if value))
        if self.document_ids is not None and self.no_context:
            raise UserError("--document-ids has no effect with --no-context: leave one of them out")
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
                fewest = f"more than {number - 1:,}" if number > 1 else "more"
                raise other_length(self.document_ids, len(ids), f"{fewest} lines")
            seen = [line.text for line in before]
            known = None if ids is None else ids[number - len(block) - len(seen) : number]
            found = list(previous_sentences([*seen, *block], most, known))[len(seen) :]
            lines = [LineInDocument(*pair) for pair in zip(block, found, strict=True)]
            yield lines
            before = [*before, *lines][-most:] if most else []
        if ids is not None and number < len(ids):
            raise other_length(self.document_ids, len(ids), counted(number, "line"))


def most_context(translator: "Translator", *given: str) -> int:
    """The most previous sentences that a run, or a member of an ensemble, reads.

    Raises:
        UserError: if it reads none, and options that need them are ``given``.
    """
    if given and not translator.most_context:
        raise UserError(
            f"{given[0]}: this run reads no previous sentences; expected one trained with "
            "data.context_sentences"
        )
    return translator.most_context


def other_length(path: Path | None, ids: int, sentences: str) -> UserError:
    return UserError(
        f"{shown_path(path)}: {counted(ids, 'id')} of documents for {sentences}; expected as many lines as "
        "sentences"
    )


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
            few = counted(len(sentences), "sentence")
            raise UserError(f"--image: {len(names)} pictures for {few}; expected one, or as many")
        return [join_line(*pair) for pair in zip(names, sentences, strict=True)]


def check_words_alone(what: str, translator: "Translator", source: str) -> None:
    """Raise :class:`UserError` for a source with a picture, whose patches ``what`` would draw as words."""
    from translate.corpora.images.line import split_line

    with_picture = translator.reads == "both" and split_line(source).image is not None
    if translator.reads == "picture" or with_picture:
        raise UserError(
            f"{what}: it draws the words of a sentence, and the patches of a picture are none; "
            "translate align pair --out FILE draws where each word looked"
        )
