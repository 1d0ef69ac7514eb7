"""``translate align --calibrate`` and ``--report``: attention judged on development pairs."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from translate.cli.align_options import Options
from translate.cli.rate import Rate

if TYPE_CHECKING:
    from translate.runs.calibration import CalibrationPairs
    from translate.translator import Translator


def _development(run: Path, options: Options, plugins: list[str]) -> "CalibrationPairs":
    from translate.runs.calibration import pairs_of_files, pairs_of_run
    from translate.storage.run_directory import RunDirectory

    if options.source is None:
        return pairs_of_run(RunDirectory(run), plugins)
    assert options.target is not None
    return pairs_of_files(
        options.source,
        options.target,
        options.gold,
        one_based=options.one_based,
        whitespace=options.whitespace,
    )


def calibrate_run(
    load: Callable[[Path], "Translator"], run: Path, options: Options, plugins: list[str]
) -> None:
    """``--calibrate``: choose the attention that is shown, print what was tried, and store the choice."""
    from translate.runs.calibration import choice_lines, choose_alignment, store
    from translate.runs.load import read_settings
    from translate.storage.run_directory import RunDirectory

    directory = RunDirectory(run)
    settings = read_settings(directory, plugins)
    pairs = _development(run, options, plugins)
    translator = load(run)
    reverse = None if options.reverse is None else load(options.reverse)
    chosen = choose_alignment(translator, pairs, settings.alignment, reverse)
    store(directory, chosen, translator)
    if options.as_json:
        print(json.dumps(chosen))
    else:
        print(*choice_lines(chosen), sep="\n")
        print(f"stored in {directory.alignment}")


def report_on_run(
    load: Callable[[Path], "Translator"], run: Path, options: Options, plugins: list[str]
) -> None:
    """``--report``: compare all methods."""
    from translate.alignment.method_report import compare_methods

    pairs = _development(run, options, plugins)
    translator = load(run)
    rate = Rate(unit="pairs", total=len(pairs.source), quiet_meanwhile=True)
    found = compare_methods(
        translator.model,
        translator.encode_pairs(pairs.source, pairs.target, whitespace=pairs.whitespace),
        translator.choice,
        pairs.golds,
        batch_size=options.batch_size,
        device=translator.device,
        progress=lambda method, count: rate.add(count, method),
    )
    rate.end()
    if options.as_json:
        print(json.dumps(found.to_dict() | {"split": pairs.name}))
    else:
        print(*found.lines(), sep="\n")
