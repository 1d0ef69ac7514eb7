"""Limits, prefixes, phrases, repetitions and ensembles against plain loops."""

import itertools
import math
import re
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.one_batch import beam_search
from tests.search.test_beam import BOS, EOS, PAD, log_probabilities, rescore, short_tempered
from tests.tiny_models import BACKENDS, padded, random_sources
from translate.config.search import SearchConfig
from translate.models import Seq2Seq
from translate.search import beam
from translate.search.beam import Hypothesis, best_candidates
from translate.search.sampling import Draw
from translate.search.sources import Reader, Request

SHORT: dict[str, Any] = {"max_length_ratio": 0, "max_length_extra": 4}
WORDS = (1, 4, 5)  # of a vocabulary of 6


def found(
    model: Seq2Seq, sources: list[list[int]], requests: list[Request] | None = None, **options: float
) -> list[list[Hypothesis]]:
    source, mask = padded(sources)
    return beam_search(model, source, mask, SearchConfig(**options), requests=requests)  # type: ignore[arg-type]


def toy(name: str) -> tuple[Seq2Seq, list[list[int]], list[list[int]]]:
    """A model of 6 pieces, sources, and every translation of at most 3 pieces."""
    model = short_tempered(name, target_vocabulary=6)
    every = [list(pieces) for n in range(4) for pieces in itertools.product(WORDS, repeat=n)]
    return model, random_sources([4, 2], vocabulary=6), every


def has(pieces: list[int], phrase: list[int]) -> bool:
    return any(pieces[i : i + len(phrase)] == phrase for i in range(len(pieces)))


def side_by_side(pieces: list[int], phrases: list[list[int]]) -> bool:
    """Whether the phrases stand in the pieces, none sharing a piece with another."""
    if not phrases:
        return True
    first, *others = phrases
    for start in range(len(pieces) - len(first) + 1):
        end = start + len(first)
        taken = [*pieces[:start], *[-1] * len(first), *pieces[end:]]
        if pieces[start:end] == first and side_by_side(taken, others):
            return True
    return False


@pytest.mark.slow
@pytest.mark.parametrize("name", BACKENDS)
@torch.no_grad()
def test_a_wide_beam_finds_the_best_of_what_is_allowed(name: str) -> None:
    model, sources, every = toy(name)
    cases = [
        ({}, Request(prefix=[5, 4]), lambda p: p[:2] == [5, 4]),
        ({"min_length": 4}, Request(), lambda p: len(p) == 3),
        ({"max_length": 2}, Request(), lambda p: len(p) <= 1),
        ({"no_repeat_ngram": 1}, Request(), lambda p: len(set(p)) == len(p)),
        ({"no_repeat_ngram": 2}, Request(), lambda p: len(set(itertools.pairwise(p))) >= len(p) - 1),
    ]
    for options, request, allowed in cases:
        results = found(model, sources, [request] * 2, beam_size=len(every), **SHORT, **options)
        for source, hypotheses in zip(sources, results, strict=True):
            expected = [(rescore(model, source, p) / (len(p) + 1), p) for p in every if allowed(p)]
            expected.sort(reverse=True)
            assert [each.ids for each in hypotheses] == [p for _, p in expected]
            assert [each.score for each in hypotheses] == pytest.approx([score for score, _ in expected])


@pytest.mark.parametrize("phrases", [[[5]], [[4, 5]], [[5], [1]], [[4, 4], [5]], [[4], [4, 5]]])
@pytest.mark.parametrize("name", BACKENDS)
@torch.no_grad()
def test_phrases_appear_and_a_wide_beam_finds_the_best_translation_with_them(
    name: str, phrases: list[list[int]]
) -> None:
    model, sources, every = toy(name)
    requests = [Request(phrases=phrases), Request()]
    for width in (1, 2, 5):
        constrained, free = found(model, sources, requests, beam_size=width, **SHORT)
        assert constrained
        for hypothesis in constrained:
            assert all(has(hypothesis.ids, phrase) for phrase in phrases)
            exact = rescore(model, sources[0], hypothesis.ids)
            assert hypothesis.score * (len(hypothesis.ids) + 1) == pytest.approx(exact, abs=1e-9)
        assert [h.ids for h in free] == [
            h.ids for h in found(model, sources[1:], beam_size=width, **SHORT)[0]
        ] or width > 1
    if [4] in phrases:  # two phrases that begin alike: the search may take either for the other
        return
    wide = found(model, sources, requests, beam_size=3 * len(every), **SHORT)[0]
    allowed = [pieces for pieces in every if side_by_side(pieces, phrases)]
    best = max(allowed, key=lambda pieces: rescore(model, sources[0], pieces) / (len(pieces) + 1))
    assert wide[0].ids == best


