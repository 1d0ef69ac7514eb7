"""How much writing a checkpoint delays training: steps with and without one, in the same run.

    python scripts/bench_checkpoint.py [--threads 2] [--rounds 15]

Rounds without a checkpoint alternate with rounds in which one is written beside the steps; their medians are
compared. The model is a Transformer of the default size.
"""

import argparse
import tempfile
import time
from pathlib import Path
from statistics import median

import torch
from bench_steps import SIZES, training

from translate.runs.runtime import use_runtime
from translate.runs.storage.writer import Writer
from translate.training.stream import Position

BATCH_TOKENS = 2048
STEPS = 6  # timed together, while a checkpoint is written


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--directory", type=Path, help="where to write; a temporary folder by default")
    options = parser.parse_args()
    device = torch.device("cpu")
    use_runtime(device, options.threads)
    run = training(SIZES["transformer_default"], device, torch.float32, BATCH_TOKENS, (8, 20))
    groups = run.stream.from_position(Position())
    times: dict[bool, list[float]] = {False: [], True: []}
    submitted = []
    with tempfile.TemporaryDirectory(dir=options.directory) as folder, Writer(Path(folder)) as writer:
        for number in range(2 * (options.rounds + 1)):  # the first round warms up
            saves = number % 2 == 1
            began = time.perf_counter()
            if saves:
                writer.submit(number, {}, run.state_dict(), best=False, keep_last=1)
                submitted.append(time.perf_counter() - began)
            for step in range(STEPS):
                run.take_step(next(groups).batches, number * STEPS + step + 1)
            times[saves].append(time.perf_counter() - began)
            writer.wait()
        size = sum(path.stat().st_size for path in Path(folder).glob("step-*/*"))
    groups.close()
    plain, saving = (median(times[saves][1:]) for saves in (False, True))
    copy = median(submitted)
    print(
        f"{options.threads} threads, {STEPS} steps of {BATCH_TOKENS} tokens, {size / 2**20:.0f} MiB written"
    )
    print(f"without a checkpoint {plain:.3f} s, with one {saving:.3f} s: {100 * (saving / plain - 1):+.1f} %")
    print(f"of it the copy {1000 * copy:.0f} ms, {100 * copy * STEPS / plain:.1f} % of a step")


if __name__ == "__main__":
    main()
