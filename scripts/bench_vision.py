"""Time of the encoder of patches beside a plain vision transformer of the same size, forward and backward.

    python scripts/bench_vision.py [--threads 2] [--repeats 15] [--batch 16] [--side 112] [--patch 8]

The plain encoder is what torchvision's models and most tutorials do: a convolution whose stride is its size
embeds the patches, learned positions are added, and ``nn.TransformerEncoder`` follows. Both train in float32
without dropout, on the same pictures; ours reads them as batches hold them, bytes in cells, and the plain one
as float32 planes. Medians of rounds in which they take turns.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable

import numpy as np
import torch
from processor import processor
from torch import Tensor, nn

from translate.corpora.batching import pad
from translate.corpora.images.patches import Picture
from translate.models import EncoderSizes, PatchEncoder

WIDTHS = {"small": (128, 4, 512, 2), "tiny of DeiT": (192, 3, 768, 12)}  # D, heads, feed-forward, layers


class PlainVision(nn.Module):
    """A vision transformer without a class token: Dosovitskiy et al. 2021, 3.1, in torch's own modules."""

    def __init__(self, side: int, patch: int, width: int, heads: int, inner: int, layers: int) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, stride=patch)
        self.positions = nn.Parameter(torch.randn(1, (side // patch) ** 2, width) * 0.02)
        layer = nn.TransformerEncoderLayer(
            width, heads, inner, 0.0, "gelu", batch_first=True, norm_first=True
        )
        self.encoder = nn.TransformerEncoder(layer, layers, nn.LayerNorm(width), enable_nested_tensor=False)

    def forward(self, planes: Tensor) -> Tensor:
        found: Tensor = self.encoder(self.patches(planes).flatten(2).transpose(1, 2) + self.positions)
        return found


def pictures(batch: int, side: int, patch: int) -> tuple[Tensor, Tensor]:
    """Random pictures as cells (B, S, C) and as planes (B, 3, side, side)."""
    drawn = np.random.default_rng(1).integers(0, 256, (batch, side, side, 3), dtype=np.uint8)
    cells, _ = pad([Picture(each, patch).ids() for each in drawn])
    return cells, (torch.from_numpy(drawn).permute(0, 3, 1, 2).float() - 128) / 64


def encoders(
    given: argparse.Namespace, width: int, heads: int, inner: int, layers: int
) -> dict[str, Callable[[], None]]:
    """A closure for each encoder that runs it forward and backward."""
    cells, planes = pictures(given.batch, given.side, given.patch)
    torch.manual_seed(1)
    ours = PatchEncoder(
        EncoderSizes(width, width // 2, layers, 0.0, "gru"),
        patch_size=given.patch,
        num_heads=heads,
        feedforward_size=inner,
        gate="none",
    )
    plain = PlainVision(given.side, given.patch, width, heads, inner, layers)
    table = nn.Embedding(4, width)  # of the pieces of a sentence, of which there are none

    def run_ours() -> None:
        ours(ours.embed(cells, table), None)[0].square().mean().backward()
        ours.zero_grad()

    def run_plain() -> None:
        plain(planes).square().mean().backward()
        plain.zero_grad()

    counts = {
        name: sum(p.numel() for p in each.parameters()) for name, each in (("ours", ours), ("plain", plain))
    }
    print(f"  parameters: ours {counts['ours']:,}, plain {counts['plain']:,}")
    return {"ours": run_ours, "plain": run_plain}


def medians(variants: dict[str, Callable[[], None]], repeats: int) -> dict[str, float]:
    """Milliseconds of each, which take turns; the first round warms up."""
    taken: dict[str, list[float]] = {name: [] for name in variants}
    for number in range(repeats + 1):
        for name, run in variants.items():
            began = time.perf_counter()
            run()
            if number:
                taken[name].append(1e3 * (time.perf_counter() - began))
    return {name: statistics.median(times) for name, times in taken.items()}


def main(arguments: list[str]) -> None:
    """Print a line for each size."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--batch", type=int, default=16, help="pictures")
    parser.add_argument("--side", type=int, default=112, help="pixels")
    parser.add_argument("--patch", type=int, default=8, help="pixels of a patch's side")
    given = parser.parse_args(arguments)
    torch.set_num_threads(given.threads)
    print(f"{processor()}, {given.threads} threads, torch {torch.__version__}")
    for name, (width, heads, inner, layers) in WIDTHS.items():
        positions = (given.side // given.patch) ** 2
        sizes = f"D {width}, {heads} heads, {inner} inside, {layers} layers"
        print(f"{name}: {sizes}, {given.batch} x {positions} patches")
        found = medians(encoders(given, width, heads, inner, layers), given.repeats)
        print(
            f"  ours {found['ours']:.1f} ms, plain {found['plain']:.1f} ms: "
            f"{found['plain'] / found['ours']:.2f} times as fast"
        )


if __name__ == "__main__":
    main(sys.argv[1:])
