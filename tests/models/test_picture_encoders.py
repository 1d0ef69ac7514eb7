"""Encoders of pictures against plain loops in float64, permuted patches, and pictures of other sizes."""

import math
from functools import partial

import numpy as np
import pytest
import torch
from torch import Tensor

from translate.attention import mechanisms
from translate.corpora.batching import pad
from translate.corpora.images.patches import Image
from translate.models import (
    BahdanauRNN,
    ConvolutionalEncoder,
    EncoderSizes,
    LuongRNN,
    PatchEncoder,
    Transformer,
)

WIDTH, HIDDEN, PATCH = 12, 5, 4
BACKENDS = (BahdanauRNN, LuongRNN, Transformer)
ENCODERS = (PatchEncoder, ConvolutionalEncoder)


def picture(rows: int, columns: int, seed: int = 0) -> Image:
    pixels = np.random.default_rng(seed).integers(0, 256, (rows * PATCH, columns * PATCH, 3), dtype=np.uint8)
    return Image(pixels, PATCH)


def encoder(kind: type, gate: str = "none", **options) -> torch.nn.Module:
    torch.manual_seed(5)
    sizes = EncoderSizes(WIDTH, HIDDEN, 2, 0.0, "gru")
    return kind(sizes, patch_size=PATCH, num_heads=3, feedforward_size=7, gate=gate, **options).double()


def table(ids: Tensor) -> Tensor:
    """Embeddings of pieces that need no parameters."""
    return torch.sin(ids.double().unsqueeze(-1) * torch.arange(1, WIDTH + 1))


def wave(position: int, width: int) -> list[float]:
    half = (width + 1) // 2
    angles = [position * math.exp(-math.log(10_000) * i / max(1, half - 1)) for i in range(half)]
    return [*map(math.sin, angles), *map(math.cos, angles)][:width]


def pixels(image: Image) -> Tensor:
    return (torch.from_numpy(image.pixels).double() - 128) / 64  # (rows P, columns P, 3)


def loop_patches(model: PatchEncoder, image: Image) -> list[Tensor]:
    """E p of each patch."""
    rows = [row for band in pixels(image).split(PATCH) for row in band.split(PATCH, 1)]
    return [model.projection.weight @ patch.flatten() + model.projection.bias for patch in rows]


def loop_convolutions(model: ConvolutionalEncoder, image: Image) -> list[Tensor]:
    """Convolutions of stride 2 with the norm over channels and GELU, place by place."""
    maps, last = pixels(image), len(model.convolutions) - 1
    for index, (convolution, norm) in enumerate(zip(model.convolutions, model.channel_norms)):
        maps = loop_convolution(maps, convolution, norm, stride=2, before=int(index == last))
    near = loop_convolution(maps, model.neighbours, model.neighbour_norm, stride=1, before=1)
    return [*(maps + near).flatten(0, 1)]


