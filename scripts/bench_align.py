"""The cost of alignments: beside translations, and of given pairs beside scoring them.

    python scripts/bench_align.py RUN... --source test.en --target test.de [--rounds 5] [--threads 1]

Every run translates with and without alignments, by turns in one process. Then it aligns the pairs as
`translate align RUN --source F --target F` does, links as text included, and scores them: one teacher-forced
pass that gives the log-probabilities of the targets. Medians of the rounds, and of their ratios.
"""

import argparse
import gc
import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch

import translate
from translate.alignment.pairs import BATCH_TOKENS
from translate.corpora.batching import collate, plan_batches
from translate.corpora.encoded import EncodedCorpus, Ragged
from translate.corpora.local_files import pair_of
from translate.models.seq2seq import evaluation_mode
from translate.runs.runtime import use_runtime
from translate.training.losses import batch_loss
from translate.translator import Translator


def score(translator: Translator, sources: Sequence[str], targets: Sequence[str]) -> float:
    """The log-probability of all targets, in nats."""
    tokenizers, model = translator.tokenizers, translator.model
    corpus = EncodedCorpus(
        Ragged.of([tokenizers.source.encode(line) for line in sources]),
        Ragged.of([tokenizers.target.encode(line) for line in targets]),
    )
    total = 0.0
    with evaluation_mode(model):
        for indices in plan_batches(*corpus.lengths(), BATCH_TOKENS):
            batch = collate(corpus, indices.tolist()).to(translator.device)
            total -= batch_loss(model, batch).likelihood.item()
    return total


def align(translator: Translator, sources: Sequence[str], targets: Sequence[str]) -> list[str]:
    """The links of all pairs in Pharaoh format."""
    return [alignment.pharaoh() for alignment in translator.align(sources, targets)]


def compare(first: Callable[[], object], second: Callable[[], object], rounds: int) -> tuple[float, ...]:
    """Median seconds of two calls by turns, and the median ratio of the second to the first."""
    times = []
    for _ in range(rounds + 1):
        row = []
        for call in (first, second):
            began = time.perf_counter()
            call()
            row.append(time.perf_counter() - began)
        times.append(row)
    del times[0]  # the first round warms up
    sides = [statistics.median(row[side] for row in times) for side in (0, 1)]
    return (*sides, statistics.median(row[1] / row[0] for row in times))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("runs", type=Path, nargs="+")
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--target", type=Path, required=True)
    parser.add_argument("--pairs", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--beams", type=int, nargs="+", default=[5, 1])
    arguments = parser.parse_args()
    corpus = pair_of(arguments.source, arguments.target)
    sources, targets = corpus.source[: arguments.pairs], corpus.target[: arguments.pairs]
    use_runtime(torch.device("cpu"), arguments.threads)  # as the command does
    print("| run | compared | first, s | second, s | ratio |\n| --- | --- | ---: | ---: | ---: |")
    for run in arguments.runs:
        translator = translate.load(run, device="cpu")
        gc.freeze()  # as the command does
        tasks: dict[str, tuple[partial[Any], partial[Any]]] = {}
        for beam in arguments.beams:
            search = partial(translator.translate, sources, beam_size=beam)
            tasks[f"translating, and with alignments, beam {beam}"] = search, partial(search, alignments=True)
        pairs = (translator, sources, targets)
        tasks["scoring, and aligning"] = partial(score, *pairs), partial(align, *pairs)
        for name, (first, second) in tasks.items():
            one, other, ratio = compare(first, second, arguments.rounds)
            print(f"| {run.name} | {name} | {one:.2f} | {other:.2f} | {ratio:.2f} |", flush=True)


if __name__ == "__main__":
    main()
