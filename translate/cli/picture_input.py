"""The option ``--image``: a picture as the source, or beside a sentence."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from translate.cli.console import print_warning
from translate.config.names import shorten
from translate.errors import UserError

if TYPE_CHECKING:
    from translate.translator import Translator


@dataclass(frozen=True)
class PictureInput:
    """Pictures beside the arguments."""

    PANEL: ClassVar = "Picture"

    image: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="A picture that the run describes, or reads beside the sentence; several times: one for "
            "each sentence. Lines of standard input name theirs before a tab.",
        ),
    ] = None

    def lines(self, translator: "Translator", sentences: Sequence[str] | None) -> list[str] | None:
        """The source lines of arguments; raises :class:`UserError` if pictures and sentences do not fit."""
        from translate.corpora.images.line import join_line

        if not self.image:
            return None if sentences is None else list(sentences)
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
        Path | None,
        typer.Option(metavar="FILE", help="The picture that the run describes, or reads beside SOURCE."),
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
