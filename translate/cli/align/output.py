"""The files that ``translate align`` writes, told apart by their extension."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from translate.cli.align.options import LinkOptions
from translate.cli.options import check_place
from translate.config.names import shorten, shown_path
from translate.errors import UserError

if TYPE_CHECKING:
    from translate.alignment.alignment import Alignment

LINKS = (".txt", ".pharaoh", ".links")
TABLES = (".tsv", ".json", ".jsonl", ".npz")
PICTURES = (".png", ".pdf", ".svg")
PAGE = ".html"


def extension(out: Path | None) -> str:
    """The extension in lower case; standard output gets links."""
    return ".txt" if out is None else out.suffix.lower()


def check_out(out: Path | None, extensions: tuple[str, ...]) -> None:
    """Raise :class:`UserError` if the file cannot be written, before the model is loaded."""
    if out is None:
        return
    if extension(out) not in extensions:
        got = shorten(out.suffix) or "no extension"
        raise UserError(f"{shown_path(out)}: expected one of {', '.join(extensions)}, got {got}")
    check_place(out)


def check_effect(out: Path | None, given: Mapping[str, bool], extensions: tuple[str, ...]) -> None:
    """Raise :class:`UserError` if an option is given that has no effect on the file.

    Args:
        given: for each option, whether the user gave it.
        extensions: the files that these options are for.
    """
    for option in (name for name, is_given in given.items() if is_given):
        if extension(out) not in extensions:
            where = "standard output" if out is None else shown_path(out)
            raise UserError(
                f"align: {option} has no effect on {where}; it is for {', '.join(extensions)} files"
            )


def write(alignments: Iterable["Alignment"], out: Path | None, links: LinkOptions) -> None:
    """Print links, or write links or weights to a file and say so in one line."""
    from translate.alignment.formats import write_alignments

    if out is None:
        for alignment in alignments:
            print(alignment.pharaoh(links.threshold, weights=links.weights))
        return
    write_alignments(alignments, out, threshold=links.threshold, weights=links.weights)
    print(f"{'links' if extension(out) in LINKS else 'weights'} written to {out}")


def write_lines(lines: Iterable[str], out: Path | None) -> None:
    """Print lines of links, or write them to a file and say so in one line."""
    if out is None:
        for line in lines:
            print(line)
        return
    from translate.text.aside import aside

    with aside(out) as new, new.open("w", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in lines)
    print(f"links written to {out}")
