from dataclasses import replace

import numpy as np
import pytest

from translate.alignment.alignment import AlignmentChoice
from translate.alignment.calibrate import THRESHOLDS, Calibration, calibrate, estimated_golds
from translate.alignment.methods import align
from translate.alignment.pairs import EncodedPair
from translate.config.settings import AlignmentConfig
from translate.corpora.images.patches import Image
from translate.errors import UserError
from translate.grammar.generator import generate
from translate.links.links import Gold, parse_gold, score
from translate.runs.calibration import choice_lines
from translate.text.tokenizer import EOS


def _pairs(num_pairs, seed=0):
    """Sentences and their word-for-word translations in another order; the last word stays last."""
    rng = np.random.default_rng(seed)
    pairs, golds = [], []
    for _ in range(num_pairs):
        length = int(rng.integers(4, 10))
        chosen = rng.choice(60, length, replace=False)
        words = [*chosen.tolist(), 60]
        order = [*rng.permutation(length).tolist(), length]
        source, target = [f"s{word}" for word in words], [f"t{words[i]}" for i in order]
        ids = [10 + word for word in words]
        pieces = list(range(length + 1))
        pairs.append(EncodedPair([*ids, EOS], [ids[i] for i in order], [*pieces, -1], pieces, source, target))
        links = frozenset((source, target) for target, source in enumerate(order))
        golds.append(Gold(links, links))
    return pairs, golds


def _planted(planted, num_layers, num_heads, *, noise=0.1):
    """Attention that is right at the planted (layer, head, shift), and follows some habit elsewhere."""

    def attend(source_ids, target_in):
        S, T = len(source_ids), len(target_in)
        rng = np.random.default_rng(sum(source_ids) + 7 * target_in[-1])
        predicted = [*target_in[1:], EOS]
        weights = rng.random((num_layers, num_heads, T, S)) * noise
        for layer in range(num_layers):
            for head in range(num_heads):
                for t in range(T):
                    if (layer, head) == planted[:2]:
                        piece = target_in[t] if planted[2] else predicted[t]
                        position = source_ids.index(piece) if piece in source_ids else S - 1
                    else:  # a sink on the last word, or the diagonal, or the diagonal behind
                        habits = (S - 2, min(t, S - 2), max(0, min(t - 1, S - 2)))
                        position = habits[(layer + head) % 3]
                    weights[layer, head, t, position] += 1
        return weights / weights.sum(-1, keepdims=True)

    return attend


PLANTS = [(0, 0, 0), (1, 2, 1), (2, 1, 0), (2, 0, 1)]


@pytest.mark.parametrize("planted", PLANTS)
def test_gold_finds_the_planted_head(fake_model, planted):
    pairs, golds = _pairs(40)
    model = fake_model(_planted(planted, 3, 5), 3, 5)
    result = calibrate(model, pairs, golds, batch_size=16)
    layer, head, shift = planted
    assert replace(result.choice, threshold=0.0) == AlignmentChoice(layer, (head,), shift)
    assert result.criterion == "aer"
    assert result.aer < 0.05
    assert len({row.choice for row in result.table}) == len(result.table) == 3 * 6 * 2 + len(THRESHOLDS)


def test_table_equals_align_and_score(fake_model):
    pairs, golds = _pairs(11)
    golds = [Gold(frozenset(list(gold.sure)[::2]), gold.possible) for gold in golds]
    model = fake_model(_planted((1, 0, 1), 2, 2, noise=1.5), 2, 2)
    result = calibrate(model, pairs, golds, batch_size=4)
    for row in result.table:
        links = [alignment.links() for alignment in align(model, pairs, row.choice)]
        assert row.aer == pytest.approx(score(links, golds).aer)
    assert result.aer == min(row.aer for row in result.table if row.aer is not None)


@pytest.mark.parametrize("planted", PLANTS)
def test_estimated_links_find_the_planted_head(fake_model, planted):
    pairs, _ = _pairs(40)
    result = calibrate(fake_model(_planted(planted, 3, 5), 3, 5), pairs)
    layer, head, shift = planted
    assert replace(result.choice, threshold=0.0) == AlignmentChoice(layer, (head,), shift)
    assert (result.criterion, result.aer) == ("aligner", None)
    assert result.agreement == pytest.approx(max(row.agreement or 0 for row in result.table))