@pytest.mark.parametrize(
    ("wishes", "inner", "initial", "allowed"),
    [
        ([[[4], [4, 5]]], (), 0, ".*4.*"),
        ([[[5, 4], [4, 4]]], (), 0, ".*(54|44).*"),
        ([[[4, 5], [4]], [[1], [5]]], (), 0, "(?=.*4)(?=.*1).*|.*45.*5.*|.*5.*4.*|.*445.*|.*415.*"),
        ([[[4], [4, 5]]], (4, 5), 0, "[^4]*45?(1.*)?"),  # 4 and 5 go on with a word: 45 is a longer form of 4
        ([[[4, 5], [4]]], (4, 5), 0, "[^4]*45?(1.*)?"),
        ([[[5], [4]]], (), 1, ".*5.*|4.*"),
        ([[[5], [1, 4], [4]]], (), 2, ".*5.*|14.*|4.*"),
    ],
)
@torch.no_grad()
def test_one_phrase_is_enough_for_a_wish(
    wishes: list[list[list[int]]], inner: tuple[int, ...], initial: int, allowed: str
) -> None:
    model, sources, every = toy("luong")
    phrases = [phrase for forms in wishes for phrase in forms]
    numbers = [number for number, forms in enumerate(wishes) for _ in forms]
    requests = [Request(phrases=phrases, wishes=numbers, inner=inner, initial=initial), Request()]
    fitting = [pieces for pieces in every if re.fullmatch(allowed, "".join(map(str, pieces)))]
    for width in (1, 2, 5, 3 * len(every)):
        constrained = found(model, sources, requests, beam_size=width, **SHORT)[0]
        assert constrained
        assert all(hypothesis.ids in fitting for hypothesis in constrained)
    best = max(fitting, key=lambda pieces: rescore(model, sources[0], pieces) / (len(pieces) + 1))
    assert constrained[0].ids == best


@torch.no_grad()
def test_phrases_need_no_more_room_than_they_take() -> None:
    model, sources, _ = toy("luong")
    request = Request(prefix=[4, 4], phrases=[[5, 5, 5], [1]])
    for hypothesis in found(model, sources, [request] * 2, beam_size=3, max_length=2)[0]:
        assert hypothesis.ids[:2] == [4, 4]
        assert has(hypothesis.ids, [5, 5, 5])
        assert has(hypothesis.ids, [1])


@torch.no_grad()
def test_a_forced_prefix_may_repeat_what_else_may_not() -> None:
    model, sources, _ = toy("luong")
    (hypotheses, _) = found(
        model, sources, [Request(prefix=[4, 4, 4]), Request()], beam_size=2, no_repeat_ngram=1, **SHORT
    )
    assert all(each.ids[:3] == [4, 4, 4] for each in hypotheses)


def mean_log_probabilities(models: list[Seq2Seq], source: list[int], pieces: list[int]) -> Tensor:
    rows = [log_probabilities(model, source, pieces).exp() for model in models]
    return (sum(rows) / len(rows)).log()  # type: ignore[union-attr]


@torch.no_grad()
def test_an_ensemble_of_different_backends_follows_the_mean_of_probabilities() -> None:
    models = [short_tempered(name, target_vocabulary=6) for name in BACKENDS]
    sources = random_sources([4, 2], vocabulary=6)
    source, mask = padded(sources)
    readers = [Reader(model, source, mask) for model in models[1:]]
    config = SearchConfig(beam_size=40, max_length_ratio=0, max_length_extra=4)
    results = beam_search(models[0], source, mask, config, others=readers)
    every = [list(pieces) for n in range(4) for pieces in itertools.product(WORDS, repeat=n)]
    for sentence, hypotheses in zip(sources, results, strict=True):
        expected = []
        for pieces in every:
            rows = mean_log_probabilities(models, sentence, pieces)
            total = sum(float(row[token]) for row, token in zip(rows, [*pieces, EOS], strict=True))
            expected.append((total / (len(pieces) + 1), pieces))
        expected.sort(reverse=True)
        assert [each.ids for each in hypotheses] == [pieces for _, pieces in expected]
        assert [each.score for each in hypotheses] == pytest.approx([score for score, _ in expected])


