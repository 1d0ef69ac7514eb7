from dataclasses import replace
from typing import Any

import pytest

from translate.config.training import AugmentConfig
from translate.corpora.augmentation.augmenter import Augmenter
from translate.corpora.augmentation.linked_pair import LinkedPair, text_of, tokens_of
from translate.text.words import split_words

LINES = [f"the {word} house stands near number {n} ." for n, word in enumerate(["old", "red", "tall"] * 50)]
EVERYTHING: dict[str, Any] = {
    "uppercase": 0.1, "titlecase": 0.1, "typos": 0.02, "merge": 0.2, "copies": 0.05, "placeholders": 0.2,
    "tags": 0.2, "terms": 0.2,
}  # fmt: skip


def read(place: int) -> LinkedPair:
    other = LINES[place].replace("the", "le")
    source, target = (tokens_of(text, split_words(text)) for text in (LINES[place], other))
    return LinkedPair(source, target, frozenset((n, n) for n in range(len(source))))


def drawn(config: dict[str, Any], key: list[int]) -> list[LinkedPair | None]:
    augmenter = Augmenter(AugmentConfig(**config))
    return [augmenter.pair(read, place, len(LINES), [*key, place]) for place in range(len(LINES))]


def test_the_same_key_draws_the_same_and_others_do_not() -> None:
    first, again, later = drawn(EVERYTHING, [1, 0]), drawn(EVERYTHING, [1, 0]), drawn(EVERYTHING, [1, 1])
    assert first == again
    assert first != later
    assert 0 < sum(pair is None for pair in first) < len(LINES)


def test_a_pair_is_drawn_alone() -> None:
    """What a pair becomes depends on no pair before it, so that any order and any process gives the same."""
    augmenter = Augmenter(replace(AugmentConfig(), **EVERYTHING))
    backwards = [augmenter.pair(read, p, len(LINES), [1, 0, p]) for p in reversed(range(len(LINES)))]
    assert backwards[::-1] == drawn(EVERYTHING, [1, 0])


@pytest.mark.parametrize("name", [name for name in EVERYTHING if name != "typos"])
def test_probabilities_are_shares(name: str) -> None:
    share = sum(pair is not None for pair in drawn({name: 0.3}, [5, 2])) / len(LINES)
    assert share == pytest.approx(0.3, abs=4 * (0.3 * 0.7 / len(LINES)) ** 0.5)
    assert drawn({name: 0.0}, [5, 2]) == [None] * len(LINES)
    everywhere = drawn({name: 1.0, "merge_words": 100}, [5, 2])
    assert sum(pair is not None for pair in everywhere) >= 0.9 * len(LINES)


def test_a_change_does_not_move_the_draws_of_another() -> None:
    alone = [pair is not None for pair in drawn({"copies": 0.3}, [5, 2])]
    both = drawn({"copies": 0.3, "merge": 0.5}, [5, 2])
    copied = [
        pair is not None
        and pair.source == pair.target
        and not pair.links - {(n, n) for n in range(len(pair.source))}
        for pair in both
    ]
    assert [a for a, b in zip(alone, copied, strict=True) if a and not b] == []


def test_merged_sides_have_a_longest_length() -> None:
    assert drawn({"merge": 1.0, "merge_words": 9}, [3]) == [None] * len(LINES)
    lengths = {len(pair.source) for pair in drawn({"merge": 1.0, "merge_words": 16}, [3]) if pair}
    assert lengths == {16}


def test_a_tokenizer_sees_what_will_occur() -> None:
    lines = Augmenter(AugmentConfig(tags=0.1, uppercase=0.1)).tokenizer_lines(LINES, 10**6)
    assert list(lines[: len(LINES)]) == LINES
    assert LINES[0].upper() in lines
    assert any("<b>" in line and "</b>" in line for line in lines)
    assert not any("{0}" in line for line in lines)
    assert Augmenter(AugmentConfig(merge=0.5, copies=0.5)).tokenizer_lines(LINES, 10**6) is LINES
    few = Augmenter(AugmentConfig(terms=0.1)).tokenizer_lines(LINES * 100, 10_000)
    assert len(few) < 2000


def test_white_space_alone_splits_where_gold_does() -> None:
    augmenter = Augmenter(AugmentConfig(tags=1.0), whitespace=True)
    assert [token.text for token in augmenter.tokens("je t' aime.")] == ["je", "t'", "aime."]
    pair = augmenter.pair(read, 0, len(LINES), [1])
    assert pair is not None
    text, _ = text_of(pair.source)
    assert all(mark in text.split() for mark in [token.text for token in pair.source if token.fixed])


def test_the_tag_of_a_corpus_stays_where_it_is() -> None:
    """A mixture writes the tag of each corpus before its sources."""

    def tagged(place: int) -> LinkedPair:
        source = augmenter.tokens(f"<law{place % 2}> {LINES[place]}")
        target = augmenter.tokens(LINES[place].replace("the", "le"))
        return LinkedPair(source, target, frozenset((n + 1, n) for n in range(len(target))))

    for changes in (EVERYTHING, {"copies": 1.0}, {"uppercase": 1.0}, {"merge": 1.0}, {"typos": 1.0}):
        augmenter = Augmenter(replace(AugmentConfig(), **changes))
        for place in range(len(LINES)):
            pair = augmenter.pair(tagged, place, len(LINES), [1, place])
            if pair is None:
                continue
            text = text_of(pair.source)[0]
            assert text.startswith(f"<law{place % 2}> ")
            assert text.count("<law") == 1
            assert not any(s == 0 for s, _ in pair.links)
            if "typos" not in changes and "terms" not in changes and "copies" not in changes:
                words = {pair.source[s].text.replace("the", "le").replace("THE", "LE") for s, _ in pair.links}
                assert words == {token.text for token in pair.target}
