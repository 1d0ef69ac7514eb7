"""Trains the embedded corpus with every attention mechanism, and shows what they look at.

    python scripts/mechanisms.py [--out runs/mechanisms] [--only NAME ...] [--docs docs] [OVERRIDE ...]
    python scripts/mechanisms.py --table

Finished runs are kept, so that an interrupted comparison goes on. Writes both tables of docs/mechanisms.md
between their marks, and docs/pictures/mechanisms.png; ``--table`` writes the table of mechanisms alone.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import yaml  # type: ignore[import-untyped]

from translate.attention import mechanisms
from translate.config.names import config_directory
from translate.config.option_groups import flat_parameters

# No links guide the attention here: it finds its own. Pairs and pieces are those that the demo once had.
COMMON = (
    "data.num_train=40000",
    "tokenizer=unigram",
    "tokenizer.vocabulary_size=1125",
    "training.guided_alignment=0.0",
    "training.max_steps=2000",
    "training.validate_every=1000",
)
SENTENCE = ("she does not like the green apples .", "elle n' aime pas les pommes vertes .")
TABLE_MARK = "<!-- table of mechanisms -->"
RESULTS_MARK = "<!-- table of scripts/mechanisms.py -->"
COLUMNS = 4

# Settings beside the defaults; a mechanism that is not named here trains without any.
BAHDANAU = ("additive", "coverage", "hierarchical")
TO_THE_SOURCE = {
    "dot": ("model.decoder_size=256",),
    "general": ("training.max_steps=3000", "training.validate_every=1500"),
    "fully_connected": ("model.teacher_forcing=0.5",),
    "sliding_window": ("model.attention.window=8",),
}
SINUSOIDAL = "model.positions=sinusoidal"  # the demo's Transformer has rotary ones
WITHIN = {
    "sliding_window": (SINUSOIDAL, "model.self_attention.window=4"),
    "alibi": ("model.positions=none",),
    "relative_bias": ("model.positions=none",),
}


class Variant(NamedTuple):
    """One training: its name, its backend, where the mechanism attends, and the settings for it."""

    name: str
    backend: str
    where: str
    overrides: tuple[str, ...]


def attends_within(name: str) -> bool:
    """Whether a mechanism also attends within a sequence."""
    return "causal" in flat_parameters(mechanisms()[name])


def variants() -> list[Variant]:
    """Every registered mechanism to the source or as an encoder, then those that attend within a sequence."""
    encoders = {file.stem for file in (config_directory() / "model" / "encoder").glob("*.yaml")}
    found = []
    for name in mechanisms():
        if name in encoders:
            found.append(Variant(name, "rnn_luong", "as the encoder", (f"model/encoder={name}",)))
            continue
        chosen = (f"model/attention={name}", *TO_THE_SOURCE.get(name, ()))
        if name in BAHDANAU:
            chosen, backend = (*chosen, "model.word_in_query=false"), "rnn_bahdanau"
        else:
            backend = "transformer" if attends_within(name) else "rnn_luong"
            chosen = (SINUSOIDAL, *chosen) if backend == "transformer" else chosen
        found.append(Variant(name, backend, "to the source", chosen))
    for name in mechanisms():
        if attends_within(name) and name != "multi_head":  # which attends within both sides by default
            chosen = (f"model/self_attention={name}", *WITHIN.get(name, (SINUSOIDAL,)))
            found.append(Variant(f"{name} (self)", "transformer", "within both sides", chosen))
    return found


def mechanism_table(folders: Sequence[Path] = ()) -> str:
    """Markdown: what every mechanism computes, its source, its options, and where it attends.

    Args:
        folders: where the files of the mechanisms are, ``conf/model/attention`` if empty.
    """
    folders = folders or [config_directory() / "model" / "attention"]
    lines = [
        "| name | computes | source | options | `model/self_attention` |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name, mechanism in mechanisms().items():
        summary = (mechanism.__doc__ or "").split("\n")[0].strip().replace("|", "\\|").replace("``", "`")
        computes, _, source = summary.removesuffix(".").partition(": ")
        file = next(path for folder in folders if (path := folder / f"{name}.yaml").exists())
        options = yaml.safe_load(file.read_text(encoding="utf-8"))
        listed = ", ".join(f"`{option}`" for option in options if not option.startswith("_"))
        within = "yes" if attends_within(name) else ""
        lines.append(f"| `{name}` | {computes} | {source} | {listed} | {within} |")
    return "\n".join(lines)


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


def results_table(out: Path) -> str:
    """Markdown: a row for every variant that is trained."""
    lines = [
        "| mechanism | where | backend | parameters | steps | BLEU | AER | layer, heads, shift |",
        "| --- | --- | --- | ---: | ---: | ---: | ---: | --- |",
    ]
    for variant in variants():
        scores_file = directory_of(variant, out) / "scores.json"
        if not scores_file.exists():
            continue
        scores = json.loads(scores_file.read_text(encoding="utf-8"))
        stored = (directory_of(variant, out) / "alignment.json").read_text(encoding="utf-8")
        choice = json.loads(stored)["choice"]
        heads = "all" if choice.get("heads") is None else ", ".join(map(str, choice["heads"]))
        lines.append(
            f"| `{variant.name.removesuffix(' (self)')}` | {variant.where} | `{variant.backend}` "
            f"| {scores['parameters']:,} | {scores['steps']:,} | {scores['test']['bleu']:.1f} "
            f"| {100 * scores['test']['aer']:.1f} % | {choice['layer']}; {heads}; {choice['shift']} |"
        )
    return "\n".join(lines)


def draw_all(out: Path, file: Path) -> None:
    """Draw one sentence with every variant that is trained and looks at words, under teacher forcing."""
    from matplotlib.figure import Figure

    import translate
    from translate.runs.runtime import find_device, use_runtime

    use_runtime(find_device("auto"))  # as the command does
    trained = [
        variant
        for variant in variants()
        if variant.name != "fixed" and (directory_of(variant, out) / "scores.json").exists()
    ]
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
        panel.imshow(alignment.weights, cmap="gray_r", vmin=0, vmax=1)
        panel.set_title(variant.name, fontsize=9)
        first_row, first_column = number < COLUMNS, number % COLUMNS == 0
        source = alignment.source_words if first_row else []
        target = alignment.target_words if first_column else []
        panel.set_xticks(range(len(source)), source, rotation=90, fontsize=7)
        panel.set_yticks(range(len(target)), target, fontsize=7)
        panel.tick_params(length=0, top=False, labeltop=first_row, bottom=False, labelbottom=False)
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=110, metadata={"Software": None})


def write_between(page: Path, mark: str, text: str) -> None:
    """Replace what stands between the two marks of a page."""
    before, _, after = page.read_text(encoding="utf-8").split(mark)
    page.write_text(mark.join([before, f"\n{text}\n", after]), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("runs/mechanisms"), help="folder of the runs")
    parser.add_argument("--docs", type=Path, default=Path("docs"), help="folder of mechanisms.md")
    parser.add_argument("--only", nargs="*", help="names of mechanisms")
    parser.add_argument(
        "--table", action="store_true", help="write the table of mechanisms, and train nothing"
    )
    parser.add_argument("overrides", nargs="*", help="settings, such as training.max_steps=500")
    arguments = parser.parse_args()
    page = arguments.docs / "mechanisms.md"
    write_between(page, TABLE_MARK, mechanism_table())
    if arguments.table:
        return
    for variant in variants():
        if arguments.only is None or variant.name.removesuffix(" (self)") in arguments.only:
            train(variant, arguments.out, arguments.overrides)
    write_between(page, RESULTS_MARK, results_table(arguments.out))
    draw_all(arguments.out, arguments.docs / "pictures" / "mechanisms.png")
    print(results_table(arguments.out))


if __name__ == "__main__":
    main()
