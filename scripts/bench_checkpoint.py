"""How much writing a checkpoint delays the training: steps with one against steps without, in one run.

    python scripts/bench_checkpoint.py [--threads 2] [--rounds 15]

In each round as many steps are timed without a checkpoint as with one written beside them, in turn; what is
compared are the medians of the rounds. The model is a Transformer of the default size.
"""

import argparse
import tempfile
import time
from pathlib import Path
from statistics import median

import numpy as np
import torch

from translate.attention import create
from translate.build.objects import use_device
from translate.models import Transformer
from translate.text.batching import EncodedCorpus, Ragged
from translate.training.averaging import Averaged
from translate.training.loop import Training
from translate.training.optimizer import Constant
from translate.training.stream import BatchStream, Position
from translate.training.update import Update
from translate.training.writer import Writer

VOCABULARY, PAIRS, BATCH_TOKENS = 5000, 4000, 2048
STEPS = 6  # timed together; a checkpoint is written within them


def training(device: torch.device) -> Training:
    """A Transformer of the default size on random sentences of some 14 pieces."""
    generator = np.random.default_rng(1)
    sides = [
        [generator.integers(4, VOCABULARY, n) for n in generator.integers(8, 21, PAIRS)] for _ in range(2)
    ]

    def attention(query_size: int, key_size: int) -> torch.nn.Module:
        return create("multi_head", query_size=query_size, key_size=key_size, num_heads=4)

    model = Transformer(
        VOCABULARY, VOCABULARY, attention, width=192, feedforward_size=512, num_heads=4, encoder_layers=3,
        decoder_layers=3, tie="all",
    ).to(device)  # fmt: skip
    update = Update(
        model,
        torch.optim.Adam(model.parameters(), lr=1e-4, fused=True),
        Constant(),
        label_smoothing=0.1,
        clip_norm=1.0,
        average=Averaged(model, 0.999),
        precision=torch.float32,
    )
    corpus = EncodedCorpus(Ragged.of(sides[0]), Ragged.of(sides[1]))
    return Training(BatchStream(corpus, BATCH_TOKENS, 1, 1), update)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--directory", type=Path, help="where to write; a temporary folder by default")
    options = parser.parse_args()
    run = training(use_device("cpu", options.threads))
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
                run.update(next(groups).batches, number * STEPS + step + 1)
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
