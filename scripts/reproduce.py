"""Trains a recipe of docs/results.yaml again, scores it on the test set, and says whether its BLEU holds.

    python scripts/reproduce.py --list
    python scripts/reproduce.py transformer --data multi30k            # a folder with the raw files
    python scripts/reproduce.py transformer --data multi30k --seed 2
    python scripts/reproduce.py --docs                                 # write the table of docs/results.md

Before it trains, it compares the text of the data with the stored checksums. The run is runs/NAME-seedN; the
same command goes on with one that was interrupted. The stored spread of BLEU reaches from the lowest to the
highest seed, and at least half a BLEU to either side of their mean, which is all that one seed gives. The
exit code is 0 inside of it, 1 outside, above as well as below, and 2 if the data differ.
"""

import argparse
import hashlib
import json
import shlex
import subprocess
import sys
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from statistics import mean
from typing import Any

import yaml  # type: ignore[import-untyped]

from translate.cli.main import run
from translate.errors import UserError
from translate.text.lines import opened, read_lines

ROOT = Path(__file__).parents[1]
STORED = ROOT / "docs" / "results.yaml"
PAGE = ROOT / "docs" / "results.md"
MARK = "<!-- table of scripts/reproduce.py -->"
NOISE = 0.5  # BLEU that another seed or processor may give more or less
TWO = "runtime=ddp"
TORCHRUN = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", "translate")
SCORES = {
    "bleu": "BLEU",
    "bleu_lowercased": "lower-cased",
    "bleu_tokenised": "tokenised",
    "chrf": "chrF",
    "ter": "TER",
}


def read(path: Path = STORED) -> dict[str, Any]:
    """The stored results; docs/results.yaml says what is in them."""
    found: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return found


def recipe_of(stored: dict[str, Any], name: str) -> dict[str, Any]:
    """The recipe of this name; raises :class:`UserError` if there is none."""
    recipes: dict[str, dict[str, Any]] = stored["recipes"]
    if name not in recipes:
        raise UserError(f"{name}: no such recipe; there are {', '.join(recipes)}")
    return recipes[name]


def chain(stored: dict[str, Any], name: str) -> list[str]:
    """A recipe after those whose runs it needs, each once."""
    needs = recipe_of(stored, name).get("needs", [])
    return list(dict.fromkeys([*(part for need in needs for part in chain(stored, need)), name]))


def commands(recipe: dict[str, Any], name: str, data: str, ending: str = "") -> list[list[str]]:
    """The commands that make a recipe's run, after those it needs.

    Args:
        recipe: as it is stored; ``{data}`` and ``{ending}`` stand in its commands for the arguments below.
        name: of the recipe.
        data: the folder of the raw files.
        ending: of the names of runs and files.
    """
    lines = list(recipe.get("before", []))
    if "train" in recipe:
        data_settings = recipe.get("data", "data.path={data}")
        lines.append(f"train {recipe['train']} {data_settings} run.name={name}{{ending}}")
    return [shlex.split(line.format(data=data, ending=ending)) for line in lines]


def members(recipe: dict[str, Any], name: str, seed: int) -> list[str]:
    """The run of a recipe, or the runs of an ensemble: those of the recipe it needs, from this seed on."""
    if "ensemble" in recipe:
        (name,) = recipe["needs"]
    return [f"runs/{name}-seed{number}" for number in range(seed, seed + recipe.get("ensemble", 1))]


def find(folder: Path, name: str) -> Path:
    """A file of the data, plain or packed; raises :class:`UserError` if it is missing."""
    paths = [folder / name, folder / f"{name}.gz"]
    for path in paths:
        if path.is_file():
            return path
    raise UserError(f"{paths[0]}: not there, nor {paths[1].name}; name the folder of the raw files by --data")


def check_data(stored: dict[str, Any], recipe: dict[str, Any], folder: Path) -> None:
    """Raise :class:`UserError` for the first file whose text is not the one that was measured."""
    for name, expected in stored["files"].items():
        if name.rpartition(".")[2] not in recipe["pair"].split("-"):
            continue
        path = find(folder, name)
        with opened(path) as (file, _):
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != expected:
            raise UserError(
                f"{path}: not the text that was measured; its SHA-256 is {found[:12]}..., expected "
                f"{expected[:12]}...; nothing was trained"
            )


