"""Agreement (F1) of our symmetrised links with those of other aligners, for corpora without gold links.

python scripts/agreement.py FORWARD [--reverse BACKWARD] --source train.en.gz --target train.de.gz \
    [--eflomal EXECUTABLE] [--pairs 29000] [--sample 1000] [--json]

FORWARD and BACKWARD are runs of the two directions; without BACKWARD the neural links are those of FORWARD.
All aligners get the same words, those of `translate align`. The statistical aligner and eflomal (Ostling and
Tiedemann 2016) are trained on all `--pairs`; the two runs align the first `--sample`, on which all aligners
are compared. `majority` holds the links on which two of both runs and the statistical aligner agree, as in
`translate guide`. eflomal has a C extension: install it in an environment of its own, and name its
executable `eflomal-align`.
"""

import argparse
import json
import subprocess
import tempfile
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import torch

import translate
from translate.corpora.local_files import pair_of
from translate.corpora.split import Split
from translate.links.links import Links, read_gold, swapped
from translate.links.statistical import estimate_links
from translate.links.symmetrise import SYMMETRISATIONS, majority, symmetrise
from translate.runs.runtime import use_runtime
from translate.text.words import split_words

Lines = Sequence[Sequence[str]]


def f1(first: Sequence[Links], second: Sequence[Links]) -> float:
    """2 |A and B| / (|A| + |B|), over all pairs."""
    common = sum(len(a & b) for a, b in zip(first, second, strict=True))
    return 2 * common / max(1, sum(map(len, first)) + sum(map(len, second)))


def eflomal_links(command: str, sources: Lines, targets: Lines, method: str) -> list[Links]:
    """The links of both directions of eflomal, symmetrised like ours."""
    with tempfile.TemporaryDirectory() as folder:
        names = {name: Path(folder) / name for name in ("source", "target", "forward", "backward")}
        for name, lines in (("source", sources), ("target", targets)):
            names[name].write_text("".join(" ".join(words) + "\n" for words in lines), encoding="utf-8")
        files = [f"{option}={names[name]}" for option, name in (("-s", "source"), ("-t", "target"))]
        arguments = [part for file in files for part in file.split("=", 1)]
        arguments += ["-f", str(names["forward"]), "-r", str(names["backward"]), "--overwrite"]
        subprocess.run([command, *arguments], check=True)
        there, back = read_gold(names["forward"]), read_gold(names["backward"])
    return [symmetrise(a.sure, b.sure, method) for a, b in zip(there, back, strict=True)]


def neural_links(forward: Path, backward: Path | None, split: Split) -> list[list[Links]]:
    """Links of the calibrated attention: a list for the run, and one for the backward run if it is given."""
    use_runtime(torch.device("cpu"))  # as the command does
    there = translate.load(forward, device="cpu").align(split.source, split.target)
    links = [[alignment.links() for alignment in there]]
    if backward is not None:
        back = translate.load(backward, device="cpu").align(split.target, split.source)
        links.append([swapped(alignment.links()) for alignment in back])
    return links


def main() -> None:
    parser = argparse.ArgumentParser(description="F1 of links with those of other aligners.")
    parser.add_argument("forward", type=Path)
    parser.add_argument("--reverse", type=Path)
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--target", type=Path, required=True)
    parser.add_argument("--eflomal", help="the executable eflomal-align")
    parser.add_argument("--pairs", type=int, default=29000)
    parser.add_argument("--sample", type=int, default=1000)
    parser.add_argument("--symmetrise", choices=SYMMETRISATIONS, default="grow-diag-final-and")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    split = pair_of(arguments.source, arguments.target)
    kept = [i for i in range(len(split)) if split.source[i].strip() and split.target[i].strip()]
    split = split.take(kept[: arguments.pairs])
    sources = [[word.text for word in split_words(line)] for line in split.source]
    targets = [[word.text for word in split_words(line)] for line in split.target]
    sample, method = slice(arguments.sample), arguments.symmetrise
    sampled = split.take(list(range(len(split)))[sample])
    neural = neural_links(arguments.forward, arguments.reverse, sampled)
    estimated = estimate_links(sources, targets, method=method)[sample]
    links = {"neural": neural[0]}
    if arguments.reverse:
        links["neural"] = [symmetrise(a, b, method) for a, b in zip(*neural, strict=True)]
        links["majority"] = [majority(*votes) for votes in zip(*neural, estimated, strict=True)]
    links["statistical"] = estimated
    if arguments.eflomal:
        links["eflomal"] = eflomal_links(arguments.eflomal, sources, targets, method)[sample]
    rows = {f"{a}, {b}": round(f1(links[a], links[b]), 4) for a, b in combinations(links, 2)}
    if arguments.json:
        print(json.dumps({"pairs": len(split), "sample": len(links["neural"]), "f1": rows}))
        return
    print(f"{len(split):,} pairs, compared on {len(links['neural']):,}; {method}")
    for name, value in rows.items():
        print(f"{name:<21} {value:.4f}")


if __name__ == "__main__":
    main()
