"""Two directions: agreement compared with plain loops, and the planted heads found."""

from dataclasses import replace

import numpy as np
import pytest

from translate.alignment.alignment import AlignmentChoice
from translate.alignment.calibrate import THRESHOLDS, Direction, calibrate_directions, cross_agreement
from translate.alignment.evidence import PairWords
from translate.alignment.pairs import EncodedPair
from translate.errors import UserError
from translate.text.tokenizer import EOS


def _pairs(count, seed=0, *, untranslated=False):
    """Words and their translations in another order, with the same ids; the last word may have none."""
    rng = np.random.default_rng(seed)
    forward, backward = [], []
    for _ in range(count):
        length = int(rng.integers(3, 9))
        words = rng.choice(50, length, replace=False).tolist()
        order = rng.permutation(length).tolist()
        source, target = [10 + w for w in words], [10 + words[i] for i in order]
        if untranslated:
            source, target = [*source, 60], [*target, 61]
            words, length = [*words, 50], length + 1
        pieces = list(range(length))
        names = [f"s{w}" for w in source], [f"t{w}" for w in target]
        forward.append(EncodedPair([*source, EOS], target, [*pieces, -1], pieces, *names))
        backward.append(EncodedPair([*target, EOS], source, [*pieces, -1], pieces, names[1], names[0]))
    return forward, backward


def _attend(planted):
    """The planted (layer, head, shift) finds its word; every other head looks at its own position."""

    def attend(source_ids, target_in):
        S, T = len(source_ids), len(target_in)
        weights = np.full((2, 3, T, S), 0.01)
        predicted = [*target_in[1:], EOS]
        for t in range(T):
            weights[:, :, t, min(t, S - 2)] += 1
            layer, head, shift = planted
            piece = target_in[t] if shift else predicted[t]
            weights[layer, head, t] = 0.01
            weights[layer, head, t, source_ids.index(piece) if piece in source_ids else S - 1] += 1
        return weights

    return attend


@pytest.mark.parametrize(("there", "back"), [((0, 1, 0), (1, 2, 1)), ((1, 0, 1), (0, 0, 0))])
def test_the_planted_heads_agree_though_all_others_agree_on_the_diagonal(fake_model, there, back):
    forward, backward = _pairs(40)
    models = fake_model(_attend(there), 2, 3), fake_model(_attend(back), 2, 3)
    found = calibrate_directions(Direction(models[0], forward), Direction(models[1], backward))
    for (layer, head, shift), each in zip((there, back), found, strict=True):
        assert each.choice == AlignmentChoice(layer, (head,), shift)
        assert each.criterion == "directions"
        assert each.agreement == pytest.approx(1)
        assert len(each.table) == 2 * 4 * 2 + len(THRESHOLDS)
        assert each.to_dict()["choice"] == each.choice.to_dict()
        assert all(0 <= row["agreement"] <= 1 for row in each.to_dict()["table"])
    fixed = calibrate_directions(
        Direction(models[0], forward, layer=there[0], shift=there[2]), Direction(models[1], backward)
    )[0]
    assert fixed.choice == found[0].choice
    assert len(fixed.table) == 4 + len(THRESHOLDS)


def test_words_without_a_translation_are_left_out_by_a_threshold(fake_model):
    forward, backward = _pairs(40, untranslated=True)
    models = fake_model(_attend((0, 1, 0)), 2, 3), fake_model(_attend((1, 2, 0)), 2, 3)
    directions = Direction(models[0], forward), Direction(models[1], backward)
    found = calibrate_directions(*directions)
    # Weights of such a word are equal: a quarter in the shortest sentences. Others are above 0.9.
    assert [each.choice.threshold for each in found] == [0.3, 0.3]
    words = sum(len(pair.source_words) for pair in forward)
    for each, planted in zip(found, (AlignmentChoice(0, (1,), 0), AlignmentChoice(1, (2,), 0))):
        assert replace(each.choice, threshold=0.0) == planted
        expected = 2 * (words - 40) / (words - 40 + words)  # of 40 words the other direction links any word
        assert each.agreement == pytest.approx(expected)
    given = calibrate_directions(directions[0]._replace(threshold=0.1), directions[1])
    assert [each.choice.threshold for each in given] == [0.1, 0.3]
    largest = calibrate_directions(directions[0]._replace(threshold=0.0), directions[1])[0]
    assert largest.choice.threshold == 0
    assert len(largest.table) == 2 * 4 * 2


def test_cross_agreement_equals_loops():
    forward, backward = _pairs(7, seed=3)
    rng = np.random.default_rng(1)
    words = PairWords.of(forward), PairWords.of(backward)
    links = []
    for sides, count in zip((forward, backward), (3, 2)):
        columns = [rng.integers(-1, len(p.source_words), (count, len(p.target_words))) for p in sides]
        links.append(np.concatenate(columns, axis=1))
    found = cross_agreement(links[0], links[1], *words)
    for f in range(3):
        for k in range(2):
            there, back = set(), set()
            for number in range(7):
                for t, s in enumerate(links[0][f, words[0].offsets[number] : words[0].offsets[number + 1]]):
                    if s >= 0:
                        there.add((number, s, t))
                for s, t in enumerate(links[1][k, words[1].offsets[number] : words[1].offsets[number + 1]]):
                    if t >= 0:
                        back.add((number, s, t))
            assert found[f, k] == pytest.approx(2 * len(there & back) / (len(there) + len(back)))


def test_pairs_must_be_the_same(fake_model):
    forward, backward = _pairs(3)
    model = fake_model(_attend((0, 0, 0)), 2, 3)
    with pytest.raises(UserError, match="no sentence pairs"):
        calibrate_directions(Direction(model, []), Direction(model, []))
    with pytest.raises(UserError, match="got 3 pairs for one and 2 for the other"):
        calibrate_directions(Direction(model, forward), Direction(model, backward[:2]))
    with pytest.raises(UserError, match="the words of pair 1 differ"):
        calibrate_directions(Direction(model, forward), Direction(model, backward[::-1]))
