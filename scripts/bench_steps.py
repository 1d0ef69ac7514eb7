"""Optimizer steps on made-up sentences: target tokens a second, and their share of the chip's peak product.

    python scripts/bench_steps.py [--sizes transformer rnn_bahdanau rnn_luong] [--compile] [--rounds 7]
    python scripts/bench_steps.py --precision float32 bfloat16 --batch-tokens 512 1024 2048 4096
    python scripts/bench_steps.py --device cuda --precision bfloat16 --sizes transformer_big
    python scripts/bench_steps.py --device cuda --precision bfloat16 --sizes transformer --beside torch

Sentences have 8 to 20 pieces (Multi30k's lengths), or the lengths of --lengths. --compile also times the
Transformers with compiled layers (torch.compile, dynamic shapes), and --beside torch.nn.Transformer or
Hugging Face's Marian (pip install transformers) of the same size, which learn from other batches of the same
text in a plain loop with fused Adam; on a GPU also without the attention of cuDNN, which plans anew for every
shape. All variants of a model alternate. FLOP are those of the matrix products that torch counts in the first
batch, forward and backward. The peak of the chip is that of a large product in the same precision.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count, islice
from statistics import median
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.attention import sdpa_kernel
from torch.nn.functional import cross_entropy
from torch.utils.flop_counter import FlopCounterMode

from translate.attention import create
from translate.attention.kernels.fused import ON_A_GPU
from translate.config.training import TrainingConfig
from translate.corpora.batching import Batch
from translate.corpora.encoded import EncodedCorpus, Ragged
from translate.models import BahdanauRNN, LuongRNN, Seq2Seq, Transformer
from translate.runs.runtime import find_device, use_float32_products, use_runtime, work_of
from translate.text.tokenizer import EOS, PAD
from translate.training.loop import Training
from translate.training.losses import LossTerms
from translate.training.recovery import Recovery
from translate.training.schedules import Constant, Schedules
from translate.training.stream import BatchStream, Position
from translate.training.update import Update
from translate.training.weights import MovingAverage

PAIRS = 4000
WARM_UP = 4  # steps


class Size(NamedTuple):
    """A model to time: its vocabulary, and the function that builds it from that and its attention."""

    vocabulary: int
    build: Callable[..., Seq2Seq]
    attention: str
    options: dict[str, Any]


def _transformer(
    width: int, feedforward_size: int, heads: int, layers: int, dropout: float = 0.1
) -> dict[str, Any]:
    return {
        "width": width,
        "feedforward_size": feedforward_size,
        "num_heads": heads,
        "encoder_layers": layers,
        "decoder_layers": layers,
        "dropout": dropout,
    }


def _recurrent(encoder_size: int, decoder_size: int, **others: Any) -> dict[str, Any]:
    sizes = {"embedding_size": encoder_size, "encoder_size": encoder_size, "decoder_size": decoder_size}
    return {**sizes, "tie": "all", "dropout": 0.1, **others}


SIZES = {
    "transformer": Size(8000, Transformer, "multi_head", _transformer(256, 1024, 4, 3)),
    "rnn_bahdanau": Size(8000, BahdanauRNN, "additive", _recurrent(256, 512)),
    "rnn_luong": Size(8000, LuongRNN, "general", _recurrent(256, 512)),
    "rnn_luong_gru": Size(8000, LuongRNN, "general", _recurrent(256, 512, cell="gru")),
    "rnn_luong_gru_wide": Size(8000, LuongRNN, "general", _recurrent(256, 512, cell="gru", tie="none")),
    "rnn_luong_unfed": Size(8000, LuongRNN, "general", _recurrent(256, 512, input_feeding=False)),
    "transformer_default": Size(5000, Transformer, "multi_head", _transformer(192, 512, 4, 3)),
    "transformer_demo": Size(1125, Transformer, "multi_head", _transformer(128, 256, 4, 2, dropout=0.0)),
    "rnn_bahdanau_default": Size(5000, BahdanauRNN, "additive", _recurrent(192, 320)),
    "rnn_bahdanau_demo": Size(1125, BahdanauRNN, "additive", _recurrent(128, 192)),
    "transformer_big": Size(32000, Transformer, "multi_head", _transformer(1024, 4096, 16, 6)),
}


def made_up(vocabulary: int, shortest: int, longest: int) -> EncodedCorpus:
    """Random sentences of both sides."""
    generator = np.random.default_rng(1)
    lengths = [generator.integers(shortest, longest + 1, PAIRS) for _ in range(2)]
    return EncodedCorpus(
        *(Ragged.of([generator.integers(4, vocabulary, n) for n in side]) for side in lengths)
    )


def training(
    size: Size,
    device: torch.device,
    precision: torch.dtype,
    batch_tokens: int,
    lengths: tuple[int, int],
    seed: int,
) -> Training:
    """The training of a model of ``size`` on made-up sentences, with Adam and a moving average."""

    def attention(query_size: int, key_size: int) -> torch.nn.Module:
        heads = {"num_heads": size.options["num_heads"]} if "num_heads" in size.options else {}
        return create(size.attention, query_size=query_size, key_size=key_size, **heads)

    torch.manual_seed(1)
    model = size.build(size.vocabulary, size.vocabulary, attention, **size.options).to(device)
    use_float32_products(device, work_of(model, batch_tokens))
    update = Update(
        model,
        torch.optim.Adam(model.parameters(), lr=1e-4, fused=True),
        LossTerms(label_smoothing=0.1),
        clip_norm=1.0,
        average=MovingAverage(model, 0.999),
        precision=precision,
    )
    stream = BatchStream(
        made_up(size.vocabulary, *lengths), TrainingConfig(batch_tokens=batch_tokens, seed=seed)
    )
    return Training(stream, Schedules(update.optimizer, Constant()), Recovery(update))


def reseeded(stream: BatchStream, seed: int) -> BatchStream:
    """The batches of another order."""
    return replace(stream, config=replace(stream.config, seed=seed))


def compile_layers(model: Seq2Seq) -> None:
    """Compile the layers of a Transformer for any batch size and length."""
    assert isinstance(model, Transformer)
    for layer in (*model.encoder, *model.decoder):
        cast("nn.Module", layer).compile(dynamic=True)


def flop(run: Training, batch: Batch) -> float:
    """Operations of matrix products a target token, forward and backward, as torch counts them."""
    with FlopCounterMode(display=False) as counter:
        run.take_step([batch], 1)
    return counter.get_total_flops() / batch.num_tokens


def ceiling(device: torch.device, precision: torch.dtype) -> float:
    """Operations a second of a large matrix product: best of 5."""
    size = 8192 if device.type == "cuda" else 2048
    use_float32_products(device, size**3)
    a, b = (torch.randn(size, size, device=device, dtype=precision) for _ in range(2))
    return 2 * size**3 / min(timed(device, lambda: a @ b) for _ in range(6))


def timed(device: torch.device, run: Callable[[], object]) -> float:
    """Seconds of one call."""
    if device.type == "cuda":
        torch.cuda.synchronize()
    began = time.perf_counter()
    run()
    if device.type == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - began


def batches(stream: BatchStream) -> Iterator[Batch]:
    """The batches of epoch after epoch."""
    for group in stream.from_position(Position()):
        yield from group.batches


class Timed:
    """A model in training; its speed in each round."""

    def __init__(
        self, title: str, stream: BatchStream, device: torch.device, step: Callable[[Batch], object]
    ) -> None:
        self.title, self.batches, self.device, self.step = title, batches(stream), device, step
        self.speeds: list[float] = []
        began = time.perf_counter()
        self.steps(WARM_UP)
        self.first_steps = time.perf_counter() - began  # seconds, compilation included

    def steps(self, count: int) -> None:
        """Take ``count`` steps, and record their target tokens a second."""
        chosen = list(islice(self.batches, count))
        seconds = timed(self.device, lambda: [self.step(batch) for batch in chosen])
        self.speeds.append(sum(batch.num_tokens for batch in chosen) / seconds)


def ours(run: Training, *, compiled: bool) -> Callable[[Batch], object]:
    """A step of a training of this package."""
    if compiled:
        compile_layers(run.update.model)
    return lambda batch: run.take_step([batch], 1)


class TorchTransformer(nn.Module):
    """torch.nn.Transformer with embeddings that it shares with the output, and sinusoids."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        width, layers = size.options["width"], size.options["encoder_layers"]
        heads, feedforward = size.options["num_heads"], size.options["feedforward_size"]
        self.embedding = nn.Embedding(size.vocabulary, width, padding_idx=PAD)
        self.layers = nn.Transformer(width, heads, layers, layers, feedforward, 0.1, batch_first=True)
        self.dropout = nn.Dropout(0.1)
        angles = torch.arange(512).unsqueeze(1) * 1e4 ** (-torch.arange(0, width, 2) / width)
        self.sinusoids: Tensor
        self.register_buffer("sinusoids", torch.stack([angles.sin(), angles.cos()], 2).flatten(1))

    def embedded(self, ids: Tensor) -> Tensor:
        scaled = self.embedding(ids) * self.embedding.embedding_dim**0.5
        return cast(Tensor, self.dropout(scaled + self.sinusoids[: ids.shape[1]]))

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        later = torch.ones(target.shape[1], target.shape[1], dtype=torch.bool, device=source.device).triu(1)
        hidden = self.layers(
            self.embedded(source),
            self.embedded(target),
            tgt_mask=later,
            tgt_is_causal=True,
            src_key_padding_mask=source.eq(PAD),
            memory_key_padding_mask=source.eq(PAD),
        )
        return hidden @ self.embedding.weight.t()


