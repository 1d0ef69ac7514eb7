"""The sentence pairs that ``translate align calibrate`` and ``translate align report`` judge attention on."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from translate.cli.align.options import Whitespace
from translate.errors import UserError

if TYPE_CHECKING:
    from translate.runs.calibration import CalibrationPairs


@dataclass(frozen=True)
class JudgedPairs:
    """Files of sentence pairs and their gold links; without files, the validation set of the run.

    A run may be a stranger's, so files that it names are read only on request.
    """

    PANEL: ClassVar = "Sentence pairs (default: the validation set of the run)"

    source: Annotated[Path | None, typer.Option(metavar="FILE", help="Source sentences, one a line.")] = None
    target: Annotated[Path | None, typer.Option(metavar="FILE", help="Their translations.")] = None
    gold: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Their gold links, in TALP or NAACL format.")
    ] = None
    one_based: Annotated[
        bool, typer.Option("--one-based", help="The gold links in TALP format count from 1.")
    ] = False
    whitespace: Whitespace = False
    data_from_run: Annotated[
        bool,
        typer.Option(
            "--data-from-run", help="Read the files or download the corpus that the run names; trust it."
        ),
    ] = False

    def __post_init__(self) -> None:
        if (self.source is None) != (self.target is None):
            given, missing = ("source", "target") if self.target is None else ("target", "source")
            raise UserError(f"align: --{given} FILE needs --{missing} FILE")
        options = {"--gold": self.gold is not None, "--whitespace": self.whitespace}
        for name in (name for name, given in options.items() if given and self.source is None):
            raise UserError(f"align: {name} describes the files: add --source FILE and --target FILE")
        if self.data_from_run and self.source is not None:
            raise UserError("align: the pairs come from --source and --target; leave out --data-from-run")
        if self.one_based and self.gold is None:
            raise UserError("align: --one-based describes the file of gold links; add --gold FILE")

    def read(self, run: Path, plugins: Sequence[str]) -> "CalibrationPairs":
        """The pairs of the files or of the run's validation set."""
        from translate.runs.calibration import pairs_of_files, pairs_of_run
        from translate.runs.run_directory import RunDirectory

        if self.source is None or self.target is None:
            return pairs_of_run(RunDirectory(run), plugins, trusted=self.data_from_run)
        return pairs_of_files(
            self.source, self.target, self.gold, one_based=self.one_based, whitespace=self.whitespace
        )
