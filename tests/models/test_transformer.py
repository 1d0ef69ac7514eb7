"""The Transformer against torch's own layers, which are an independent implementation."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tests.tiny_models import SELF_ATTENTIVE, attention, padded, random_sources, random_targets
from translate.models import Transformer
from translate.models.transformer_layer import Layer

WIDTH, HEADS = 12, 3


def build(**options: Any) -> Transformer:
    torch.manual_seed(1)
    model = Transformer(
        19, 19, attention("multi_head", num_heads=HEADS), **{**SELF_ATTENTIVE, "num_heads": HEADS, **options}
    )
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)
    return model.double().eval()


def copy_attention(ours: Any, theirs: Any) -> None:
    theirs.in_proj_weight.copy_(torch.cat([ours.query_projection.weight, ours.key_value_projection.weight]))
    theirs.in_proj_bias.copy_(torch.cat([ours.query_projection.bias, ours.key_value_projection.bias]))
    theirs.out_proj.load_state_dict(ours.output_projection.state_dict())


def torch_layer(ours: Layer, activation: str) -> nn.Module:
    kind = nn.TransformerEncoderLayer if ours.cross_attention is None else nn.TransformerDecoderLayer
    theirs = (
        kind(WIDTH, HEADS, 17, 0.0, activation, batch_first=True, norm_first=ours.pre_norm).double().eval()
    )
    copy_attention(ours.self_attention, theirs.self_attn)
    theirs.linear1.load_state_dict(ours.feedforward.inner.state_dict())
    theirs.linear2.load_state_dict(ours.feedforward.outer.state_dict())
    norms = [ours.self_norm, ours.feedforward_norm]
    if ours.cross_attention is not None:
        copy_attention(ours.cross_attention, theirs.multihead_attn)
        norms.insert(1, ours.cross_norm)
    for number, norm in enumerate(norms, 1):
        getattr(theirs, f"norm{number}").load_state_dict(norm.state_dict())
    return theirs


def embed(model: Transformer, ids: Tensor, table: nn.Embedding) -> Tensor:
    added = model.source_positions.table[: ids.shape[1]] if model.source_positions.kind == "learned" else 0.0
    return table(ids) * WIDTH**0.5 + added


@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("pre_norm", [True, False])
@torch.no_grad()
def test_layers_equal_torch(pre_norm: bool, activation: str) -> None:
    model = build(pre_norm=pre_norm, feedforward=activation, positions="none")
    sources = random_sources([5, 3, 7])
    source, mask = padded(sources)
    targets = random_targets(3, 6, vocabulary=19)
    states = embed(model, source, model.source_embedding)
    for layer in model.encoder:
        states = torch_layer(layer, activation)(states, src_key_padding_mask=~mask)
    memory = model.encoder_norm(states)
    future = torch.ones(6, 6, dtype=torch.bool).triu(1)
    states, weights = embed(model, targets, model.target_embedding), []
    for layer in model.decoder:
        theirs = torch_layer(layer, activation)
        # Torch throws the weights away; they are those of the query after the self-attention part.
        seen: list[Tensor] = []
        theirs.multihead_attn.register_forward_pre_hook(lambda _, given, seen=seen: seen.append(given[0]))
        states = theirs(states, memory, tgt_mask=future, memory_key_padding_mask=~mask)
        _, found = theirs.multihead_attn(
            seen[0], memory, memory, key_padding_mask=~mask, average_attn_weights=False
        )
        weights.append(found)
    torch.testing.assert_close(model(source, mask, targets), model.decoder_norm(states), rtol=0, atol=1e-10)
    forced = model.forced_weights(source, mask, targets, range(3))
    for ours, expected in zip(forced, weights, strict=True):
        torch.testing.assert_close(ours, expected.float(), rtol=0, atol=1e-6)


@torch.no_grad()
def test_swiglu_and_root_mean_square_norm() -> None:
    model = build(norm="rms", feedforward="swiglu")
    part, norm = model.encoder[0].feedforward, model.encoder[0].self_norm
    x = torch.randn(2, 5, WIDTH, dtype=torch.float64)
    gate, value = (part.inner(x)[..., :17], part.inner(x)[..., 17:])
    expected = (gate / (1 + torch.exp(-gate)) * value) @ part.outer.weight.T + part.outer.bias
    torch.testing.assert_close(part(x), expected)
    mean_square = x.pow(2).mean(-1, keepdim=True)
    torch.testing.assert_close(norm(x), x / mean_square.sqrt() * norm.weight, rtol=1e-6, atol=1e-6)


@torch.no_grad()
def test_a_sentence_longer_than_the_learned_positions_is_refused() -> None:
    model = build(positions="learned", max_length=4)
    source, target = torch.tensor([[4, 5, 6, 3]]), random_targets(1, 5, vocabulary=19)
    assert model(source, None, target[:, :4]).shape == (1, 4, WIDTH)
    with pytest.raises(ValueError, match=r"5 pieces are more than max_length=4"):
        model(source, None, target)
    with pytest.raises(ValueError, match="max_length=4"):
        model(target, None, target[:, :4])


@pytest.mark.parametrize("options", [{"norm": "batch"}, {"feedforward": "tanh"}, {"positions": "absolute"}])
def test_impossible_options_are_refused(options: dict[str, str]) -> None:
    ((name, value),) = options.items()
    with pytest.raises(ValueError, match=f"{name}: expected one of .*, got '{value}'"):
        build(**options)
