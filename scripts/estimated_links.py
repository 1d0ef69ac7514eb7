"""The quality of the links that guide a model: AER against the gold of an embedded corpus, and CPU seconds.

python scripts/estimated_links.py [--target fr|sov] [--pairs 40000]

The links are estimated from the training text by IBM model 2 (`ibm_model_2.py`) and by the statistical
aligner, the last time with the gold links of 500 validation pairs. The gold links of the training pairs only
score the result.
"""

import argparse
import time
from collections.abc import Sequence

from ibm_model_2 import align_corpus

from translate.grammar.generator import Example, generate
from translate.links.error_rate import score
from translate.links.links import Gold, parse_gold
from translate.links.statistical import KnownLinks, estimate_links


def read(pairs: Sequence[Example]) -> tuple[tuple[list[list[str]], list[list[str]]], list[Gold]]:
    """The words of both sides, and the gold links."""
    sides = [pair.source.split() for pair in pairs], [pair.target.split() for pair in pairs]
    return sides, [parse_gold(pair.gold, where="gold") for pair in pairs]


def main() -> None:
    parser = argparse.ArgumentParser(description="AER of links estimated from an embedded corpus.")
    parser.add_argument("--target", choices=("fr", "sov"), default="fr")
    parser.add_argument("--pairs", type=int, default=40000)
    arguments = parser.parse_args()
    splits = generate(arguments.pairs, 500, 500, target=arguments.target)
    sides, golds = read(splits["train"])
    validation, validation_golds = read(splits["validation"])
    known = KnownLinks(*validation, [gold.to_teach(0, 1) for gold in validation_golds])
    aligners = {
        "model 2, intersection": lambda: align_corpus(*sides, method="intersection"),
        "model 2, grow-diag-final-and": lambda: align_corpus(*sides),
        "agreement, intersection": lambda: estimate_links(*sides, method="intersection"),
        "agreement, grow-diag-final-and": lambda: estimate_links(*sides),
        "the same with validation gold": lambda: estimate_links(*sides, known=known),
    }
    print(f"{'links':<32} {'AER':>6} {'precision':>9} {'recall':>6} {'CPU s':>6}")
    for name, align in aligners.items():
        begin = time.process_time()
        result = score(align(), golds)
        figures = [100 * value for value in result[:3]]
        seconds = time.process_time() - begin
        print(
            f"{name:<32} {figures[0]:>6.2f} {figures[1]:>9.2f} {figures[2]:>6.2f} {seconds:>6.1f}", flush=True
        )


if __name__ == "__main__":
    main()