@pytest.mark.parametrize("language", ["fr", "sov"])
def test_without_gold_the_choice_is_nearly_as_good_as_with_it(fake_model, language):
    """Attention to the gold links of an embedded corpus in one head, and to positions in the others."""
    examples = generate(0, 100, 0, target=language)["validation"]
    golds = [parse_gold(example.gold, where="x") for example in examples]
    pairs = []
    for number, example in enumerate(examples, 1):
        source, target = example.source.split(), example.target.split()
        ids = [1000 * number + place for place in range(len(source))]
        words = list(range(len(source))), list(range(len(target)))
        pairs.append(EncodedPair([*ids, EOS], [7] * len(target), [*words[0], -1], words[1], source, target))

    def attend(source_ids, target_in):
        S, T = len(source_ids), len(target_in)
        weights = np.full((2, 3, T, S), 0.1)
        weights[:, :, range(T), [min(t, S - 2) for t in range(T)]] += 1
        weights[1, 2] = 0.1
        for source, target in golds[source_ids[0] // 1000 - 1].sure:
            weights[1, 2, target, source] += 1
        return weights / weights.sum(-1, keepdims=True)

    model = fake_model(attend, 2, 3)
    known, estimated = calibrate(model, pairs, golds), calibrate(model, pairs)
    assert (estimated.choice.layer, estimated.choice.heads, estimated.choice.shift) == (1, (2,), 0)
    found = score([each.links() for each in align(model, pairs, estimated.choice)], golds)
    largest = score([each.links(0) for each in align(model, pairs, estimated.choice)], golds)
    assert known.aer <= found.aer <= known.aer + 0.01
    assert found.aer < 0.5 * largest.aer


def test_too_few_estimated_links_decide_nothing(fake_model):
    pairs, _ = _pairs(3)
    model = fake_model(_planted((0, 2, 1), 3, 5), 3, 5)
    result = calibrate(model, pairs)
    assert result == Calibration(AlignmentChoice(1, (0, 1, 2, 3, 4), 0), "default", None, None, ())
    assert calibrate(
        model, pairs, wanted=AlignmentConfig(layer=2, heads=[3], threshold=0.2)
    ).choice == AlignmentChoice(2, (3,), 0, 0.2)
    assert any(
        "too few links in dev to choose by" in line
        for line in choice_lines({**result.to_dict(), "split": "dev"})
    )


@pytest.mark.parametrize("shift", [0, 1])
def test_one_layer_and_head_needs_only_the_shift(fake_model, shift):
    pairs, _ = _pairs(60)
    result = calibrate(
        fake_model(_planted((0, 0, shift), 1, 1), 1, 1), pairs, wanted=AlignmentConfig(threshold=0)
    )
    assert result.choice == AlignmentChoice(0, (0,), shift)
    assert len(result.table) == 2


def test_sides_without_words_change_nothing(fake_model):
    pairs, golds = _pairs(10)
    nothing = Gold(frozenset(), frozenset())
    empty = [
        EncodedPair([EOS], [11], [-1], [0], [], ["t1"]),
        EncodedPair([11, EOS], [], [0, -1], [], ["s1"], []),
    ]
    model = fake_model(_planted((1, 0, 1), 2, 2), 2, 2)
    alone = calibrate(model, pairs, golds)
    assert calibrate(model, [*empty, *pairs], [nothing, nothing, *golds]) == alone
    assert calibrate(model, empty).criterion == "default"


def test_gold_finds_words_with_two_links_and_with_none(fake_model):
    pair = EncodedPair(
        [11, 12, 13, EOS], [11, 12], [0, 1, 2, -1], [0, 1], ["police", "officer", "x"], ["p", "y"]
    )
    row = [[0.5, 0.4, 0.1, 0], [0.34, 0.33, 0.33, 0], [0, 0, 0, 1]]  # after the second word: the end
    model = fake_model(lambda source, target: np.array([[row]]), 1, 1)
    links = frozenset({(0, 0), (1, 0)})
    result = calibrate(model, [pair], [Gold(links, links)], wanted=AlignmentConfig(shift=0))
    assert (result.choice.threshold, result.aer) == (0.35, 0.0)  # the lowest of those without an error
    assert [each.links() for each in align(model, [pair], result.choice)] == [links]


def test_given_parts_are_not_searched(fake_model):
    pairs, golds = _pairs(20)
    model = fake_model(_planted((1, 2, 1), 3, 5), 3, 5)
    result = calibrate(model, pairs, golds, wanted=AlignmentConfig(layer=2))
    assert {row.choice.layer for row in result.table} == {2}
    assert len(result.table) == 6 * 2 + len(THRESHOLDS)
    everything = {row.choice: row.aer for row in calibrate(model, pairs, golds).table}
    tried = {row.choice: row.aer for row in result.table if row.choice.threshold == 0}
    assert tried.items() <= everything.items()
    only = calibrate(model, pairs, golds, wanted=AlignmentConfig(layer=1, heads=[2, 0], shift=1))
    assert replace(only.choice, threshold=0.0) == AlignmentChoice(1, (2, 0), 1)
    links = [alignment.links() for alignment in align(model, pairs, only.choice)]
    assert only.aer == pytest.approx(score(links, golds).aer)
    assert calibrate(model, pairs, wanted=AlignmentConfig(heads=[4])).choice.heads == (4,)
    given = calibrate(model, pairs, golds, wanted=AlignmentConfig(threshold=0.2))
    assert given.choice.threshold == 0.2
    assert len(given.table) == 3 * 6 * 2 + 1
    largest = calibrate(model, pairs, golds, wanted=AlignmentConfig(threshold=0))
    assert largest.choice.threshold == 0
    assert len(largest.table) == 3 * 6 * 2
    assert calibrate(model, pairs, wanted=AlignmentConfig(threshold=0.2)).choice.threshold == 0.2
    with pytest.raises(UserError, match="layer 3 does not exist"):
        calibrate(model, pairs, wanted=AlignmentConfig(layer=3))
    with pytest.raises(UserError, match="heads"):
        calibrate(model, pairs, wanted=AlignmentConfig(heads=[]))


def test_wrong_input(fake_model):
    pairs, golds = _pairs(3)
    model = fake_model(_planted((0, 0, 0), 1, 1), 1, 1)
    with pytest.raises(UserError, match="no sentence pairs"):
        calibrate(model, [])
    with pytest.raises(UserError, match="2 lines of gold links for 3"):
        calibrate(model, pairs, golds[:2])
    outside = frozenset({(0, 99)})
    with pytest.raises(UserError, match=r"pair 2: the gold link 0-99 lies outside"):
        calibrate(model, pairs, [golds[0], Gold(outside, outside), golds[2]])


def test_words_are_not_linked_to_patches_of_pictures():
    pieces, picture = range(2), Image(np.zeros((4, 8, 3), np.uint8), 4)
    pairs = [
        EncodedPair(pieces, pieces, pieces, pieces, ["1,1", "1,2"], words)
        for words in (["a", "dog"], ["a", "cat"])
    ]
    assert len(estimated_golds(pairs)) == 2
    assert estimated_golds([replace(pair, picture=picture) for pair in pairs]) == []