def loop_convolution(maps: Tensor, convolution, norm, *, stride: int, before: int) -> Tensor:
    padded = torch.nn.functional.pad(maps, (0, 0, before, 2, before, 2))
    rows = []
    for y in range(0, len(maps), stride):
        for x in range(0, maps.shape[1], stride):
            field = padded[y : y + 3, x : x + 3]
            (value,) = loop_norm(
                [torch.einsum("yxc,dcyx->d", field, convolution.weight) + convolution.bias], norm
            )
            rows.append(value * 0.5 * (1 + torch.erf(value / math.sqrt(2))))
    return torch.stack(rows).unflatten(0, (len(maps) // stride, -1))


def loop_norm(states: list[Tensor], norm: torch.nn.LayerNorm) -> list[Tensor]:
    found = []
    for state in states:
        centred = state - state.sum() / len(state)
        found.append(
            centred / torch.sqrt((centred**2).sum() / len(state) + norm.eps) * norm.weight + norm.bias
        )
    return found


def loop_layer(states: list[Tensor], layer) -> list[Tensor]:
    """Self-attention position by position and head by head, then the feed-forward part."""
    own, normed = layer.self_attention, loop_norm(states, layer.self_norm)
    size = WIDTH // own.num_heads
    queries = [own.query_projection.weight @ x + own.query_projection.bias for x in normed]
    both = [own.key_value_projection.weight @ x + own.key_value_projection.bias for x in normed]
    result = []
    for state, query in zip(states, queries):
        heads = []
        for head in range(own.num_heads):
            part = slice(head * size, (head + 1) * size)
            scores = [(query[part] * each[:WIDTH][part]).sum() / math.sqrt(size) for each in both]
            powers = [torch.exp(score) for score in scores]
            heads.append(sum(p / sum(powers) * each[WIDTH:][part] for p, each in zip(powers, both)))
        joined = torch.cat(heads)
        result.append(state + own.output_projection.weight @ joined + own.output_projection.bias)
    feed = layer.feedforward
    for index, normed_state in enumerate(loop_norm(result, layer.feedforward_norm)):
        inner = feed.inner.weight @ normed_state + feed.inner.bias
        inner = inner * 0.5 * (1 + torch.erf(inner / math.sqrt(2)))
        result[index] = result[index] + feed.outer.weight @ inner + feed.outer.bias
    return result


def oracle(model, image: Image, ids: list[int], *, summary: bool = False) -> Tensor:
    """The states, or those whose mean is the summary."""
    patches = (loop_patches if isinstance(model, PatchEncoder) else loop_convolutions)(model, image)
    states = []
    for index, patch in enumerate(patches):
        row, column = divmod(index, image.columns)
        place = [*wave(row, WIDTH // 2), *wave(column, WIDTH - WIDTH // 2)]
        states.append(patch + torch.tensor(place, dtype=torch.float64))
    for number, each in enumerate(ids):
        states.append(table(torch.tensor(each)) + torch.tensor(wave(number, WIDTH), dtype=torch.float64))
    for layer in (*model.layers, *(model.summary_layers if summary else ())):
        states = loop_layer(states, layer)
    return torch.stack([model.output.weight @ x + model.output.bias for x in loop_norm(states, model.norm)])


def source(*pairs: tuple[Image | None, list[int]]) -> tuple[Tensor, Tensor | None]:
    return pad([[*(image.ids() if image else []), *ids] for image, ids in pairs])


def read(model, cells: Tensor, mask: Tensor | None = None) -> Tensor:
    return model(model.embed(cells, table), mask)[0]


@pytest.mark.parametrize("kind", ENCODERS)
def test_the_loops_agree_forward_and_backward(kind):
    model, image, ids = encoder(kind), picture(2, 3), [7, 9, 3]
    cells, _ = source((image, ids))
    found = []
    for function in (lambda: read(model, cells)[0], lambda: oracle(model, image, ids)):
        model.zero_grad()
        out = function()
        (out * torch.linspace(-1, 1, out.numel(), dtype=torch.float64).view_as(out)).sum().backward()
        found.append([out.detach(), *(parameter.grad.clone() for parameter in model.parameters())])
    for ours, wanted in zip(*found, strict=True):
        torch.testing.assert_close(ours, wanted, rtol=1e-5, atol=1e-6)  # positions are float32
    assert all(each.abs().sum() > 0 for each in found[0])


def test_only_the_summary_passes_the_summary_layers():
    image, ids = picture(2, 3), [7, 9, 3]
    model = encoder(ConvolutionalEncoder, mixing_layers=0, summary_layers=2)
    cells, mask = source((image, ids), (picture(1, 2), [3]))
    states, summary = model(model.embed(cells, table), mask)
    assert summary.shape == (2, 2, 2 * HIDDEN)
    torch.testing.assert_close(states[0], oracle(model, image, ids), rtol=1e-5, atol=1e-6)
    wanted = oracle(model, image, ids, summary=True).mean(0)
    torch.testing.assert_close(summary[0], wanted.expand(2, -1), rtol=1e-5, atol=1e-6)
    assert (wanted - states[0].mean(0)).abs().max() > 0.01
    small, alone = model(model.embed(cells[1:, :3], table), None)
    torch.testing.assert_close(summary[1:], alone)
    assert (states[1, 3:] == 0).all()
    assert small.shape[1] == 3


def test_a_transformer_has_no_use_for_summary_layers():
    build = partial(ConvolutionalEncoder, patch_size=PATCH, num_heads=2, summary_layers=1)
    with pytest.raises(ValueError, match="summary_layers: a Transformer's decoder starts from no summary"):
        Transformer(11, 11, mechanisms()["multi_head"], encoder=build, width=8, num_heads=2)


@pytest.mark.parametrize("gate", ["none", "channel", "spatial", "combined"])
@pytest.mark.parametrize("kind", ENCODERS)
def test_patches_may_stand_in_any_order_with_their_positions(kind, gate):
    model, cells = encoder(kind, gate), source((picture(3, 2), [7, 3]))[0]
    order = torch.tensor([4, 0, 5, 2, 1, 3, 6, 7])
    torch.testing.assert_close(read(model, cells[:, order]), read(model, cells)[:, order])


@pytest.mark.parametrize("gate", ["none", "channel", "spatial", "combined"])
@pytest.mark.parametrize("kind", ENCODERS)
def test_pictures_of_other_sizes_in_the_batch_change_nothing(kind, gate):
    model = encoder(kind, gate)
    small, large, text = (picture(2, 2, 1), [5, 3]), (picture(3, 4, 2), [3]), (None, [8, 6, 3])
    cells, mask = source(small, large, text)
    together = read(model, cells, mask)
    for row, each in enumerate((small, large)):
        alone = read(model, source(each)[0])[0]
        torch.testing.assert_close(together[row, : len(alone)], alone)
    alone = read(model, pad([text[1]])[0])[0]  # ids: no picture in the whole batch
    torch.testing.assert_close(together[2, :3], alone)


@pytest.mark.parametrize("kind", ENCODERS)
@pytest.mark.parametrize("backend", BACKENDS)
def test_every_backend_and_mechanism_reads_a_grid(backend, kind):
    def build(sizes):
        return kind(sizes, patch_size=PATCH, num_heads=2, feedforward_size=7, gate="combined")

    widths = (
        {"width": 8, "num_heads": 2, "encoder_layers": 1, "decoder_layers": 1, "feedforward_size": 7}
        if backend is Transformer
        else {"embedding_size": 8, "encoder_size": 4, "decoder_size": 8}
    )
    cells, mask = source((picture(2, 2), [5, 3]), (picture(1, 3), [3]), (None, [6, 3]))
    target = torch.tensor([[2, 6, 7], [2, 8, 0], [2, 9, 5]])
    for name, mechanism in mechanisms().items():
        if name in ("hierarchical",):  # reads sentences of pieces
            continue
        torch.manual_seed(1)
        model = backend(11, 11, mechanism, encoder=build, dropout=0.0, tie="none", **widths).eval()
        assert model.reads_pictures
        hidden, weights = model.forward_with_weights(cells, mask, target, 0)
        assert torch.isfinite(hidden).all()
        assert weights.shape[-1] == cells.shape[1]
        alone = model(cells[1:2, :4], None, target[1:2])
        torch.testing.assert_close(hidden[1:2], alone, rtol=1e-4, atol=1e-5, msg=name)


def test_a_patch_of_another_size_is_refused():
    cells = pad([Image(np.zeros((8, 8, 3), np.uint8), 8).ids()])[0]
    with pytest.raises(ValueError, match="patch_size: expected patches of 48 numbers, got 192"):
        encoder(PatchEncoder).embed(cells, table)


def test_convolutions_need_a_power_of_two():
    with pytest.raises(ValueError, match="expected a power of 2 for convolutions, got 12"):
        ConvolutionalEncoder(EncoderSizes(8, 4, 1, 0.0, "gru"), patch_size=12)
