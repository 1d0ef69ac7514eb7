"""Whether batch size, order and padding change translations, counted on a trained run.

    python scripts/search_equality.py RUN --source FILE [--sentences 1000] [--beam-size 5]

In float64 nothing may differ; in float32 at most 0.5 % of the lines, each by a gap of scores under 1e-4.
"""

import argparse
import random
import sys
from pathlib import Path

import torch

import translate
from translate.config.search import SearchConfig
from translate.corpora.batching import pad
from translate.runs.runtime import use_runtime
from translate.search import beam_search
from translate.text.tokenizer import EOS
from translate.translator import Translator

SIZES = (1, 7, 64)
EXTRA = 5  # padded places
Found = dict[int, tuple[list[int], float]]


def search(
    translator: Translator, sources: list[list[int]], batch_size: int, extra: int, config: SearchConfig
) -> Found:
    """The best path of each sentence and its score, with the batches in a random order."""
    order = list(range(len(sources)))
    random.Random(batch_size).shuffle(order)
    found: Found = {}
    for begin in range(0, len(order), batch_size):
        chosen = order[begin : begin + batch_size]
        source, mask = pad([sources[i] for i in chosen])
        if extra:
            mask = torch.ones_like(source, dtype=torch.bool) if mask is None else mask
            source = torch.nn.functional.pad(source, (0, extra), value=7)
            mask = torch.nn.functional.pad(mask, (0, extra))
        for i, hypotheses in zip(chosen, beam_search(translator.model, source, mask, config), strict=True):
            found[i] = hypotheses[0].ids, hypotheses[0].score
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("run", type=Path)
    parser.add_argument("--source", type=Path, required=True, help="sentences, plain text")
    parser.add_argument("--sentences", type=int, default=1000)
    parser.add_argument("--beam-size", type=int, default=5)
    arguments = parser.parse_args()
    lines = arguments.source.read_text(encoding="utf-8").splitlines()[: arguments.sentences]
    use_runtime(torch.device("cpu"))  # as the command does
    translator = translate.load(arguments.run, device="cpu")
    config = SearchConfig(beam_size=arguments.beam_size)
    sources = [[*translator.tokenizers.source.encode(line), EOS] for line in lines]
    failed = False
    for dtype, allowed in ((torch.float64, 0.0), (torch.float32, 0.005)):
        translator.model.to(dtype)
        runs = {(size, extra): search(translator, sources, size, extra, config) for size, extra in
                [*((size, 0) for size in SIZES), (SIZES[-1], EXTRA)]}  # fmt: skip
        first = runs[SIZES[0], 0]
        for (size, extra), found in runs.items():
            gaps = [abs(found[i][1] - first[i][1]) for i in first if found[i][0] != first[i][0]]
            share, gap = len(gaps) / len(first), max(gaps, default=0.0)
            failed |= share > allowed or gap >= 1e-4
            print(
                f"{str(dtype).removeprefix('torch.')}  batch {size:>3}, {extra} extra padding: "
                f"{len(gaps)} of {len(first)} differ ({share:.2%}), gap {gap:.1e}",
                flush=True,
            )
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