def typed(arguments: Sequence[str]) -> str:
    """A command of `translate` as it is typed; torchrun starts the two processes of a run that has them."""
    started = "torchrun --standalone --nproc-per-node 2 --no-python " if TWO in arguments else ""
    return f"{started}translate {shlex.join(arguments)}"


def call(*arguments: str) -> str:
    """The JSON that a command of `translate` prints; leaves with its exit code if it fails."""
    print(f"$ {typed(arguments)}", flush=True)
    shown = StringIO()
    with redirect_stdout(shown if "--json" in arguments else sys.stdout):
        if TWO in arguments:
            code = subprocess.run([sys.executable, *TORCHRUN, *arguments]).returncode
        else:
            code = run(arguments)
    if code:
        raise SystemExit(code)
    return shown.getvalue()


def call_once(words: Sequence[str], folder: Path) -> None:
    """Give a command, unless the file that it writes is there; the raw files of ``folder`` may be packed."""
    if not Path(words[words.index("--out") + 1]).exists():
        raw = f"{folder}/"
        names = (word.removeprefix(raw).removesuffix(".gz") for word in words)
        call(*(str(find(folder, n)) if w.startswith(raw) else w for w, n in zip(words, names, strict=True)))


def tokenised_bleu(translations: list[str], references: list[str], language: str) -> float | None:
    """BLEU of lower-cased text by Moses' tokens, as Multi30k's `lc.norm.tok`; ``None`` without sacremoses."""
    try:
        from sacremoses import MosesPunctNormalizer, MosesTokenizer
    except ImportError:
        return None
    from sacrebleu.metrics.bleu import BLEU

    normalise, tokenise = MosesPunctNormalizer(language).normalize, MosesTokenizer(language).tokenize
    both = [
        [tokenise(normalise(line.lower()), return_str=True) for line in side]
        for side in (translations, references)
    ]
    score: float = BLEU(tokenize="none", force=True).corpus_score(both[0], [both[1]]).score
    return score


def scores_of(
    stored: dict[str, Any], recipe: dict[str, Any], folder: Path, runs: Sequence[str]
) -> dict[str, float]:
    """The scores of a run, or of several as an ensemble, by their names in the stored file."""
    source, target = recipe["pair"].split("-")
    test, reference = (str(find(folder, f"{stored['test']}.{language}")) for language in (source, target))
    out = Path(runs[0], f"{stored['test']}.{target}")
    options = ["--beam-size", str(stored["beam_size"]), "--lowercase", "--json", "--out", str(out)]
    options += [word for run in runs[1:] for word in ("--ensemble", run)]
    found = json.loads(call("evaluate", runs[0], "--source", test, "--reference", reference, *options))
    found["bleu_tokenised"] = tokenised_bleu(read_lines(out), read_lines(reference), target)
    return {name: round(found[name], 2) for name in SCORES if found[name] is not None}


def reproduce(stored: dict[str, Any], name: str, seed: int, folder: Path) -> bool:
    """Train a recipe and print its scores beside the stored ones; whether BLEU is inside of the spread."""
    recipe = recipe_of(stored, name)
    check_data(stored, recipe, folder)
    *needed, _ = chain(stored, name)
    seeds = range(seed, seed + recipe.get("ensemble", 1))
    for part, number in [*((part, number) for number in seeds for part in needed), (name, seed)]:
        for words in commands(stored["recipes"][part], part, str(folder), f"-seed{number}"):
            if words[0] == "train":
                call(*words, f"training.seed={number}", "training.resume=true")
            else:
                call_once(words, folder)
    runs = members(recipe, name, seed)
    scores = scores_of(stored, recipe, folder, runs)
    done = [json.loads(Path(run, "scores.json").read_text(encoding="utf-8")) for run in runs]
    print(f"\n{name}, seed {seed}, {stored['test']}, {stored['signature']}")
    for key, score in scores.items():
        before = _range(recipe, key)
        print(f"  {SCORES[key]:12}{score:6.2f}{before and f'   stored {before}'}")
    size, steps, seconds = (sum(run[key] for run in done) for key in ("parameters", "steps", "seconds"))
    print(f"  {size:,} parameters, {steps:,} steps, {seconds / 60:.1f} minutes of training and validation")
    if "bleu_tokenised" not in scores:
        print("  BLEU by Moses' tokens needs the package sacremoses, and is left out")
    line = ", ".join(f"{key}: {score:.2f}" for key, score in scores.items())
    print(f"  as a line of {STORED.name}: {seed}: {{{line}}}")
    holds, line = verdict(recipe, scores["bleu"])
    print(line)
    return holds


