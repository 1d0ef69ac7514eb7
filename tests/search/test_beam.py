"""Beam search against independent loops that know only teacher forcing."""

import itertools
import math
from functools import partial

import pytest
import torch
from torch import Tensor

from tests.one_batch import beam_search
from tests.tiny_models import BACKENDS, CASES, padded, random_sources, tiny_model
from translate.attention import MultiHead
from translate.config.search import SearchConfig
from translate.models import DecodeState, Encoded, Seq2Seq, Transformer
from translate.search.beam import Hypothesis

LENGTHS = [5, 3, 7, 1]
PAD, BOS, EOS = 0, 2, 3


def log_probabilities(model: Seq2Seq, source: list[int], pieces: list[int]) -> Tensor:
    """Of each next token after <s> and each of ``pieces``, by teacher forcing: (len(pieces) + 1, V)."""
    hidden = model(torch.tensor([source]), None, torch.tensor([[BOS, *pieces]]))
    return torch.log_softmax(model.logits(hidden)[0].double(), -1)


def rescore(model: Seq2Seq, source: list[int], pieces: list[int]) -> float:
    rows = log_probabilities(model, source, pieces)
    return sum(float(row[token]) for row, token in zip(rows, [*pieces, EOS], strict=True))


def greedy(model: Seq2Seq, source: list[int], max_length: int) -> list[int]:
    pieces: list[int] = []
    while len(pieces) + 1 < max_length:
        scores = log_probabilities(model, source, pieces)[-1]
        scores[[PAD, BOS]] = -math.inf
        best = int(scores.argmax())
        if best == EOS:
            break
        pieces.append(best)
    return pieces


def search(model: Seq2Seq, sources: list[list[int]], **options: float) -> list[list[Hypothesis]]:
    source, mask = padded(sources)
    return beam_search(model, source, mask, SearchConfig(**options))  # type: ignore[arg-type]


def short_tempered(name: str, dtype: torch.dtype = torch.float64, seed: int = 2, **sizes: int) -> Seq2Seq:
    """A model that is now sure to end and now sure not to, so that searches do not all run to the limit."""
    model = tiny_model(name, dtype, seed=seed, **sizes)
    with torch.no_grad():
        model.output_weight[EOS] *= 2 if model.output_bias is not None else 4
    return model


@pytest.mark.parametrize("name", CASES)
@torch.no_grad()
def test_a_beam_of_one_is_greedy_search(name: str) -> None:
    sources = random_sources(LENGTHS)
    model = short_tempered(name)
    found = search(model, sources, beam_size=1, max_length_ratio=1.5, max_length_extra=3)
    for source, hypotheses in zip(sources, found, strict=True):
        assert [each.ids for each in hypotheses] == [greedy(model, source, int(1.5 * len(source)) + 3)]


@pytest.mark.parametrize("penalty", [0.0, 1.0, 0.6])
@pytest.mark.parametrize("name", BACKENDS)
@torch.no_grad()
def test_a_beam_as_wide_as_all_sequences_is_exhaustive(name: str, penalty: float) -> None:
    vocabulary, max_length = 6, 4  # unknown (1), 4 and 5 go on; at most 3 of them
    model = short_tempered(name, target_vocabulary=vocabulary)
    sources = random_sources([4, 2], vocabulary=6)
    every = [list(pieces) for n in range(max_length) for pieces in itertools.product((1, 4, 5), repeat=n)]
    found = search(
        model, sources, beam_size=len(every), length_penalty=penalty, max_length_ratio=0, max_length_extra=4
    )
    for source, hypotheses in zip(sources, found, strict=True):
        expected = sorted(
            ((rescore(model, source, pieces) / (len(pieces) + 1) ** penalty, pieces) for pieces in every),
            reverse=True,
        )
        assert [each.ids for each in hypotheses] == [pieces for _, pieces in expected]
        assert [each.score for each in hypotheses] == pytest.approx(
            [score for score, _ in expected], abs=1e-9
        )


@pytest.mark.parametrize("name", CASES)
@torch.no_grad()
def test_scores_equal_rescoring_and_are_in_order(name: str) -> None:
    penalty = 0.7
    model = short_tempered(name, torch.float32)
    sources = random_sources(LENGTHS)
    found = search(
        model, sources, beam_size=4, length_penalty=penalty, max_length_ratio=1, max_length_extra=4
    )
    for source, hypotheses in zip(sources, found, strict=True):
        assert len(hypotheses) == 4
        assert len({tuple(each.ids) for each in hypotheses}) == 4
        scores = [each.score for each in hypotheses]
        assert scores == sorted(scores, reverse=True)
        for each in hypotheses:
            exact = rescore(model, source, each.ids)
            exact /= (len(each.ids) + 1) ** penalty
            assert each.score == pytest.approx(exact, abs=1e-5 * max(1.0, abs(exact)))
            assert len(each.ids) + 1 <= len(source) + 4
            assert not {PAD, BOS, EOS} & set(each.ids)


@pytest.mark.parametrize("name", BACKENDS)
@torch.no_grad()
def test_finished_sentences_leave_the_batch(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = short_tempered(name)
    sources = random_sources([9, 2, 5, 2, 13])
    sizes: list[int] = []
    step = type(model).step

    def spy(self: Seq2Seq, ids: Tensor, state: DecodeState, encoded: Encoded) -> tuple[Tensor, DecodeState]:
        assert len(ids) == encoded.batch_size * (len(ids) // encoded.batch_size)
        assert all(len(each) == len(ids) for each in state.tensors if isinstance(each, Tensor))
        sizes.append(encoded.batch_size)
        return step(self, ids, state, encoded)

    monkeypatch.setattr(type(model), "step", spy)
    found = search(model, sources, beam_size=1, max_length_ratio=1, max_length_extra=1)
    steps = [len(each[0].ids) + 1 for each in found]  # the end of sentence is a step, too
    assert sizes == [sum(n >= t for n in steps) for t in range(1, max(steps) + 1)]
    assert len(set(sizes)) > 1
    sizes.clear()
    search(model, sources, beam_size=3, max_length_ratio=1, max_length_extra=1)
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] == 5
    assert sizes[-1] < 5
    assert all(size <= sum(len(s) + 1 >= t for s in sources) for t, size in enumerate(sizes, 1))


@torch.no_grad()
def test_a_model_that_never_ends_is_ended_at_the_limit() -> None:
    model = tiny_model("luong")
    model.output_bias[EOS] -= 1000.0
    for beam_size in (1, 3):
        found = search(
            model, random_sources([4, 1]), beam_size=beam_size, max_length_ratio=1.5, max_length_extra=2
        )
        assert [[len(each.ids) + 1 for each in hypotheses] for hypotheses in found] == [
            [8] * beam_size,
            [3] * beam_size,
        ]


def test_learned_positions_bound_the_length() -> None:
    torch.manual_seed(5)
    attention = partial(MultiHead, num_heads=1)
    model = Transformer(
        11, 11, attention, width=6, feedforward_size=6, num_heads=1, positions="learned", max_length=5
    )
    model.eval()
    source = torch.tensor([[4, 5, 6, 3]])
    found = beam_search(model, source, None, SearchConfig(beam_size=3, max_length_extra=40))
    assert all(len(hypothesis.ids) <= 4 for hypothesis in found[0])  # and the end of sentence
