"""CTranslate2 finds what our own search finds, and its attention is ours; the rest is left to torch."""

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.search.ctranslate2.conftest import Chosen
from translate.alignment.alignment import AlignmentChoice
from translate.errors import UserError
from translate.translation import Translation
from translate.translation_call import AT_LIMIT
from translate.translator import Translator

# Last bits may decide between two hypotheses of nearly equal scores.
MOST_DIFFERING = 0.02
# Each of T pieces rounds the sum of log-probabilities once, by up to 6e-8 of the sum: for the 70 pieces of
# the longest hypotheses here, by 4e-6 of it in each search. With a negative length penalty a score is the sum
# times a power of T, several hundred in all, so that no constant bounds what rounding makes of it.
ROUNDING = 1e-5


def compare(mine: list[Translation], others: list[Translation]) -> list[tuple[Translation, Translation]]:
    """The translations that are alike, after checking that nearly all are, and their scores."""
    pairs = list(zip(mine, others, strict=True))
    alike = [(one, other) for one, other in pairs if one.text == other.text]
    assert len(pairs) - len(alike) <= MOST_DIFFERING * len(pairs)
    for one, other in alike:
        assert one.score == pytest.approx(other.score, rel=ROUNDING, abs=1e-4)
    assert all(one.tokens == other.tokens for one, other in alike)
    return alike


def texts(translation: Translation) -> list[str]:
    return [each.text for each in translation.n_best]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("layer", "heads", "shift", "beam_size"),
    [(0, (0,), 0, 1), (1, (1,), 0, 3), (1, (1,), 1, 1), (0, (1,), 1, 3), (1, (0, 1), 0, 3)],
)
def test_texts_and_alignments_are_those_of_torch(
    ours: Translator,
    engine_of: Chosen,
    sentences: list[str],
    layer: int,
    heads: tuple[int, ...],
    shift: int,
    beam_size: int,
) -> None:
    choice = AlignmentChoice(layer, heads, shift)
    ours = replace(ours, choice=choice)
    theirs = replace(ours, engine=engine_of(ours), warnings=Counter())
    sources = [*sentences, "", "a"]
    found = theirs.translate(sources, beam_size=beam_size, alignments=True)
    alike = compare(ours.translate(sources, beam_size=beam_size, alignments=True), found)
    words = differing = 0
    for one, other in alike:
        assert one.alignment.source_words == other.alignment.source_words
        assert one.alignment.target_words == other.alignment.target_words
        np.testing.assert_allclose(one.alignment.weights, other.alignment.weights, atol=1e-3)
        words += len(one.alignment.target_words)
        differing += len({target for _, target in one.alignment.links() ^ other.alignment.links()})
    assert words > len(sentences)
    assert differing <= 0.01 * words
    assert sum(each.engine == "ctranslate2" for each in found) > 0.9 * len(found)
    assert [each.text for each in theirs.translate(sources, beam_size=beam_size)] == [
        each.text for each in found
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {"length_penalty": 0.0},
        {"length_penalty": 0.6},
        {"length_penalty": 2.5},
        {"max_length": 9},
        {"max_length_ratio": 0.5, "max_length_extra": 1},
    ],
    ids=str,
)
def test_the_options_of_the_search_mean_the_same(
    ours: Translator, engine_of: Chosen, sentences: list[str], options: dict[str, Any]
) -> None:
    theirs = replace(ours, engine=engine_of(ours), warnings=Counter())
    search = replace(ours.search, **options)
    wanted = ours.translate(sentences, search=search, n_best=search.beam_size)
    alike = compare(wanted, theirs.translate(sentences, search=search, n_best=search.beam_size))
    listed = [
        [each.text for each in one.n_best] == [each.text for each in other.n_best] for one, other in alike
    ]
    assert sum(listed) >= (1 - 2 * MOST_DIFFERING) * len(listed)
    if options != {"length_penalty": 0.6}:  # whose effect on a tiny model may be none
        plain = ours.translate(sentences, n_best=1)
        assert [each.text for each in plain] != [each.text for each in wanted] or "length_penalty" in options


@pytest.mark.slow
def test_another_choice_is_shown_by_torch_and_another_stop_is_refused(
    ours: Translator, engine_of: Chosen, sentences: list[str]
) -> None:
    """The model was converted with one head, and the beams end when they are full."""
    theirs = replace(ours, engine=engine_of(ours), warnings=Counter())
    other = replace(ours.choice, layer=1 - ours.choice.layer)
    ours.choice = theirs.choice = other
    found = theirs.translate(sentences, alignments=True)
    for one, another in compare(ours.translate(sentences, alignments=True), found):
        np.testing.assert_allclose(one.alignment.weights, another.alignment.weights, atol=1e-3)
    theirs.search = replace(theirs.search, stop="beaten")
    with pytest.raises(UserError, match="CTranslate2 cannot do this: stop"):
        theirs.translate(sentences)


@pytest.mark.slow
@pytest.mark.parametrize("batch_size", [128, 3])
def test_a_sentence_at_the_maximum_length_is_left_to_torch(
    ours: Translator, engine_of: Chosen, sentences: list[str], batch_size: int
) -> None:
    """Of many batches torch translates some before CTranslate2 is done with the last."""
    theirs = replace(ours, engine=engine_of(ours), warnings=Counter())
    search = replace(ours.search, max_length=3)
    found = theirs.translate(sentences, search=search, alignments=True, batch_size=batch_size)
    compare(ours.translate(sentences, search=search, alignments=True), found)
    left = sum(each.engine == "torch" for each in found)
    assert left > 0.5 * len(sentences)  # whose translations are longer
    assert theirs.warnings[AT_LIMIT] == left


@pytest.mark.slow
def test_markup_and_unknown_words_are_carried(ours: Translator, engine_of: Chosen) -> None:
    theirs = replace(ours, engine=engine_of(ours), warnings=Counter())
    sources = ["I <b>love</b> you .", "the {0} cats sleep .", "I love Zoë .", "she <i>eats</i> the {0} ."]
    sources += ["you see <b>the</b> dog .", "%s dances .", "the <i>old</i> man knows <b>her</b> ."]
    options: dict[str, Any] = {"markup": True, "replace_unknown": True, "n_best": 2}
    wanted, found = (each.translate(sources, **options) for each in (ours, theirs))
    assert [each.text for each in found] == [each.text for each in wanted]
    assert [[one.text for one in each.n_best] for each in found] == [
        [one.text for one in each.n_best] for each in wanted
    ]
    by_torch = [each.engine == "torch" for each in found]
    assert sum(by_torch) == theirs.warnings[AT_LIMIT] < len(found) / 2