def marian(size: Size) -> Callable[[Tensor, Tensor], Tensor]:
    """Hugging Face's Marian of a size, with torch's attention."""
    from transformers import MarianConfig, MarianMTModel

    shared = {"ffn_dim": size.options["feedforward_size"], "attention_heads": size.options["num_heads"]}
    shared |= {"layers": size.options["encoder_layers"]}
    options = {f"{side}_{name}": value for name, value in shared.items() for side in ("encoder", "decoder")}
    options |= dict.fromkeys(("dropout", "attention_dropout"), size.options["dropout"])
    options |= {"activation_function": "relu", "scale_embedding": True, "max_position_embeddings": 512}
    options |= {"vocab_size": size.vocabulary, "d_model": size.options["width"], "forced_eos_token_id": None}
    options["attn_implementation"] = "sdpa"
    options |= {"pad_token_id": PAD, "decoder_start_token_id": PAD, "eos_token_id": EOS}
    model = MarianMTModel(MarianConfig(**options))

    class Marian(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, source: Tensor, target: Tensor) -> Tensor:
            seen = source.ne(PAD).long()
            found = self.model(source, attention_mask=seen, decoder_input_ids=target, use_cache=False)
            return cast(Tensor, found.logits)

    return Marian()


PEERS = {"torch": TorchTransformer, "huggingface": marian}


