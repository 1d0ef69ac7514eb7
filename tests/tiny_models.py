"""Small models of every backend and option, with fixed weights; odd sizes, so that a swapped axis shows."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from translate.attention import Attention, create
from translate.models import BahdanauRNN, LuongRNN, SelfEncoder, Seq2Seq, Transformer

SOURCE_VOCABULARY, TARGET_VOCABULARY = 19, 23
RECURRENT = {"embedding_size": 5, "encoder_size": 7, "decoder_size": 11, "dropout": 0.3, "tie": "target"}
SELF_ATTENTIVE = {
    **{"width": 12, "feedforward_size": 17, "num_heads": 2, "encoder_layers": 2, "decoder_layers": 3},
    **{"dropout": 0.3, "feedforward_dropout": 0.1, "tie": "all"},
}


def attention(name: str, **options: Any) -> Callable[..., Attention]:
    return lambda query_size, key_size, **more: create(
        name, query_size=query_size, key_size=key_size, **options, **more
    )


def _case(
    kind: type[Seq2Seq], sizes: dict[str, Any], mechanism: Callable[[int, int], Attention], **options: Any
) -> Callable[..., Seq2Seq]:
    settings = {**sizes, **options}

    def build(
        source_vocabulary: int = SOURCE_VOCABULARY, target_vocabulary: int = TARGET_VOCABULARY
    ) -> Seq2Seq:
        if settings.get("tie") == "all":
            source_vocabulary = target_vocabulary
        return kind(source_vocabulary, target_vocabulary, mechanism, **settings)  # type: ignore[call-arg]

    return build


_bahdanau = partial(_case, BahdanauRNN, RECURRENT)
_luong = partial(_case, LuongRNN, RECURRENT)
_transformer = partial(_case, Transformer, SELF_ATTENTIVE)
_three_heads = attention("multi_head", num_heads=3)


def _both(name: str, **options: Any) -> Callable[..., Seq2Seq]:
    """A Transformer that attends by one mechanism to the source and within each side."""
    mechanism = attention(name, **options)
    return _transformer(mechanism, self_attention=mechanism)


def _encoder(name: str) -> Callable[..., SelfEncoder]:
    return partial(SelfEncoder, attention=attention(name))


# Each backend's main branches; `make test-fast` leaves out the tests of the other cases.
CORE = {
    *("bahdanau", "bahdanau-heads", "bahdanau-hierarchical", "luong", "luong-plain-deep", "luong-local-p"),
    *("transformer", "transformer-post", "transformer-relative"),
}
CASES: dict[str, Callable[..., Seq2Seq]] = {
    "bahdanau": _bahdanau(attention("additive", attention_size=13), tie="none"),
    "bahdanau-linear": _bahdanau(attention("additive"), readout="linear", tie="target"),
    "bahdanau-tied-deep": _bahdanau(attention("concat"), tie="all", encoder_layers=2),
    "bahdanau-word": _bahdanau(attention("additive", attention_size=13), word_in_query=True),
    "bahdanau-heads": _bahdanau(attention("multi_head", num_heads=3, attention_size=15)),
    "luong": _luong(attention("general"), tie="none"),
    "luong-plain": _luong(attention("general"), input_feeding=False, tie="target"),
    "luong-deep": _luong(attention("concat", attention_size=13), num_layers=2, tie="all"),
    "luong-plain-deep": _luong(attention("scaled_dot"), num_layers=3, input_feeding=False),
    "luong-gru": _luong(attention("general"), cell="gru", tie="none"),
    "luong-gru-plain": _luong(attention("general"), cell="gru", input_feeding=False, tie="target"),
    "luong-gru-deep": _luong(attention("concat", attention_size=13), cell="gru", num_layers=2, tie="all"),
    "luong-dot": _luong(attention("dot"), decoder_size=14),
    "transformer": _transformer(_three_heads),
    "transformer-post": _transformer(_three_heads, pre_norm=False, tie="none"),
    "transformer-rms": _transformer(_three_heads, norm="rms", feedforward="swiglu", tie="target"),
    "transformer-rotary": _transformer(_three_heads, positions="rotary", feedforward="gelu"),
    "transformer-learned": _transformer(_three_heads, positions="learned", max_length=64),
    "transformer-unplaced": _transformer(_three_heads, positions="none"),
    "transformer-additive": _transformer(attention("additive", attention_size=13)),
    "transformer-one-layer": _transformer(attention("scaled_dot", attention_size=7), decoder_layers=1),
    "transformer-coverage": _transformer(attention("coverage")),
    "transformer-positional": _transformer(attention("positional", max_length=4)),
    "transformer-grouped": _both("grouped_query", num_heads=6, num_key_value_heads=3),
    "transformer-window": _both("sliding_window", num_heads=3, window=2),
    "transformer-alibi": _both("alibi", num_heads=3),
    "transformer-relative": _both("relative_bias", num_heads=3, num_buckets=4, max_distance=5),
    "transformer-linear": _both("linear", num_heads=3),
    "transformer-delta": _both("delta", num_heads=3),
    "bahdanau-coverage": _bahdanau(attention("coverage")),
    "bahdanau-hierarchical": _bahdanau(attention("hierarchical")),
    "transformer-hierarchical": _transformer(attention("hierarchical"), tie="target"),
    "bahdanau-self-qkv": _bahdanau(attention("additive"), encoder=_encoder("self_qkv"), encoder_layers=2),
    "luong-coverage": _luong(attention("coverage"), input_feeding=False),
    "luong-fully-connected": _luong(attention("fully_connected", max_length=6)),
    "luong-fully-connected-plain": _luong(attention("fully_connected", max_length=6), input_feeding=False),
    "luong-local-m": _luong(attention("local_m", window=2)),
    "luong-local-p": _luong(attention("local_p", window=3)),
    "luong-factorized": _luong(attention("factorized_positional", max_length=4, rank=2), input_feeding=False),
    "luong-self-dot": _luong(attention("general"), encoder=_encoder("self_dot")),
}
# Those whose rows of weights need not sum to 1.
UNNORMALISED = {"luong-local-p", "transformer-delta"}
BACKENDS = ["bahdanau", "luong", "transformer"]


def tiny_model(name: str, dtype: torch.dtype = torch.float64, *, seed: int = 1, **sizes: int) -> Seq2Seq:
    """A model in evaluation mode with random weights, biases included, and clear preferences."""
    torch.manual_seed(seed)
    model = CASES[name](**sizes)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)
    return model.to(dtype).eval()


def random_sources(lengths: list[int], seed: int = 2, vocabulary: int = SOURCE_VOCABULARY) -> list[list[int]]:
    """Sentences of the given lengths, which end in end of sentence (3)."""
    generator = torch.Generator().manual_seed(seed)
    words = [torch.randint(4, vocabulary, (n - 1,), generator=generator).tolist() for n in lengths]
    return [[*sentence, 3] for sentence in words]


def random_targets(count: int, length: int, seed: int = 3, vocabulary: int = TARGET_VOCABULARY) -> Tensor:
    """Decoder inputs (count, length) that begin with begin of sentence (2)."""
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(4, vocabulary, (count, length), generator=generator)
    ids[:, 0] = 2
    return ids


def padded(sentences: list[list[int]], extra: int = 0) -> tuple[Tensor, Tensor]:
    """Ids (B, S + extra) and mask; padded positions hold an ordinary word, which must not matter."""
    width = max(map(len, sentences)) + extra
    ids, mask = torch.full((len(sentences), width), 4), torch.zeros(len(sentences), width, dtype=torch.bool)
    for row, sentence in enumerate(sentences):
        ids[row, : len(sentence)] = torch.tensor(sentence)
        mask[row, : len(sentence)] = True
    return ids, mask
