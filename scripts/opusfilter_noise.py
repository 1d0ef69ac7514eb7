"""Measures what the filters of OpusFilter find of the pairs that `scripts/plant_noise.py` has planted.

    python -m venv opusfilter && opusfilter/bin/pip install opusfilter eflomal
    opusfilter/bin/python scripts/opusfilter_noise.py noise --out noise/opusfilter

It runs in OpusFilter's environment, which has nothing of this package. Every filter has OpusFilter's own
thresholds; eflomal learns its priors on all pairs, as a user would let it, who does not know which are bad.
The second table judges by the greater of eflomal's two scores alone, at thresholds that lose 1, 2 and 5 % of
the first corpus.
"""

import argparse
import resource
import time
from pathlib import Path

from opusfilter.pipeline import FilterPipeline  # type: ignore[import-not-found]
from opusfilter.word_alignment import make_priors  # type: ignore[import-not-found]

KINDS = ("clean", "shuffled", "cut", "language")
LOST = (0.01, 0.02, 0.05)  # of the first corpus
Pairs = list[tuple[str, str]]


def read(folder: Path) -> dict[str, Pairs]:
    """The pairs of each kind."""
    found = {}
    for kind in KINDS:
        sides = [(folder / f"{kind}.{side}").read_text(encoding="utf-8") for side in ("source", "target")]
        found[kind] = list(zip(*(text.removesuffix("\n").split("\n") for text in sides), strict=True))
    return found


def filters(source: str, target: str, priors: Path) -> list[dict[str, dict[str, object]]]:
    """The filters that its documentation shows for a parallel corpus, with word alignment."""
    tokenizers = {"src_tokenizer": ["moses", source], "tgt_tokenizer": ["moses", target]}
    return [
        {"LengthFilter": {"unit": "word"}},
        {"LengthRatioFilter": {"unit": "word"}},
        {"LongWordFilter": {}},
        {"CharacterScoreFilter": {"scripts": ["Latin", "Latin"]}},
        {"LinguaFilter": {"languages": [source, target]}},
        {"TerminalPunctuationFilter": {}},
        {"NonZeroNumeralsFilter": {}},
        {"WordAlignFilter": {"priors": str(priors.resolve()), "model": 3, **tokenizers}},
    ]


def share(flags: list[bool]) -> float:
    return sum(flags) / len(flags)


def area(good: list[float], bad: list[float]) -> float:
    """The chance that a bad pair has the greater score (ROC area)."""
    ranked = sorted([(score, 0) for score in good] + [(score, 1) for score in bad])
    seen = won = 0
    for _, is_bad in ranked:
        won += seen * is_bad
        seen += not is_bad
    return won / (len(good) * len(bad))


def main() -> None:
    """Score every pair, and print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("noise", type=Path, help="the folder of plant_noise.py")
    parser.add_argument("--languages", default="en,fr")
    parser.add_argument("--out", type=Path, required=True, help="a folder for the priors")
    arguments = parser.parse_args()
    corpora, (source, target) = read(arguments.noise), arguments.languages.split(",")
    pairs = [pair for kind in KINDS for pair in corpora[kind]]
    arguments.out.mkdir(parents=True, exist_ok=True)
    begin = time.perf_counter()
    files = [arguments.out / side for side in ("all.source", "all.target")]
    for number, path in enumerate(files):
        path.write_text("".join(f"{pair[number]}\n" for pair in pairs), encoding="utf-8")
    priors = arguments.out / "priors"
    tokenizers = {"src_tokenizer": ("moses", source), "tgt_tokenizer": ("moses", target)}
    make_priors(*map(str, files), str(priors), model=3, **tokenizers)
    pipeline = FilterPipeline.from_config(filters(source, target, priors))
    bad: dict[str, list[bool]] = {}
    scores: list[float] = []
    for one in pipeline.filters:
        values = list(one.score(iter(pairs)))
        name = type(one).__name__
        bad[name] = [not one.accept(value) for value in values]
        if name == "WordAlignFilter":
            scores = [max(value) for value in values]
    bad["all"] = [any(flags) for flags in zip(*bad.values(), strict=True)]
    seconds = time.perf_counter() - begin
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    print(f"{seconds:.0f} s, {sum(each.ru_utime + each.ru_stime for each in used):.0f} s of processors")
    ends = [sum(len(corpora[kind]) for kind in KINDS[: number + 1]) for number in range(len(KINDS))]
    parts = {kind: slice(end - len(corpora[kind]), end) for kind, end in zip(KINDS, ends, strict=True)}
    print(f"| filter | {' | '.join(KINDS[1:])} | of clean | precision |")
    print("| --- |" + " ---: |" * 5)
    for name, flags in bad.items():
        found = [f"{100 * share(flags[parts[kind]]):.1f} %" for kind in KINDS[1:]]
        right = sum(sum(flags[parts[kind]]) for kind in KINDS[1:])
        lost = f"{100 * share(flags[parts['clean']]):.2f} %"
        print(f"| {name} | {' | '.join(found)} | {lost} | {100 * right / max(1, sum(flags)):.1f} % |")
    clean = sorted(scores[parts["clean"]], reverse=True)
    for lost_share in LOST:
        least = clean[int(lost_share * len(clean))]
        found = [f"{100 * share([s > least for s in scores[parts[kind]]]):.0f} %" for kind in KINDS[1:]]
        print(f"| eflomal's scores, {100 * lost_share:.0f} % of clean lost | {' | '.join(found)} |")
    for kind in KINDS[1:]:
        print(f"area for {kind} above clean: {area(clean, scores[parts[kind]]):.3f}")


if __name__ == "__main__":
    main()
