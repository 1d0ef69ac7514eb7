"""``translate confidence``: count how often words are right, by the probability that the model gave them."""

from dataclasses import asdict

from translate.cli.align.options import DataFromRun, SourceFile, TargetFile
from translate.cli.console import print_result, print_warnings
from translate.cli.options import (
    AsJson,
    MachineOptions,
    Run,
    check_direction,
    languages_of,
    warn_of_languages,
    with_groups,
)
from translate.errors import UserError


@with_groups
def confidence(
    run: Run,
    *,
    source: SourceFile = None,
    reference: TargetFile = None,
    data_from_run: DataFromRun = False,
    as_json: AsJson = False,
    machine: MachineOptions,
) -> None:
    """Count how often words are right, by the probability that the model gave them.

    A word of a translation is right if it stands in the reference. Without files, the pairs are those of the
    run's validation set on which its alignment was chosen. The counts are stored with the run, for the page
    of translate serve, which shows confidence only where it was counted.

    Examples:
      translate confidence runs/demo/transformer
      translate confidence runs/mine --source dev.en --reference dev.de
    """
    from translate.runs.calibration import pairs_of_files, pairs_of_run
    from translate.runs.run_directory import RunDirectory
    from translate.serve.word_confidence import count, store

    if (source is None) != (reference is None):
        raise UserError("--source and --reference go together: give both files, or none")
    if source is not None and data_from_run:
        raise UserError("the pairs come from --source and --reference; leave out --data-from-run")
    if source is None or reference is None:
        pairs = pairs_of_run(RunDirectory(run), machine.plugin or (), trusted=data_from_run)
    else:
        check_direction(run, source, "--reference", reference)
        names = f"{source.name} and {reference.name}"  # clients of the server read them
        pairs = pairs_of_files(source, reference, None)._replace(name=names)
        warn_of_languages(languages_of(run), pairs.source, pairs.target)
    translator = machine.load(run)
    found = count(translator, pairs.source, pairs.target, pairs.name, pairs.context)
    place = store(run, found, translator.model)
    print_warnings(translator)
    lines = ["probability     words   right"]
    for band in found.bands:
        share = f"{100 * band.right / band.words:.1f} %" if band.words else ""
        lines.append(f"{band.start:.2f} to {band.end:.2f}  {band.words:7,}  {share:>7}")
    lines.append(f"{found.pairs:,} pairs of {found.split}; stored in {place}")
    print_result(asdict(found), lines, as_json=as_json)