@pytest.mark.parametrize("penalty", [0.0, 0.6, 1.0])
def test_the_normalisations_are_those_of_the_papers(penalty: float) -> None:
    average = SearchConfig(length_penalty=penalty)
    gnmt = SearchConfig(length_penalty=penalty, length_normalisation="gnmt")
    assert average.normalise(-7.0, 11) == pytest.approx(-7.0 / 11**penalty)
    assert gnmt.normalise(-7.0, 11) == pytest.approx(-7.0 * 6**penalty / (5 + 11) ** penalty)


@pytest.mark.parametrize("vocabulary", [5003, 700])
@pytest.mark.parametrize("width", [1, 3])
@pytest.mark.parametrize("large", [1, 10**9], ids=["by groups", "at once"])
def test_the_best_candidates_are_those_of_a_full_sort(
    vocabulary: int, width: int, large: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(beam, "LARGE", large)
    torch.manual_seed(vocabulary)
    log_probabilities = torch.log_softmax(torch.randn(2 * width, vocabulary, dtype=torch.float64) * 3, 1)
    log_probabilities[:, 17:400] = -math.inf
    scores = torch.randn(2, width, dtype=torch.float64)
    scores[0, 1:] = -math.inf
    chosen = best_candidates(log_probabilities, scores, 2 * width)
    totals = (scores.unsqueeze(2) + log_probabilities.view(2, width, -1)).flatten(1)
    order = totals.argsort(1, descending=True)[:, : 2 * width]
    assert torch.equal(chosen.origins * vocabulary + chosen.tokens, order)
    assert torch.equal(chosen.scores, totals.gather(1, order))


def draws(name: str, sources: list[list[int]], count: int = 3, **options: float) -> list[list[Hypothesis]]:
    model = short_tempered(name)
    source, mask = padded(sources)
    config = SearchConfig(sample=True, max_length_ratio=1, max_length_extra=3, **options)  # type: ignore[arg-type]
    return beam_search(model, source, mask, config, policy=Draw(config, count))


@pytest.mark.parametrize("name", BACKENDS)
@torch.no_grad()
def test_samples_depend_on_seed_and_sentence_alone(name: str) -> None:
    sources = random_sources([5, 3, 7, 1])
    together = draws(name, sources, seed=4)
    alone = [draws(name, [source], seed=4)[0] for source in sources]
    assert [[h.ids for h in each] for each in together] == [[h.ids for h in each] for each in alone]
    reverse = draws(name, sources[::-1], seed=4)[::-1]
    assert [[h.ids for h in each] for each in reverse] == [[h.ids for h in each] for each in alone]
    more = draws(name, sources, 5, seed=4)
    assert [[h.ids for h in each[:3]] for each in more] == [[h.ids for h in each] for each in alone]
    other = draws(name, sources, seed=5)
    assert [[h.ids for h in each] for each in other] != [[h.ids for h in each] for each in alone]
    model = short_tempered(name)
    for source, samples in zip(sources, together, strict=True):
        for each in samples:
            exact = rescore(model, source, each.ids)
            assert each.score * (len(each.ids) + 1) == pytest.approx(exact, abs=1e-9)


@torch.no_grad()
def test_samples_have_the_probabilities_that_filters_leave() -> None:
    model = short_tempered("luong", target_vocabulary=9)
    source = random_sources([4], vocabulary=9)[0]
    row = log_probabilities(model, source, [])[0]
    row[[PAD, BOS]] = -math.inf
    for options in ({}, {"temperature": 0.5}, {"top_k": 3}, {"top_p": 0.7}, {"top_k": 5, "top_p": 0.6}):
        expected = torch.softmax(row / options.get("temperature", 1.0), 0)
        order = expected.argsort(descending=True)
        if "top_k" in options:
            expected[order[int(options["top_k"]) :]] = 0
            expected /= expected.sum()
        if "top_p" in options:
            before = expected[order].cumsum(0) - expected[order]
            expected[order[before >= options["top_p"]]] = 0
            expected /= expected.sum()
        config = SearchConfig(sample=True, seed=3, max_length=2, **options)  # type: ignore[arg-type]
        samples = beam_search(model, torch.tensor([source]), None, config, policy=Draw(config, 1500))[0]
        first = [each.ids[0] if each.ids else EOS for each in samples]
        share = torch.bincount(torch.tensor(first), minlength=9) / 1500
        assert float((share - expected).abs().max()) < 0.05
        assert not share[expected == 0].any()
