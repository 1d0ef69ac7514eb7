"""How good the links are that guide a model: AER against the gold of an embedded corpus, and seconds.

python scripts/counted_links.py [--target fr|sov] [--pairs 40000]

Links of IBM model 2 (`statistical.py`) and of the models that agree (`counted.py`, what guides), counted in
the training text, the last with the gold of 500 validation pairs beside it. The gold of the training pairs
only scores them.
"""

import argparse
import time
from collections.abc import Sequence

from ibm_model_2 import align_corpus

from translate.aligner.counting import Known, count_links
from translate.aligner.error_rate import score
from translate.aligner.links import Gold, parse_gold
from translate.grammar.generator import Example, generate


def read(pairs: Sequence[Example]) -> tuple[tuple[list[list[str]], list[list[str]]], list[Gold]]:
    """The words of both sides, and the gold links."""
    sides = [pair.source.split() for pair in pairs], [pair.target.split() for pair in pairs]
    return sides, [parse_gold(pair.gold, where="gold") for pair in pairs]


def main() -> None:
    parser = argparse.ArgumentParser(description="AER of links counted in an embedded corpus.")
    parser.add_argument("--target", choices=("fr", "sov"), default="fr")
    parser.add_argument("--pairs", type=int, default=40000)
    arguments = parser.parse_args()
    splits = generate(arguments.pairs, 500, 500, target=arguments.target)
    sides, golds = read(splits["train"])
    validation, validation_golds = read(splits["validation"])
    known = Known(*validation, [gold.to_teach(0, 1) for gold in validation_golds])
    counters = {
        "model 2, intersection": lambda: align_corpus(*sides, method="intersection"),
        "model 2, grow-diag-final-and": lambda: align_corpus(*sides),
        "agreement, intersection": lambda: count_links(*sides, method="intersection"),
        "agreement, grow-diag-final-and": lambda: count_links(*sides),
        "the same with validation gold": lambda: count_links(*sides, known=known),
    }
    print(f"{'links':<32} {'AER':>6} {'precision':>9} {'recall':>6} {'CPU s':>6}")
    for name, count in counters.items():
        begin = time.process_time()
        result = score(count(), golds)
        figures = [100 * value for value in result[:3]]
        seconds = time.process_time() - begin
        print(
            f"{name:<32} {figures[0]:>6.2f} {figures[1]:>9.2f} {figures[2]:>6.2f} {seconds:>6.1f}", flush=True
        )


if __name__ == "__main__":
    main()
