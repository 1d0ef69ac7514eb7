"""Trains the embedded corpus with every attention mechanism, and shows what each looks at.

    python scripts/mechanisms.py [--out runs/mechanisms] [--only NAME ...] [--docs docs] [OVERRIDE ...]

Runs that are finished are kept, so that an interrupted comparison goes on. Writes the table of
docs/mechanisms.md between its two marks, and docs/pictures/mechanisms.png.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

# No links guide the attention here: what it looks at is its own.
COMMON = ("training.guided_alignment=0.0", "training.max_steps=2000", "training.validate_every=1000")
SENTENCE = ("she does not like the green apples .", "elle n' aime pas les pommes vertes .")
MARK = "<!-- table of scripts/mechanisms.py -->"
COLUMNS = 4


class Variant(NamedTuple):
    """One training: what it shows, its backend, where the mechanism stands, and the settings that say so."""

    name: str
    backend: str
    place: str
    overrides: tuple[str, ...]
    content: bool  # whether the weights to the source come from comparing contents alone


def across(name: str, backend: str, *overrides: str, content: bool = True) -> Variant:
    """The mechanism attends from the target to the source."""
    return Variant(name, backend, "to the source", (f"model/attention={name}", *overrides), content)


def within(name: str, *overrides: str) -> Variant:
    """The mechanism attends within each sequence of the Transformer."""
    chosen = (f"model/self_attention={name}", *overrides)
    return Variant(f"{name} (self)", "transformer", "within both sides", chosen, True)


def encoding(name: str) -> Variant:
    """The mechanism stands in the place of the encoder's recurrence."""
    return Variant(name, "rnn_luong", "as the encoder", (f"model/encoder={name}",), True)


VARIANTS = (
    across("additive", "rnn_bahdanau", "model.word_in_query=false"),
    across("coverage", "rnn_bahdanau", "model.word_in_query=false"),
    across("hierarchical", "rnn_bahdanau", "model.word_in_query=false"),
    across("dot", "rnn_luong", "model.decoder_size=256"),
    across("general", "rnn_luong", "training.max_steps=3000", "training.validate_every=1500"),
    across("concat", "rnn_luong"),
    across("scaled_dot", "rnn_luong"),
    across("location", "rnn_luong", content=False),
    across("local_m", "rnn_luong", content=False),
    across("local_p", "rnn_luong", content=False),
    across("fully_connected", "rnn_luong", "model.teacher_forcing=0.5", content=False),
    across("positional", "rnn_luong", content=False),
    across("factorized_positional", "rnn_luong", content=False),
    encoding("self_dot"),
    encoding("self_qkv"),
    across("multi_head", "transformer"),
    across("grouped_query", "transformer"),
    across("sliding_window", "transformer", "model.attention.window=8", content=False),
    across("alibi", "transformer", content=False),
    across("relative_bias", "transformer", content=False),
    across("linear", "transformer", content=False),
    across("delta", "transformer", content=False),
    within("grouped_query"),
    within("sliding_window", "model.self_attention.window=4"),
    within("alibi", "model.positions=none"),
    within("relative_bias", "model.positions=none"),
    within("linear"),
    within("delta"),
)


def directory_of(variant: Variant, out: Path) -> Path:
    return out / variant.name.replace(" (self)", "-self")


def train(variant: Variant, out: Path, overrides: Sequence[str]) -> None:
    """Train one variant unless it is finished, by the command that a user would type."""
    directory = directory_of(variant, out)
    command = ["train", f"experiment=demo_{variant.backend}", *COMMON, *variant.overrides, *overrides]
    command += [f"run.name={directory.name}", f"run.directory={directory}", "training.resume=true"]
    print(f"$ translate {' '.join(command)}", flush=True)
    code = subprocess.run([sys.executable, "-m", "translate.cli.main", *command], check=False).returncode
    if code:
        raise SystemExit(code)


def table(out: Path) -> str:
    """Markdown: a row for each variant that is trained."""
    lines = [
        "| mechanism | where | backend | parameters | steps | BLEU | AER | layer, heads, shift |",
        "| --- | --- | --- | ---: | ---: | ---: | ---: | --- |",
    ]
    for variant in VARIANTS:
        scores_file = directory_of(variant, out) / "scores.json"
        if not scores_file.exists():
            continue
        scores = json.loads(scores_file.read_text(encoding="utf-8"))
        stored = (directory_of(variant, out) / "alignment.json").read_text(encoding="utf-8")
        choice = json.loads(stored)["choice"]
        heads = "all" if choice.get("heads") is None else ", ".join(map(str, choice["heads"]))
        lines.append(
            f"| `{variant.name.removesuffix(' (self)')}` | {variant.place} | `{variant.backend}` "
            f"| {scores['parameters']:,} | {scores['steps']:,} | {scores['test']['bleu']:.1f} "
            f"| {100 * scores['test']['aer']:.1f} % | {choice['layer']}; {heads}; {choice['shift']} |"
        )
    return "\n".join(lines)


def draw_all(out: Path, file: Path) -> None:
    """The same sentence by every variant that is trained, forced to the same words."""
    from matplotlib.figure import Figure

    import translate

    trained = [each for each in VARIANTS if (directory_of(each, out) / "scores.json").exists()]
    if not trained:
        return
    rows = -(-len(trained) // COLUMNS)
    figure = Figure(figsize=(2.4 * COLUMNS, 2.4 * rows), layout="constrained")
    panels = figure.subplots(rows, COLUMNS, squeeze=False)
    for panel in panels.flat:
        panel.set_axis_off()
    for number, (panel, variant) in enumerate(zip(panels.flat, trained, strict=False)):
        alignment = translate.load(directory_of(variant, out)).align([SENTENCE[0]], [SENTENCE[1]])[0]
        panel.set_axis_on()
        panel.imshow(alignment.weights, cmap="gray", vmin=0, vmax=1)
        panel.set_title(variant.name, fontsize=9)
        first_row, first_column = number < COLUMNS, number % COLUMNS == 0
        source = alignment.source_words if first_row else []
        target = alignment.target_words if first_column else []
        panel.set_xticks(range(len(source)), source, rotation=90, fontsize=7)
        panel.set_yticks(range(len(target)), target, fontsize=7)
        panel.tick_params(length=0, top=False, labeltop=first_row, bottom=False, labelbottom=False)
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=110, metadata={"Software": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("runs/mechanisms"), help="folder of the runs")
    parser.add_argument("--docs", type=Path, default=Path("docs"), help="folder of mechanisms.md")
    parser.add_argument("--only", nargs="*", help="names of mechanisms")
    parser.add_argument("overrides", nargs="*", help="settings, such as training.max_steps=50")
    arguments = parser.parse_args()
    for variant in VARIANTS:
        if arguments.only is None or variant.name.removesuffix(" (self)") in arguments.only:
            train(variant, arguments.out, arguments.overrides)
    page = arguments.docs / "mechanisms.md"
    before, _, after = page.read_text(encoding="utf-8").split(MARK)
    page.write_text(MARK.join([before, f"\n{table(arguments.out)}\n", after]), encoding="utf-8")
    draw_all(arguments.out, arguments.docs / "pictures" / "mechanisms.png")
    print(table(arguments.out))


if __name__ == "__main__":
    main()