def theirs(peer: str, size: Size, device: torch.device, precision: torch.dtype) -> Callable[[Batch], object]:
    """A step of another toolkit's Transformer: forward under autocast, backward, clip, fused Adam."""
    torch.manual_seed(1)
    model = cast(nn.Module, PEERS[peer](size)).to(device).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, fused=True)

    def step(batch: Batch) -> None:
        batch = batch.to(device)
        with torch.autocast(device.type, precision, enabled=precision != torch.float32):
            scores = model(batch.source, batch.target_in).flatten(0, 1)
            loss = cross_entropy(scores, batch.target_out.flatten(), ignore_index=PAD, label_smoothing=0.1)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    return step


def without_cudnn(step: Callable[[Batch], object]) -> Callable[[Batch], object]:
    """The step with the kernels of attention that ours choose from."""

    def chosen(batch: Batch) -> None:
        with sdpa_kernel(ON_A_GPU):
            step(batch)

    return chosen


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sizes", nargs="*", default=list(SIZES)[:3], choices=list(SIZES))
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--precision", nargs="+", default=["float32"], choices=["float32", "bfloat16"])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--batch-tokens", nargs="+", type=int, default=[4096])
    parser.add_argument("--lengths", nargs=2, type=int, default=(8, 20), metavar=("SHORTEST", "LONGEST"))
    parser.add_argument("--compile", action="store_true", help="also time Transformers with compiled layers")
    parser.add_argument("--beside", nargs="+", default=[], choices=list(PEERS), help="other Transformers")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--steps", type=int, default=6, help="timed together")
    options = parser.parse_args()
    device = find_device(options.device)
    use_runtime(device, options.threads)
    limits = {name: ceiling(device, getattr(torch, name)) for name in options.precision}
    for name, limit in limits.items():
        print(f"{device}, torch {torch.__version__}: a product in {name} reaches {limit / 1e9:,.0f} GFLOP/s")
    for name in options.sizes:
        for batch_tokens in options.batch_tokens:
            report(name, batch_tokens, device, limits, options)


def report(
    name: str, batch_tokens: int, device: torch.device, limits: dict[str, float], options: argparse.Namespace
) -> None:
    """Time the variants of one model by turns, and print a line for every variant."""

    seeds = count(1)  # every variant has batches of its own: a GPU plans a product once for every shape

    def fresh(precision: str) -> Training:
        kind = getattr(torch, precision)
        return training(SIZES[name], device, kind, batch_tokens, tuple(options.lengths), next(seeds))

    trial = fresh(options.precision[0])
    work = flop(trial, next(batches(trial.stream)))
    choices = (False, True) if options.compile and "transformer" in name else (False,)
    variants: list[tuple[str, BatchStream, Callable[[Batch], object]]] = []
    for precision in options.precision:
        for compiled in choices:
            run, title = fresh(precision), f"{precision}, {'compiled' if compiled else 'eager'}"
            variants.append((title, run.stream, ours(run, compiled=compiled)))
        for peer in options.beside if "transformer" in name else ():
            step, title = theirs(peer, SIZES[name], device, getattr(torch, precision)), f"{precision}, {peer}"
            variants.append((title, reseeded(trial.stream, next(seeds)), step))
            if device.type == "cuda":
                title, step = f"{title} without cuDNN's attention", without_cudnn(step)
                variants.append((title, reseeded(trial.stream, next(seeds)), step))
    found = [Timed(title, stream, device, step) for title, stream, step in variants]
    for _ in range(options.rounds):
        for timed_model in found:
            timed_model.steps(options.steps)
    for timed_model in found:
        speed = median(timed_model.speeds[1:])  # the first warmed up
        precision = timed_model.title.split(",")[0]
        print(
            f"{name}, {batch_tokens} tokens a batch, {timed_model.title}: {speed:,.0f} target tokens/s, "
            f"{work / 1e6:.1f} MFLOP a token, {speed * work / 1e9:,.0f} GFLOP/s, "
            f"{100 * speed * work / limits[precision]:.0f} % of the product's; "
            f"first steps {timed_model.first_steps:.0f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
