"""Plants pairs that are no translations into a corpus, and measures what each filter of `prepare` finds.

    python scripts/plant_noise.py --source law.en --target law.fr --other multi30k.de --out noise
    python scripts/plant_noise.py --labelled origin.tsv --out origin

A tenth of the pairs is planted, of three kinds and by a seed: *shuffled* (the translation of another sentence
of about the same length), *cut* (the first third to two thirds of the translation), *language* (a sentence of
another language). Each kind is a corpus of its own, so that the report counts it by reason. What a corpus
itself holds of such pairs counts as a mistake of the filter. With --labelled, the corpora are the labels of a
table's last column, and the areas tell how well the link coverage separates them.
"""

import argparse
import json
import random
import time
from pathlib import Path
from typing import Any

from translate.prepare.engines.one_machine import OneMachine
from translate.prepare.preparation import Preparation
from translate.prepare.recipe import recipe_of
from translate.text.lines import read_lines

Pairs = list[tuple[str, str]]
KINDS = ("shuffled", "cut", "language")
MIN_WORDS = 6  # of a translation that is cut


def plant(pairs: Pairs, others: list[str], seed: int) -> dict[str, Pairs]:
    """A tenth of the pairs spoilt, by kind; the rest is called clean."""
    rng = random.Random(seed)
    order = rng.sample(range(len(pairs)), len(pairs))
    size = len(pairs) // 30
    spoilt = {kind: order[at * size : (at + 1) * size] for at, kind in enumerate(KINDS)}
    found: dict[str, Pairs] = {"clean": [pairs[place] for place in order[3 * size :]]}
    by_length = sorted(spoilt["shuffled"], key=lambda place: len(pairs[place][1].split()))
    found["shuffled"] = [
        (pairs[here][0], pairs[there][1])
        for here, there in zip(by_length, by_length[1:] + by_length[:1])
        if pairs[here][1] != pairs[there][1]
    ]
    found["cut"] = []
    for place in spoilt["cut"]:
        source, words = pairs[place][0], pairs[place][1].split()
        if len(words) >= MIN_WORDS:
            kept = max(1, int(len(words) * rng.uniform(1 / 3, 2 / 3)))
            found["cut"].append((source, " ".join(words[:kept])))
    found["language"] = [(pairs[place][0], rng.choice(others)) for place in spoilt["language"]]
    return found


def labelled(path: Path) -> tuple[list[str], dict[str, Pairs]]:
    """The languages and, by label, the pairs of a table of source, target and label."""
    lines = [line.split("\t") for line in read_lines(path)]
    found: dict[str, Pairs] = {}
    for source, target, label in lines[1:]:
        found.setdefault(label, []).append((source, target))
    return lines[0][:2], found


def measure(corpora: dict[str, Pairs], languages: list[str], out: Path, arguments: argparse.Namespace) -> Any:
    """The report of a preparation in which every kind is a corpus, without a look for repetitions."""
    files: dict[str, dict[str, str]] = {}
    out.mkdir(parents=True, exist_ok=True)
    for name, pairs in corpora.items():
        files[name] = {}
        for number, side in enumerate(("source", "target")):
            path = out / f"{name}.{side}"
            path.write_text("".join(f"{pair[number]}\n" for pair in pairs), encoding="utf-8")
            files[name][side] = str(path)
    recipe = recipe_of(
        {
            "source_language": languages[0],
            "target_language": languages[1],
            "corpora": files,
            "validation_pairs": 0,
            "duplicates": False,
            "near_duplicates": None,
            "max_partners": None,
            "links": {
                "sample_pairs": arguments.sample_pairs,
                "min_coverage": arguments.min_coverage,
                "min_probability": arguments.min_probability,
            },
        }
    )
    begin = time.perf_counter()
    report = Preparation(
        recipe,
        out / "prepared",
        lambda folder: OneMachine(folder, memory=2**31, workers=arguments.workers),
        print,
    ).run()
    print(f"{time.perf_counter() - begin:.0f} s")
    return report


def area(good: dict[str, int], bad: dict[str, int]) -> float:
    """The chance that a pair of one histogram has more coverage than one of the other (ROC area)."""
    seen, won = 0.0, 0.0
    for low in good:
        won += good[low] * (seen + bad[low] / 2)
        seen += bad[low]
    return won / (sum(good.values()) * seen)


def tables(report: dict[str, Any], corpora: dict[str, Pairs], first: str) -> list[str]:
    """Recall of each reason for each kind, its precision, and what it takes from the first corpus."""
    kinds = [name for name in corpora if name != first]
    lines = [
        f"| reason | {' | '.join(kinds)} | of {first} | precision |",
        "| --- |" + " ---: |" * (len(kinds) + 2),
    ]
    dropped = {name: report["dropped"].get(name, {}) for name in corpora}
    for reason in [*report["reasons"], "all"]:
        counts = {n: sum(d.values()) if reason == "all" else d.get(reason, 0) for n, d in dropped.items()}
        shares = [f"{100 * counts[kind] / len(corpora[kind]):.1f} %" for kind in kinds]
        planted = sum(counts[kind] for kind in kinds)
        precision = planted / max(1, planted + counts[first])
        lost = f"{100 * counts[first] / len(corpora[first]):.2f} %"
        lines.append(f"| {reason} | {' | '.join(shares)} | {lost} | {100 * precision:.1f} % |")
    for name in ("link_coverage", "translation_probability"):
        counts = report[name]
        lines += [
            f"{name}, {first} above {kind}: area {area(counts[first], counts[kind]):.3f}"
            for kind in kinds
            if kind in counts
        ]
    return lines


def main() -> None:
    """Plant, prepare and print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--source", type=Path)
    parser.add_argument("--target", type=Path)
    parser.add_argument("--other", type=Path, help="sentences of another language")
    parser.add_argument("--languages", default="en,fr")
    parser.add_argument("--labelled", type=Path, help="a table of source, target and label")
    parser.add_argument("--pairs", type=int, default=10**9, help="pairs that are read, from the first on")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sample-pairs", type=int, default=50_000)
    parser.add_argument("--min-coverage", type=float, help="links.min_coverage; none by default")
    parser.add_argument("--min-probability", type=float, help="links.min_probability; none by default")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True, help="a new folder")
    arguments = parser.parse_args()
    if arguments.labelled is not None:
        languages, corpora = labelled(arguments.labelled)
        corpora = {name: pairs[: arguments.pairs] for name, pairs in corpora.items()}
    else:
        languages = arguments.languages.split(",")
        pairs = list(zip(read_lines(arguments.source), read_lines(arguments.target), strict=True))
        corpora = plant(pairs[: arguments.pairs], read_lines(arguments.other), arguments.seed)
    report = measure(corpora, languages, arguments.out, arguments)
    print("\n".join(tables(report, corpora, next(iter(corpora)))))
    (arguments.out / "measured.json").write_text(json.dumps(report["dropped"], indent=1))


if __name__ == "__main__":
    main()
