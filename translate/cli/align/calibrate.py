"""``translate align calibrate`` and ``report``: choose the attention that shows alignments, and judge it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from translate.cli.align.options import DataFromRun, SourceFile, TargetFile, Whitespace, note_context
from translate.cli.console import print_note, print_result, progress
from translate.cli.options import (
    AsJson,
    BatchMachine,
    Run,
    check_direction,
    flag,
    languages_of,
    option,
    warn_of_languages,
    with_groups,
)
from translate.config.names import counted
from translate.errors import UserError

if TYPE_CHECKING:
    from translate.runs.calibration import CalibrationPairs


@dataclass(frozen=True)
class JudgedPairs:
    """Files of sentence pairs and their gold links; without files, the validation set of the run.

    A run may be a stranger's, so files that it names are read only on request.
    """

    PANEL: ClassVar = "Sentence pairs (default: the validation set of the run)"

    source: SourceFile = None
    target: TargetFile = None
    gold: Annotated[Path | None, option("FILE", "Their gold links, in TALP or NAACL format.")] = None
    one_based: Annotated[bool, flag("--one-based", "The gold links in TALP format count from 1.")] = False
    whitespace: Whitespace = False
    data_from_run: DataFromRun = False

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
        check_direction(run, self.source, "--target", self.target)
        pairs = pairs_of_files(
            self.source, self.target, self.gold, one_based=self.one_based, whitespace=self.whitespace
        )
        warn_of_languages(languages_of(run), pairs.source, pairs.target)
        return pairs


@with_groups
def calibrate(
    run: Run,
    *,
    pairs: JudgedPairs,
    force: Annotated[
        bool, flag("--force", "Replace a choice made with gold links by one made without.")
    ] = False,
    as_json: AsJson = False,
    machine: BatchMachine,
) -> None:
    """Choose layer, heads, shift and threshold again, and store the choice with the run.

    With gold links the lowest AER wins. Without them, agreement decides with the links that the statistical
    aligner estimates in these pairs; 30 are enough.

    Examples:
      translate align calibrate runs/mine
      translate align calibrate runs/mine --source dev.en --target dev.de \\
          --gold dev.gold
    """
    from translate.alignment.calibrate import MIN_LINKS
    from translate.runs.calibration import better_choice, choice_lines, choose_alignment, store
    from translate.runs.load import read_settings
    from translate.runs.run_directory import RunDirectory

    directory, plugins = RunDirectory(run), machine.plugin or []
    settings = read_settings(directory, plugins)
    judged = pairs.read(run, plugins)
    if not force and better_choice(directory, judged) is not None:
        raise UserError(
            f"{directory.alignment}: the stored choice was made with gold links; give --gold FILE, or --force"
        )
    translator = machine.load(run)
    if judged.context is None:
        note_context(translator)
    before, links = translator.choice, sum(len(gold.sure) for gold in judged.golds or ())
    if judged.golds is not None and links < MIN_LINKS:
        print_note(f"{counted(links, 'sure gold link')}: so few choose by chance")
    chosen = choose_alignment(translator, judged, settings.alignment, batch_size=machine.batch_size)
    store(directory, chosen, translator)
    lines = [f"before: {before}", *choice_lines(chosen), f"stored in {directory.alignment}"]
    print_result(chosen, lines, as_json=as_json)


@with_groups
def report(run: Run, *, pairs: JudgedPairs, as_json: AsJson = False, machine: BatchMachine) -> None:
    """Compare the alignments of all methods, and list the words on which attention and erasure disagree.

    Examples:
      translate align report runs/mine
      translate align report runs/mine --source test.en --target test.de \\
          --gold test.gold --json
    """
    from translate.alignment.method_report import compare_methods
    from translate.runs.calibration import encode_judged

    judged = pairs.read(run, machine.plugin or [])
    translator = machine.load(run)
    if judged.context is None:
        note_context(translator)
    bar = progress(unit="pairs", quiet_meanwhile=True)
    found = compare_methods(
        translator.model,
        encode_judged(translator, judged),
        translator.choice,
        judged.golds,
        batch_size=machine.batch_size,
        progress=bar.update,
    )
    bar.close()
    print_result(found.to_dict() | {"split": judged.name}, found.lines(), as_json=as_json)
