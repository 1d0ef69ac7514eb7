"""``translate align report``: whether attention, gradients, erasure and norms say the same."""

import json

from translate.cli.align.judged_pairs import JudgedPairs
from translate.cli.align.options import AlignMachine, note_context
from translate.cli.console import Rate
from translate.cli.options import AsJson, Run, with_groups

EXAMPLES = """
Examples:
  translate align report runs/mine
  translate align report runs/mine --source test.en --target test.de \\
      --gold test.gold --json
"""


@with_groups
def report(run: Run, *, pairs: JudgedPairs, as_json: AsJson = False, machine: AlignMachine) -> None:
    """Compare the alignments of all methods, and list the words on which attention and erasure disagree."""
    from translate.alignment.method_report import compare_methods
    from translate.runs.calibration import encode_judged

    development = pairs.read(run, machine.plugin or [])
    translator = machine.load(run)
    note_context(translator, known=development.context is not None)
    rate = Rate(unit="pairs", total=len(development.source), quiet_meanwhile=True)
    found = compare_methods(
        translator.model,
        encode_judged(translator, development),
        translator.choice,
        development.golds,
        batch_size=machine.batch_size,
        device=translator.device,
        progress=lambda method, count: rate.add(count, method),
    )
    rate.end()
    if as_json:
        print(json.dumps(found.to_dict() | {"split": development.name}))
    else:
        print(*found.lines(), sep="\n")
