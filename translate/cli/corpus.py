"""``translate corpus``: writes a corpus as plain text, with its gold links if it has any."""

from pathlib import Path
from typing import Annotated

import typer

from translate.cli.options import option
from translate.errors import UserError


def corpus(
    data: Annotated[str, option("NAME", "Name of a corpus: a file of conf/data.")],
    out: Annotated[Path, option("DIR", "Folder for train.LANG, dev.LANG, test.LANG and *.gold.")],
    overrides: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME=VALUE", help="Settings of the corpus, such as data.num_train=1000."),
    ] = None,
) -> None:
    """Write a corpus as text files that other tools read: one sentence a line, gold links beside it.

    Examples:
      translate corpus --data grammar --out data/cache/grammar
      translate corpus --data multi30k --out multi30k data.path=shared/multi30k
    """
    from translate.config.composer import compose
    from translate.config.names import shorten
    from translate.config.settings import check_config
    from translate.corpora.corpus import load_corpus, write_corpus
    from translate.corpora.linkers import correspondence_notes

    for override in overrides or []:
        if not override.lstrip("+~").startswith("data."):
            raise UserError(
                f"{shorten(override)}: expected a setting of the section data, such as data.num_train=1000"
            )
    composed = compose([f"data={data}", *(overrides or [])], check=check_config)
    settings = check_config(composed).data
    found = load_corpus(settings, apart=True)
    print(*found.summary_lines(), *correspondence_notes(found.train, settings), sep="\n")
    if settings.kind == "grammar":
        print("no run has these validation and test pairs in its training text, data=grammar included")
    print(*write_corpus(found, out), sep="\n")
