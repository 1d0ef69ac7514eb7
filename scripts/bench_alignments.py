"""The cost of alignments when translating: the aim is at most 15 %.

    python scripts/bench_alignments.py RUN... --source FILE [--sentences 1000] [--rounds 5] [--threads 2]

Translates with and without alignments in turn, in one process; medians of the rounds, and of their ratios.
"""

import argparse
import gc
import statistics
import time
from pathlib import Path

import torch

import translate
from translate.runs.runtime import use_runtime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("runs", type=Path, nargs="+")
    parser.add_argument("--source", type=Path, required=True, help="sentences, plain text")
    parser.add_argument("--sentences", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--beams", type=int, nargs="+", default=[5, 1])
    arguments = parser.parse_args()
    sentences = arguments.source.read_text(encoding="utf-8").split("\n")[: arguments.sentences]
    use_runtime(torch.device("cpu"), arguments.threads)  # as the command does
    print("| run | beam | without, s | with, s | cost |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for run in arguments.runs:
        translator = translate.load(run, device="cpu")
        gc.freeze()  # as the command does
        translator.translate(sentences[:64], beam_size=1, alignments=True)  # warm up
        for beam in arguments.beams:
            rounds = []
            for _ in range(arguments.rounds):
                times = []
                for alignments in (False, True):
                    begin = time.perf_counter()
                    translator.translate(sentences, beam_size=beam, alignments=alignments)
                    times.append(time.perf_counter() - begin)
                rounds.append(times)
            without, added = (statistics.median(each[side] for each in rounds) for side in (0, 1))
            cost = statistics.median(each[1] / each[0] - 1 for each in rounds)
            print(f"| {run.name} | {beam} | {without:.2f} | {added:.2f} | {cost:.1%} |", flush=True)


if __name__ == "__main__":
    main()
