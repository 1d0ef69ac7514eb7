"""Attention, norm, gradient and erasure against plain loops, on every backend and mechanism."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from tests.tiny_models import BACKENDS, RECURRENT, SELF_ATTENTIVE, attention, tiny_model
from translate.alignment.alignment import AlignmentChoice
from translate.alignment.methods import METHODS, align
from translate.alignment.pairs import EncodedPair
from translate.attention import names
from translate.errors import UserError
from translate.models import BahdanauRNN, LuongRNN, Seq2Seq, Transformer
from translate.text.tokenizer import BOS, EOS

# Lengths are different primes, a word has two pieces on either side, and one piece covers two words.
PAIRS = [
    EncodedPair([5, 9, 7, EOS], [11, 4], [0, 0, 1, -1], [0, 1], ["a", "b"], ["x", "y"]),
    EncodedPair(
        [6, 8, 5, 10, 7, EOS],
        [12, 4, 9],
        [0, 1, 1, 2, 4, -1],
        [0, 0, 1],
        ["a", "b", "c", "d", "e"],
        ["x", "y"],
        source_further=[(3, 3)],
    ),
]
ALL = AlignmentChoice(0, (0,), 0)


def log_probabilities(model: Seq2Seq, source: list[int], target: list[int], embed: Any = None) -> list[float]:
    """Of each target piece, one sentence at a time."""
    ids = torch.tensor([source])
    embedded = model.embed_source(ids)
    if embed is not None:
        embedded = embed(embedded)
    with torch.no_grad():
        hidden = model.read_target(model.encode_embedded(embedded, None), torch.tensor([[BOS, *target]]))
        scores = torch.log_softmax(model.logits(hidden), dim=-1)[0]
    return [scores[position, piece].item() for position, piece in enumerate(target)]


def normalised(rows: np.ndarray) -> np.ndarray:
    return np.array([row / row.sum() if row.sum() > 0 else row * 0 for row in rows])


def pieces_of(pair: EncodedPair, word: int) -> list[int]:
    own = [piece for piece, owner in enumerate(pair.source_piece_words) if owner == word]
    return own + [piece for piece, owner in pair.source_further if owner == word]


def pooled(pair: EncodedPair, pieces: np.ndarray) -> np.ndarray:
    """(target pieces, source pieces) to words; a piece of several words is shared equally."""
    words = np.zeros((len(pieces), len(pair.source_words)))
    for word in range(len(pair.source_words)):
        for piece in pieces_of(pair, word):
            sharing = sum(piece in pieces_of(pair, other) for other in range(len(pair.source_words)))
            words[:, word] += pieces[:, piece] / sharing
    words = normalised(words)
    found = [words[np.array(pair.target_piece_words) == t].mean(0) for t in range(len(pair.target_words))]
    return normalised(np.array(found))


@pytest.mark.parametrize("name", BACKENDS)
def test_gradient_is_the_slope_of_scaling_an_embedding(name: str) -> None:
    """x . dL/dx is how L changes as x is scaled, which central differences measure without any gradient."""
    model, step = tiny_model(name), 1e-5
    for pair, found in zip(PAIRS, align(model, PAIRS, ALL, method="gradient"), strict=True):
        slopes = np.zeros((len(pair.target_ids), len(pair.source_ids)))
        for piece in range(len(pair.source_ids)):

            def scale(embedded: torch.Tensor, factor: float, piece: int = piece) -> torch.Tensor:
                changed = embedded.clone()
                changed[:, piece] *= factor
                return changed

            up, down = (
                log_probabilities(model, [*pair.source_ids], [*pair.target_ids], lambda e, f=f: scale(e, f))
                for f in (1 + step, 1 - step)
            )
            slopes[:, piece] = np.abs(np.array(up) - np.array(down)) / (2 * step)
        np.testing.assert_allclose(found.weights, pooled(pair, slopes), atol=1e-5)


@pytest.mark.parametrize("name", BACKENDS)
def test_erasure_leaves_one_word_out_at_a_time(name: str) -> None:
    model = tiny_model(name)
    for pair, found in zip(PAIRS, align(model, PAIRS, ALL, method="erasure"), strict=True):
        whole = log_probabilities(model, [*pair.source_ids], [*pair.target_ids])
        drops = np.zeros((len(pair.target_words), len(pair.source_words)))
        for word in range(len(pair.source_words)):
            gone = pieces_of(pair, word)
            source = [piece_id for piece, piece_id in enumerate(pair.source_ids) if piece not in gone]
            without = log_probabilities(model, source, [*pair.target_ids])
            for target in range(len(pair.target_words)):
                pieces = [p for p, owner in enumerate(pair.target_piece_words) if owner == target]
                drops[target, word] = max(0.0, sum(whole[p] - without[p] for p in pieces))
        assert (drops == 0).any()  # something was clipped
        np.testing.assert_allclose(found.weights, normalised(drops), atol=1e-5)


@pytest.mark.parametrize("shift", [0, 1])
@pytest.mark.parametrize(("name", "heads"), [("bahdanau", (0,)), ("transformer", (0, 2))])
def test_norm_is_the_length_of_the_vector_added_to_the_context(
    name: str, heads: tuple[int, ...], shift: int
) -> None:
    model = tiny_model(name)
    choice = AlignmentChoice(0, heads, shift)
    for pair, found in zip(PAIRS, align(model, PAIRS, choice, method="norm"), strict=True):
        source, target = torch.tensor([[*pair.source_ids]]), torch.tensor([[BOS, *pair.target_ids]])
        with torch.no_grad():
            weights = model.forced_weights(source, None, target, [0])[0][0].double().numpy()  # (H, T, S)
            memory = model.encode(source, None).memories[0]
        values = memory.values[0].numpy()  # (H, S, E)
        if name == "transformer":
            matrix = model.source_attention(0).output_projection.weight.detach().numpy()  # (D, H E)
            width = values.shape[-1]
            values = np.stack(
                [v @ matrix[:, h * width : (h + 1) * width].T for h, v in enumerate(values)]
            )  # (H, S, D)
        sizes: np.ndarray = np.zeros(weights.shape[1:])
        for t in range(sizes.shape[0]):
            for s in range(sizes.shape[1]):
                sizes[t, s] = math.sqrt(
                    sum(x * x for x in sum(weights[h, t, s] * values[h, s] for h in heads))
                )
        rows = sizes[1:] if shift else sizes[:-1]
        np.testing.assert_allclose(found.weights, pooled(pair, rows), atol=1e-5)


def _model(backend: str, mechanism: str) -> Seq2Seq:
    torch.manual_seed(3)
    build: Callable[..., Any] = attention(mechanism)
    if backend == "transformer":
        options = SELF_ATTENTIVE | {"decoder_layers": 2, "encoder_layers": 1}
        return Transformer(23, 23, build, **options).eval()  # type: ignore[arg-type]
    kind = {"bahdanau": BahdanauRNN, "luong": LuongRNN}[backend]
    sizes = RECURRENT | {"decoder_size": 14, "encoder_size": 7}  # dot needs queries as wide as the states
    return kind(19, 23, build, **sizes).eval()  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", names())
@pytest.mark.parametrize("backend", ["bahdanau", "luong", "transformer"])
def test_every_mechanism_has_every_method(backend: str, mechanism: str) -> None:
    model = _model(backend, mechanism)
    choice = AlignmentChoice(model.num_attention_layers - 1, (model.num_attention_heads - 1,), 0)
    for method in METHODS:
        together = align(model, PAIRS, choice, method=method)
        # Of a random model, any word may be in the way, and the delta rule's features may be orthogonal. The
        # state of a fixed vector is that of the end of the sentence, which is no word.
        looked = any(each.weights.any() for each in together)
        assert looked or method == "erasure" or mechanism in ("delta", "fixed")
        for pair, found in zip(PAIRS, together, strict=True):
            sums = found.weights.sum(1)
            assert np.all(np.isclose(sums, 1, atol=1e-5) | (sums == 0))
            (alone,) = align(model, [pair], choice, method=method)
            np.testing.assert_allclose(alone.weights, found.weights, atol=1e-4)


def test_unknown_method_and_too_few_positions() -> None:
    model = tiny_model("transformer-learned")
    with pytest.raises(UserError, match="'atention' is not known; choose one of attention"):
        align(model, PAIRS, ALL, method="atention")
    long = EncodedPair([5] * 70, [5], [0] * 70, [0], ["a"], ["x"])
    with pytest.raises(UserError, match=r"pair 2: its source has 70 pieces, but .* has learned 64 positions"):
        align(model, [PAIRS[0], long], ALL)
    align(tiny_model("transformer"), [long], ALL)
    wide = EncodedPair([5] * 4_100, [5] * 4_100, [0] * 4_100, [0] * 4_100, ["a"], ["x"])
    with pytest.raises(UserError, match=r"pair 1: its sides have 4,100 and 4,101 pieces; .* 16,777,216"):
        align(tiny_model("transformer"), [wide], ALL)


def test_a_backend_without_its_mechanism_is_refused_for_norms() -> None:
    class Closed(BahdanauRNN):
        def source_attention(self, layer: int) -> Any:
            raise NotImplementedError

    model = Closed(19, 23, attention("additive"), **RECURRENT).eval()  # type: ignore[arg-type]
    with pytest.raises(UserError, match="method=norm: Closed has no source_attention"):
        align(model, PAIRS, ALL, method="norm")
    align(model, PAIRS, ALL, method="attention")