def verdict(recipe: dict[str, Any], bleu: float) -> tuple[bool, str]:
    """Whether a BLEU is within the spread of the stored seeds, and the sentence that says so."""
    stored = [found["bleu"] for found in recipe["seeds"].values()]
    low, high = min(*stored, mean(stored) - NOISE), max(*stored, mean(stored) + NOISE)
    holds = low <= bleu <= high
    return holds, (
        f"BLEU {bleu:.2f}, stored {_range(recipe, 'bleu')} "
        f"({'one seed' if len(stored) == 1 else f'{len(stored)} seeds'}): "
        f"{'within' if holds else 'OUTSIDE'} the spread of {low:.2f} to {high:.2f}"
    )


def _range(recipe: dict[str, Any], key: str) -> str:
    """A score of all seeds that have it, the lowest and the highest of several; nothing without."""
    values = [
        f"{value:.2f}" for value in sorted(found[key] for found in recipe["seeds"].values() if key in found)
    ]
    return " to ".join(dict.fromkeys((values[0], values[-1]))) if values else ""


def cells(name: str, recipe: dict[str, Any]) -> dict[str, str]:
    """The row of a recipe by the titles of its columns."""
    return {
        "recipe": f"`{name}`",
        "model": recipe["title"],
        "pair": recipe["pair"],
        "parameters": f"{recipe['parameters']:,}" if "parameters" in recipe else "",
        "steps": f"{recipe['steps']:,}",
        **{title: _range(recipe, key) for key, title in SCORES.items()},
        "seeds": str(len(recipe["seeds"])),
        "minutes": "; ".join(f"{time:g}: {kind}" for kind, time in recipe.get("minutes", {}).items()),
        "version": recipe["version"],
    }


def markdown(stored: dict[str, Any]) -> str:
    """The table of docs/results.md and its commands; columns without any figure are left out."""
    rows = [cells(name, recipe) for name, recipe in stored["recipes"].items()]
    titles = [title for title in rows[0] if any(row[title] for row in rows)]
    lefts = ("recipe", "model", "pair", "minutes", "version")
    lines = [
        f"| {' | '.join(titles)} |",
        f"| {' | '.join('---' if t in lefts else '---:' for t in titles)} |",
    ]
    lines += [f"| {' | '.join(row[title] for title in titles)} |" for row in rows]
    return "\n".join([*lines, "", "```bash", *dict.fromkeys(_commands(stored)), "```"])


def _commands(stored: dict[str, Any]) -> Iterator[str]:
    for name, recipe in stored["recipes"].items():
        for words in commands(recipe, name, "multi30k"):
            yield " \\\n".join(
                textwrap.wrap(typed(words), 130, subsequent_indent="    ", break_on_hyphens=False)
            )


def write_docs(stored: dict[str, Any]) -> None:
    """Write table and commands between the marks of docs/results.md."""
    before, _, after = PAGE.read_text(encoding="utf-8").split(MARK)
    PAGE.write_text(MARK.join([before, f"\n{markdown(stored)}\n", after]), encoding="utf-8")


def main(arguments: Sequence[str] | None = None, path: Path = STORED) -> int:
    """Do what the command line asks for; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("name", nargs="?", help="of a recipe")
    parser.add_argument("--data", type=Path, default=Path("multi30k"), help="folder of the raw files")
    parser.add_argument("--seed", type=int, help="the first stored one, if you give none")
    parser.add_argument("--list", action="store_true", help="show the recipes")
    parser.add_argument("--docs", action="store_true", help="write the table of docs/results.md")
    given = parser.parse_args(arguments)
    stored = read(path)
    if given.docs:
        write_docs(stored)
    elif given.list:
        for row in (cells(name, recipe) for name, recipe in stored["recipes"].items()):
            print(f"{row['recipe'].strip('`'):28}{row['pair']:7}BLEU {row['BLEU']:16}{row['minutes']}")
    elif given.name is None:
        parser.error("name a recipe; --list shows them")
    else:
        try:
            seeds = recipe_of(stored, given.name)["seeds"]
            seed = next(iter(seeds)) if given.seed is None else given.seed
            return 0 if reproduce(stored, given.name, seed, given.data) else 1
        except UserError as error:
            print(f"error: {error}", file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
