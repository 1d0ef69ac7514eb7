"""Sentences that enter and leave a running batch at any step against each sentence searched alone."""

from collections.abc import Sequence
from itertools import product
from typing import Any

import pytest
import torch

from tests.one_batch import beam_search
from tests.search.test_beam import short_tempered
from tests.tiny_models import BACKENDS, CASES, RECURRENT, padded, random_sources, tiny_model
from translate.attention.additive import Additive
from translate.attention.functional import additive_scores
from translate.attention.memory import Memory
from translate.config.search import SearchConfig
from translate.models import BahdanauRNN, Seq2Seq
from translate.search.beam import Hypothesis
from translate.search.decoders import Record
from translate.search.running import RunningBatch
from translate.search.sampling import Draw
from translate.search.search_loop import Supply, search
from translate.search.sources import Reader, Request, SentenceGroup

LENGTHS = [[9, 8, 2, 1], [8, 7, 2, 2], [9, 6, 3, 1], [7, 5, 1, 1], [4, 4, 2, 1]]
# Short sources are done long before long ones.
LIMITS: dict[str, Any] = {"max_length_ratio": 1.0, "max_length_extra": 1}


@pytest.fixture
def entered(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """How many sentences ran and how many came, each time that some entered."""
    found: list[tuple[int, int]] = []
    enter = RunningBatch.enter

    def spy(running: RunningBatch, other: RunningBatch) -> None:
        before = len(running.live)
        enter(running, other)
        found.append((before, len(running.live) - before))

    monkeypatch.setattr(RunningBatch, "enter", spy)
    return found


def every_head(model: Seq2Seq) -> Record:
    return Record(0, range(model.num_attention_heads))


def together(
    models: Sequence[Seq2Seq],
    groups: Sequence[list[list[int]]],
    config: SearchConfig,
    requests: Sequence[Request] | None = None,
    record: Record | None = None,
    samples: int = 0,
    *,
    eager: bool = True,
) -> list[list[Hypothesis]]:
    """The hypotheses of all sentences, in their order."""

    def begin(number: int) -> SentenceGroup:
        source, mask = padded(groups[number])
        first = sum(map(len, groups[:number]))
        keys = range(first, first + len(source))
        chosen = [requests[key] if requests else Request() for key in keys]
        return SentenceGroup(keys, [Reader(model, source, mask) for model in models], chosen)

    policy = Draw(config, samples) if samples else None
    finished = search(Supply(range(len(groups))), begin, config, policy=policy, record=record, eager=eager)
    found = dict(finished)
    assert found.keys() == set(range(sum(map(len, groups))))
    return [found[key] for key in sorted(found)]


def same(found: Sequence[list[Hypothesis]], expected: Sequence[list[Hypothesis]]) -> None:
    for hypotheses, others in zip(found, expected, strict=True):
        assert [each.ids for each in hypotheses] == [each.ids for each in others]
        assert [each.score for each in hypotheses] == pytest.approx([each.score for each in others], rel=1e-9)
        for one, other in zip(hypotheses, others, strict=True):
            assert (one.weights is None) == (other.weights is None)
            if one.weights is not None:
                torch.testing.assert_close(one.weights, other.weights, rtol=0, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "beam_size", "eager"),
    [*((name, 3, True) for name in CASES), *product(BACKENDS, [1], [True, False])],
)
def test_entering_changes_nothing(
    name: str, beam_size: int, entered: list[tuple[int, int]], *, eager: bool
) -> None:
    config = SearchConfig(beam_size=beam_size, batch_size=6, **LIMITS)
    model = short_tempered(name) if beam_size > 1 else tiny_model(name)  # it may end at once, or at the limit
    groups = [random_sources(lengths, seed=seed) for seed, lengths in enumerate(LENGTHS)]
    found = together([model], groups, config, record=every_head(model), eager=eager)
    if eager or name == "transformer":
        assert any(running > 0 for running, _ in entered)
    sentences = [sentence for group in groups for sentence in group]
    same(
        found,
        [
            beam_search(model, torch.tensor([each]), None, config, record=every_head(model))[0]
            for each in sentences
        ],
    )
    for sentence, hypotheses in zip(sentences, found, strict=True):
        for each in hypotheses:
            assert each.weights.shape == (len(each.ids) + 1, model.num_attention_heads, len(sentence))


