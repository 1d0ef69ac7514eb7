"""Batches that go on together against each sentence searched alone."""

from collections.abc import Sequence
from typing import Any

import pytest
import torch

from tests.search.test_beam import short_tempered
from tests.tiny_models import CASES, padded, random_sources, tiny_model
from translate.attention import Memory
from translate.config.search import SearchConfig
from translate.models import Seq2Seq
from translate.search import Hypothesis, Reader, Request, Supply, beam_search, beam_searches
from translate.search.batch_search import BatchSearch

LENGTHS = [[9, 8, 2, 1], [8, 7, 2, 2], [9, 6, 3, 1], [7, 5, 1, 1], [4, 4, 2, 1]]
LIMITS: dict[str, Any] = {
    "max_length_ratio": 1.0,
    "max_length_extra": 1,
}  # short sources are done long before long ones


@pytest.fixture
def joins(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of sentences that have been joined."""
    found: list[int] = []
    join = BatchSearch.join

    def counted(search: BatchSearch, other: BatchSearch) -> None:
        found.append(other.num_live)
        join(search, other)

    monkeypatch.setattr(BatchSearch, "join", counted)
    return found


def together(
    model: Seq2Seq,
    batches: Sequence[list[list[int]]],
    config: SearchConfig,
    requests: Sequence[Request] | None = None,
    layer: int | None = None,
) -> list[list[Hypothesis]]:
    """The hypotheses of all sentences, in their order."""

    def begin(number: int) -> tuple[list[Reader], list[Request]]:
        source, mask = padded(batches[number])
        first = sum(map(len, batches[:number]))
        chosen = requests[first : first + len(source)] if requests else [Request()] * len(source)
        return [Reader(model, source, mask)], list(chosen)

    supply = Supply(range(len(batches)))
    with torch.no_grad():
        found = {each.item: each.hypotheses for each in beam_searches(supply, begin, config, layer)}
    assert found.keys() == set(range(len(batches)))
    return [hypotheses for number in range(len(batches)) for hypotheses in found[number]]


@pytest.mark.parametrize("beam_size", [1, 3])
@pytest.mark.parametrize("name", CASES)
def test_nothing_changes(name: str, beam_size: int, joins: list[int]) -> None:
    config = SearchConfig(beam_size=beam_size, batch_size=6, **LIMITS)
    model = short_tempered(name) if beam_size > 1 else tiny_model(name)  # it may end at once, or at the limit
    batches = [random_sources(lengths, seed=seed) for seed, lengths in enumerate(LENGTHS)]
    found = together(model, batches, config, layer=0)
    joinable = type(model.encode(*padded([[5, 3]])).memories[0]) is Memory
    assert bool(joins) == joinable
    for sentence, hypotheses in zip((each for batch in batches for each in batch), found, strict=True):
        (alone,) = beam_search(model, torch.tensor([sentence]), None, config, layer=0)
        assert [each.ids for each in hypotheses] == [each.ids for each in alone]
        for one, other in zip(hypotheses, alone, strict=True):
            assert one.score == pytest.approx(other.score, rel=1e-9)
            assert one.weights is not None
            assert other.weights is not None
            torch.testing.assert_close(one.weights[..., : len(sentence)], other.weights, rtol=0, atol=1e-9)
            assert not one.weights[..., len(sentence) :].any()


def test_prefixes_and_limits_go_along(joins: list[int]) -> None:
    model = short_tempered("transformer")
    batches = [random_sources(lengths, seed=seed) for seed, lengths in enumerate(LENGTHS)]
    sentences = [each for batch in batches for each in batch]
    config = SearchConfig(
        beam_size=2, batch_size=8, min_length_ratio=0.5, max_length_ratio=1.5, max_length_extra=3
    )
    requests = [Request(prefix=[7, 5, 9, 6][: place % 5]) for place in range(len(sentences))]
    found = together(model, batches, config, requests)
    assert joins
    for sentence, request, hypotheses in zip(sentences, requests, found, strict=True):
        (alone,) = beam_search(model, torch.tensor([sentence]), None, config, requests=[request])
        assert [each.ids for each in hypotheses] == [each.ids for each in alone]


def test_phrases_keep_a_batch_to_itself(joins: list[int]) -> None:
    model = short_tempered("luong")
    batches = [random_sources(lengths, seed=seed) for seed, lengths in enumerate(LENGTHS)]
    requests = [Request(phrases=[[5 + place % 3]]) for place in range(sum(map(len, batches)))]
    found = together(model, batches, SearchConfig(beam_size=4, batch_size=8, **LIMITS), requests)
    assert not joins
    for request, hypotheses in zip(requests, found, strict=True):
        assert all(request.phrases[0][0] in each.ids for each in hypotheses)


def test_what_is_closed_is_left() -> None:
    supply = Supply(range(3))

    def begin(number: int) -> tuple[list[Reader], list[Request]]:
        supply.close()
        source, mask = padded(random_sources(LENGTHS[number]))
        return [Reader(short_tempered("luong"), source, mask)], [Request()] * len(source)

    with torch.no_grad():
        assert list(beam_searches(supply, begin, SearchConfig(), None)) == []
