"""Makes a large corpus from real pairs: the first half of one pair, the second half of another.

A pair is cut where a comma or a semicolon divides both sides in about the same proportion, or in the middle
of its words. Halves are joined if both second halves begin alike: both after a comma, or both inside a
clause. The result reads roughly like text of the domain, has its vocabulary and its lengths, and its sides
still translate each other half by half, so that times, memory and losses are those of a real corpus of that
size.

    python scripts/recombine_corpus.py train.en.gz train.fr.gz --pairs 2000000 --out large

writes large/train.en and large/train.fr; the same seed gives the same pairs.
"""

import argparse
import gzip
from collections.abc import Iterator
from pathlib import Path

import numpy as np

BLOCK = 1 << 14  # pairs that are written at a time
MARKS = (",", ";", ":")
Halves = tuple[tuple[str, str], tuple[str, str]]  # first and second half, each of source and target


def read(path: Path) -> list[str]:
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8", newline="\n") as file:
        return [line.rstrip("\r\n") for line in file]


def places(words: list[str]) -> list[int]:
    """The numbers of words after which a clause ends."""
    return [number + 1 for number, word in enumerate(words[:-1]) if word.endswith(MARKS)]


def halves(source: str, target: str) -> tuple[bool, Halves] | None:
    """Both halves of a pair, and whether it was cut between clauses; ``None`` for a pair of single words."""
    sides = source.split(), target.split()
    if min(map(len, sides)) < 2:
        return None
    ends = [places(words) for words in sides]
    shares = [(abs(a / len(sides[0]) - b / len(sides[1])), a, b) for a in ends[0] for b in ends[1]]
    near = min(shares, default=(1.0, 0, 0))
    between = near[0] < 0.15
    cuts = near[1:] if between else (len(sides[0]) // 2, len(sides[1]) // 2)
    first, second = (
        tuple(" ".join(part) for part in parts)
        for parts in (
            (words[:cut] for words, cut in zip(sides, cuts)),
            (words[cut:] for words, cut in zip(sides, cuts)),
        )
    )
    return between, (first, second)  # type: ignore[return-value]


def recombined(pairs: list[tuple[bool, Halves]], count: int, seed: int) -> Iterator[list[tuple[str, str]]]:
    """Blocks of new pairs."""
    kinds = [[both for between, both in pairs if between == kind] for kind in (False, True)]
    generator = np.random.default_rng(seed)
    share = len(kinds[1]) / len(pairs)
    for begin in range(0, count, BLOCK):
        size = min(BLOCK, count - begin)
        chosen = generator.random(size) < share
        draws = generator.random((2, size))
        block = []
        for kind, first, second in zip(chosen.tolist(), *draws.tolist()):
            of_kind = kinds[kind]
            start, end = of_kind[int(first * len(of_kind))][0], of_kind[int(second * len(of_kind))][1]
            block.append((f"{start[0]} {end[0]}", f"{start[1]} {end[1]}"))
        yield block


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("source", type=Path, help="file of sentences, plain or gzip")
    parser.add_argument("target", type=Path, help="file of their translations")
    parser.add_argument("--pairs", type=int, default=2_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True, help="folder of the new files")
    arguments = parser.parse_args()
    files = arguments.source, arguments.target
    found = [both for pair in zip(*map(read, files), strict=True) if (both := halves(*pair))]
    arguments.out.mkdir(parents=True)
    names = [arguments.out / path.name.removesuffix(".gz") for path in files]
    with names[0].open("w", encoding="utf-8") as source, names[1].open("w", encoding="utf-8") as target:
        for block in recombined(found, arguments.pairs, arguments.seed):
            source.writelines(f"{pair[0]}\n" for pair in block)
            target.writelines(f"{pair[1]}\n" for pair in block)
    print(f"{arguments.pairs:,} pairs from halves of {len(found):,} in {names[0]} and {names[1]}")


if __name__ == "__main__":
    main()