def test_prefixes_limits_and_repetitions_go_along(entered: list[tuple[int, int]]) -> None:
    model = short_tempered("transformer")
    groups = [random_sources(lengths, seed=seed) for seed, lengths in enumerate(LENGTHS)]
    sentences = [sentence for group in groups for sentence in group]
    config = SearchConfig(
        beam_size=2,
        batch_size=8,
        min_length_ratio=0.5,
        max_length_ratio=1.5,
        max_length_extra=3,
        no_repeat_ngram=2,
    )
    requests = [Request(prefix=[7, 5, 9, 6][: place % 5]) for place in range(len(sentences))]
    found = together([model], groups, config, requests)
    assert entered
    for sentence, request, hypotheses in zip(sentences, requests, found, strict=True):
        same([hypotheses], beam_search(model, torch.tensor([sentence]), None, config, requests=[request]))


@pytest.mark.slow
@pytest.mark.parametrize("name", BACKENDS)
def test_phrases_go_along(name: str, entered: list[tuple[int, int]]) -> None:
    model = short_tempered(name)
    groups = [random_sources(lengths, seed=seed) for seed, lengths in enumerate(LENGTHS)]
    sentences = [sentence for group in groups for sentence in group]
    phrases = [[], [[5]], [[6, 5], [8]], [[9, 7, 5]]]
    requests = [Request(phrases=phrases[(place // 4 + place) % 4]) for place in range(len(sentences))]
    config = SearchConfig(beam_size=4, batch_size=6, **LIMITS)
    found = together([model], groups, config, requests)
    assert entered
    for sentence, request, hypotheses in zip(sentences, requests, found, strict=True):
        same([hypotheses], beam_search(model, torch.tensor([sentence]), None, config, requests=[request]))
        for each in hypotheses:
            pieces = " ".join(map(str, each.ids))
            assert all(" ".join(map(str, phrase)) in pieces for phrase in request.phrases)


def test_a_closed_supply_ends_the_search() -> None:
    supply = Supply(range(3))

    def begin(number: int) -> SentenceGroup:
        supply.close()
        source, mask = padded(random_sources(LENGTHS[number]))
        return SentenceGroup(
            range(len(source)), [Reader(short_tempered("luong"), source, mask)], [Request()] * 4
        )

    config = SearchConfig(min_length_ratio=1)
    assert list(search(supply, begin, config)) == []


class Dropping(Supply[int]):
    """Drops each of the keys once it has made the given number of steps."""

    def __init__(self, items: int, steps: dict[int, int]) -> None:
        super().__init__(range(items))
        self.steps = steps
        self.seen: dict[int, list[int]] = {}  # rows of the batch after each step, for each key

    def after_step(self, running: RunningBatch) -> None:
        for _, sentence in running.live:
            self.seen.setdefault(sentence.key, []).append(len(running.live))
        running.drop([key for key, steps in self.steps.items() if len(self.seen.get(key, ())) >= steps])
        assert not {sentence.key for _, sentence in running.live} & {
            key for key, steps in self.steps.items() if len(self.seen.get(key, ())) >= steps
        }


@pytest.mark.parametrize("beam_size", [1, 3])
@pytest.mark.parametrize("name", BACKENDS)
def test_a_dropped_sentence_leaves_and_changes_no_other(
    name: str, beam_size: int, entered: list[tuple[int, int]]
) -> None:
    model = short_tempered(name)
    config = SearchConfig(
        beam_size=beam_size, batch_size=4, max_length_ratio=1, max_length_extra=1, min_length_ratio=1
    )
    sentences = random_sources([9, 7, 6, 8, 5, 9, 4, 3])

    def begin(number: int) -> SentenceGroup:
        return SentenceGroup([number], [Reader(model, torch.tensor([sentences[number]]), None)], [Request()])

    supply = Dropping(len(sentences), {0: 1, 3: 3, 5: 2})
    found = dict(search(supply, begin, config, record=every_head(model), eager=True))
    assert found.keys() == {1, 2, 4, 6, 7}
    assert [len(supply.seen[key]) for key in (0, 3, 5)] == [1, 3, 2]
    assert entered  # others came into the free slots
    kept = sorted(found)
    same(
        [found[key] for key in kept],
        [
            beam_search(model, torch.tensor([sentences[key]]), None, config, record=every_head(model))[0]
            for key in kept
        ],
    )


@pytest.mark.parametrize("beam_size", [1, 5])
@pytest.mark.parametrize("name", BACKENDS)
def test_sentences_for_which_there_is_no_room_go_on_by_themselves(
    name: str, beam_size: int, entered: list[tuple[int, int]]
) -> None:
    model = tiny_model(name)
    groups = [random_sources([5] * size, seed=seed) for seed, size in enumerate((8, 9), 1)]
    config = SearchConfig(beam_size=beam_size, batch_size=9, max_length=6, min_length=6)
    found = together([model], groups, config)
    assert (8, 1) in entered
    sentences = [sentence for group in groups for sentence in group]
    same(found, [beam_search(model, torch.tensor([each]), None, config)[0] for each in sentences])


class Late(Supply):
    """The second group comes after some steps."""

    def __init__(self, steps: int) -> None:
        super().__init__(range(2))
        self.left = [0, steps]

    def take(self, *arguments: Any) -> Any:
        return super().take(*arguments) if self.left and self.left[0] <= 0 and [self.left.pop(0)] else None

    def after_step(self, running: RunningBatch) -> None:
        self.left = [steps - 1 for steps in self.left]


def test_free_slots_do_not_run_past_learned_positions() -> None:
    model = short_tempered("transformer-learned")
    groups = [random_sources([5], seed=1), random_sources([5] * 10, seed=2)]
    most = model.max_target_length
    assert most is not None
    config = SearchConfig(beam_size=2, max_length=most, min_length=most, max_length_ratio=most)

    def begin(number: int) -> SentenceGroup:
        keys = [(number, place) for place in range(len(groups[number]))]
        return SentenceGroup(
            keys, [Reader(model, torch.tensor(groups[number]), None)], [Request()] * len(keys)
        )

    found = dict(search(Late(5), begin, config, eager=True))
    for (number, place), hypotheses in found.items():
        source = torch.tensor([groups[number][place]])
        same([hypotheses], beam_search(model, source, None, config))
    assert len(found) == 11


class PlainCoverage(Additive):
    """Coverage without fertility, Tu et al. 2016: the state has a number for each position of the source."""

    stateful = True

    def initial_state(self, memory: Memory) -> torch.Tensor:
        return memory.keys.new_zeros(memory.keys.shape[0], memory.keys.shape[2])

    def advance(self, state: Any, weights: torch.Tensor | None) -> Any:
        assert weights is not None
        return state + weights.flatten(0, 2).to(state.dtype)

    def scores(self, query: torch.Tensor, memory: Memory, state: Any = None) -> torch.Tensor:
        keys = memory.keys.squeeze(1)
        covered = keys.unsqueeze(1) + state.unflatten(0, (len(keys), -1)).unsqueeze(-1)
        return additive_scores(self.query_projection(query), covered, self.direction).unsqueeze(1)


def test_a_state_of_every_source_position_goes_along_with_any_memory() -> None:
    torch.manual_seed(1)
    model = BahdanauRNN(19, 23, PlainCoverage, **RECURRENT).double().eval()
    groups = [random_sources([3] * 8, seed=1), random_sources([3, 9], seed=2)]
    config = SearchConfig(beam_size=2, batch_size=9, max_length=8, min_length=8)
    sentences = [sentence for group in groups for sentence in group]
    same(
        together([model], groups, config),
        [beam_search(model, torch.tensor([each]), None, config)[0] for each in sentences],
    )
