"""The time to align a corpus, compared with the time to score it, in alternating rounds of one process.

python scripts/bench_align.py RUN --source test.en --target test.de [--rounds 7] [--threads 1]

Scoring is one teacher-forced pass that gives the log-probability of each target. Aligning is the work of
`translate align RUN --source F --target F`, including the links as text. Both start from the same lines of
text.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

import translate
from translate.alignment.pairs import BATCH_TOKENS, evaluation_mode
from translate.corpora.batching import EncodedCorpus, Ragged, collate, sequential_batches
from translate.corpora.local_files import pair_of
from translate.runs.runtime import find_device, use_runtime
from translate.training.losses import batch_loss
from translate.translator import Translator


def score(translator: Translator, sources: Sequence[str], targets: Sequence[str]) -> float:
    """The log-probability of all targets, nats."""
    tokenizers, model = translator.tokenizers, translator.model
    corpus = EncodedCorpus(
        Ragged.of([tokenizers.source.encode(line) for line in sources]),
        Ragged.of([tokenizers.target.encode(line) for line in targets]),
    )
    total = 0.0
    with evaluation_mode(model):
        for indices in sequential_batches(corpus.source.lengths, corpus.target.lengths, BATCH_TOKENS):
            batch = collate(corpus, indices.tolist()).to(translator.device)
            total -= batch_loss(model, batch).likelihood.item()
    return total


def align(translator: Translator, sources: Sequence[str], targets: Sequence[str]) -> int:
    """The number of links."""
    return sum(len(alignment.pharaoh().split()) for alignment in translator.align(sources, targets))


def seconds(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare the time of aligning with that of scoring.")
    parser.add_argument("run", type=Path)
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--target", type=Path, required=True)
    parser.add_argument("--pairs", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    arguments = parser.parse_args()
    use_runtime(find_device(arguments.device), arguments.threads)  # as the command does
    translator = translate.load(arguments.run, device=arguments.device)
    split = pair_of(arguments.source, arguments.target)
    sides = split.source[: arguments.pairs], split.target[: arguments.pairs]
    tasks = {"score": lambda: score(translator, *sides), "align": lambda: align(translator, *sides)}
    for task in tasks.values():  # fills caches
        task()
    times: dict[str, list[float]] = {name: [] for name in tasks}
    for number in range(arguments.rounds):
        order = list(tasks) if number % 2 == 0 else list(tasks)[::-1]
        for name in order:
            times[name].append(seconds(tasks[name]))
    ratios = np.array(times["align"]) / np.array(times["score"])
    row = {
        "run": str(arguments.run),
        "pairs": len(sides[0]),
        "rounds": arguments.rounds,
        "threads": arguments.threads,
        "device": arguments.device,
        "score_seconds": round(statistics.median(times["score"]), 4),
        "align_seconds": round(statistics.median(times["align"]), 4),
        "ratio": round(float(np.median(ratios)), 3),
        "ratios": [round(float(ratio), 3) for ratio in ratios],
    }
    print(json.dumps(row))


if __name__ == "__main__":
    main()
