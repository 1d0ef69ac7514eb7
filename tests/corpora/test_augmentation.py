"""Every change by hand, and for all of them: words that were linked stay linked; and how they are drawn."""

from dataclasses import replace
from random import Random
from typing import Any

import pytest

from translate.config.training import AugmentConfig
from translate.corpora import augmentation
from translate.corpora.augmentation import Augmenter, LinkedPair, LinkedPhrase, phrase_at, text_of, tokens_of
from translate.text.words import split_words


def pair(source: str, target: str, links: str) -> LinkedPair:
    first, second = (tokens_of(text, split_words(text)) for text in (source, target))
    numbers = [[int(end) for end in link.split("-")] for link in links.split()]
    return LinkedPair(first, second, frozenset((s, t) for s, t in numbers))


HOUSE = pair("I see the old house.", "je vois la vieille maison.", "0-0 1-1 2-2 3-3 4-4 5-5")
CROSSED = pair("the red car stops", "la voiture rouge s'arrête", "0-0 1-2 2-1 3-3 3-4")


def texts(one: LinkedPair) -> tuple[str, str]:
    return text_of(one.source)[0], text_of(one.target)[0]


def linked(one: LinkedPair) -> set[tuple[str, str]]:
    return {(one.source[s].text, one.target[t].text) for s, t in one.links}


def test_letters() -> None:
    assert texts(augmentation.upper(HOUSE)) == ("I SEE THE OLD HOUSE.", "JE VOIS LA VIEILLE MAISON.")
    assert texts(augmentation.title(HOUSE)) == ("I See The Old House.", "Je Vois La Vieille Maison.")
    assert texts(augmentation.title(pair("it's new", "l'eau est-elle", ""))) == ("It's New", "L'eau Est-elle")
    assert texts(augmentation.upper(pair("street", "straße", "0-0"))) == ("STREET", "STRASSE")
    assert augmentation.upper(HOUSE).links == HOUSE.links


def test_a_merge_shifts_the_links_of_the_second_pair() -> None:
    both = augmentation.merged(HOUSE, CROSSED)
    assert texts(both) == (
        "I see the old house. the red car stops",
        "je vois la vieille maison. la voiture rouge s'arrête",
    )
    assert linked(both) == linked(HOUSE) | linked(CROSSED)
    assert both.links == HOUSE.links | {(s + 6, t + 6) for s, t in CROSSED.links}


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ((0, 1), LinkedPhrase(0, 1, 0, 1)),
        ((1, 3), LinkedPhrase(1, 3, 1, 3)),
        ((1, 2), LinkedPhrase(1, 2, 2, 3)),
        ((0, 2), None),  # la ... rouge also covers voiture, which is car
        ((3, 4), LinkedPhrase(3, 4, 3, 5)),
    ],
)
def test_phrases_are_linked_to_each_other_alone(words: tuple[int, int], found: LinkedPhrase | None) -> None:
    assert phrase_at(CROSSED, *words) == found
    assert phrase_at(pair("a b", "c", "1-0"), 0, 1) is None


def test_placeholders_replace_words_that_are_linked_alone() -> None:
    seen = set()
    for seed in range(40):
        changed = augmentation.placeholders(CROSSED, Random(seed))
        assert changed.links == CROSSED.links
        new = [(s, t) for s, t in changed.links if changed.source[s].fixed]
        assert len(new) in (1, 2)
        assert all(changed.source[s].text == changed.target[t].text for s, t in new)
        assert all(changed.source[s].text in augmentation.PLACEHOLDERS for s, _ in new)
        assert not any(s == 3 for s, _ in new)  # it is linked to two words
        assert len({changed.source[s].text for s, _ in new}) == len(new)
        seen |= {s for s, _ in new}
    assert seen == {0, 1, 2}


def test_tags_stand_around_a_phrase_and_its_translation() -> None:
    for seed in range(40):
        changed = augmentation.tags(CROSSED, Random(seed), spaced=False)
        source, _ = texts(changed)
        assert linked(changed) >= linked(CROSSED)
        marks = linked(changed) - linked(CROSSED)
        assert len(marks) == 2
        assert all(s == t and s.startswith("<") for s, t in marks)
        inside = []
        for tokens in (changed.source, changed.target):
            begin, end = (n for n, token in enumerate(tokens) if token.fixed)
            inside.append(range(begin + 1, end))
        crossing = {(s, t) for s, t in changed.links if (s in inside[0]) != (t in inside[1])}
        assert crossing == set()
        assert ">" + source.split(">")[1].split("<")[0] + "<" in source  # no space inside the tags
        assert not source.split(">")[1].startswith(" ")
        spaced = texts(augmentation.tags(CROSSED, Random(seed), spaced=True))
        assert [" ".join(text.split()) for text in spaced] == list(spaced)
        assert len(spaced[0].split()) == len(text_of(CROSSED.source)[0].split()) + 2


def test_a_term_is_followed_by_its_translation() -> None:
    one = pair("the house .", "la maison .", "0-0 1-1 2-2")
    found = {texts(augmentation.terms(one, Random(seed))) for seed in range(40)}
    assert ("the house <term> maison </term> .", "la maison .") in found
    assert ("the house <term> la maison </term> .", "la maison .") in found
    assert {target for _, target in found} == {"la maison ."}
    for seed in range(40):
        changed = augmentation.terms(one, Random(seed))
        for s, token in enumerate(changed.source):
            if token.fixed and token.text.isalpha():
                targets = [t for source, t in changed.links if source == s]
                assert [changed.target[t].text for t in targets] == [token.text]
        assert linked(changed) >= linked(one)


def test_typing_errors_stay_in_long_source_words() -> None:
    one = pair("the house is there , 2024 x1y2", "la maison est là", "1-1")
    seen = set()
    for seed in range(60):
        changed = augmentation.typos(one, 1.0, Random(seed))
        assert (changed.target, changed.links) == (one.target, one.links)
        words = texts(changed)[0].split()
        assert words[0::2] == ["the", "is", ",", "x1y2"]
        seen.add(words[1])
    assert {"huose", "huse", "hoouse"} & seen


def test_what_is_fixed_stays() -> None:
    tagged = augmentation.tags(HOUSE, Random(3), spaced=False)
    loud = augmentation.upper(tagged)
    marks = [token.text for token in tagged.source if token.fixed]
    assert [token.text for token in loud.source if token.fixed] == marks
    assert all(mark.islower() for mark in marks)
    unlinked = LinkedPair(HOUSE.source, HOUSE.target)
    for change in (augmentation.placeholders, augmentation.terms):
        assert change(unlinked, Random(1)) == unlinked
    assert augmentation.tags(unlinked, Random(1), spaced=True) == unlinked
    assert augmentation.placeholders(LinkedPair((), ()), Random(1)) == LinkedPair((), ())


LINES = [f"the {word} house stands near number {n} ." for n, word in enumerate(["old", "red", "tall"] * 50)]
EVERYTHING: dict[str, Any] = {
    "uppercase": 0.1, "titlecase": 0.1, "typos": 0.02, "merge": 0.2, "placeholders": 0.2,
    "tags": 0.2, "terms": 0.2,
}  # fmt: skip


def read(place: int) -> LinkedPair:
    other = LINES[place].replace("the", "le")
    source, target = (tokens_of(text, split_words(text)) for text in (LINES[place], other))
    return LinkedPair(source, target, frozenset((n, n) for n in range(len(source))))


def test_markup_at_the_beginning_is_no_tag_of_a_corpus() -> None:
    augmenter = Augmenter(AugmentConfig(merge=1.0), tags=("<law>",))
    lines = ["<b> Hello </b> you", "good day"]
    pairs = [LinkedPair(augmenter.tokens(line), augmenter.tokens(line)) for line in lines]
    for place in range(2):
        merged = augmenter.pair(pairs.__getitem__, place, 2, [3, place])
        assert merged is not None
        source, target = texts(merged)
        assert source == target
        assert len(source) > len(lines[place])


def drawn(config: dict[str, Any], key: list[int]) -> list[LinkedPair | None]:
    augmenter = Augmenter(AugmentConfig(**config))
    return [augmenter.pair(read, place, len(LINES), [*key, place]) for place in range(len(LINES))]


def test_the_same_key_draws_the_same_and_others_do_not() -> None:
    first, again, later = drawn(EVERYTHING, [1, 0]), drawn(EVERYTHING, [1, 0]), drawn(EVERYTHING, [1, 1])
    assert first == again
    assert first != later
    assert 0 < sum(pair is None for pair in first) < len(LINES)


@pytest.mark.parametrize("name", [name for name in EVERYTHING if name != "typos"])
def test_probabilities_are_shares(name: str) -> None:
    share = sum(pair is not None for pair in drawn({name: 0.3}, [5, 2])) / len(LINES)
    assert share == pytest.approx(0.3, abs=4 * (0.3 * 0.7 / len(LINES)) ** 0.5)
    assert drawn({name: 0.0}, [5, 2]) == [None] * len(LINES)
    everywhere = drawn({name: 1.0}, [5, 2])
    assert sum(pair is not None for pair in everywhere) >= 0.9 * len(LINES)


def test_a_tokenizer_sees_what_will_occur() -> None:
    lines = Augmenter(AugmentConfig(tags=0.1, uppercase=0.1)).tokenizer_lines(LINES, 10**6)
    assert list(lines[: len(LINES)]) == LINES
    assert LINES[0].upper() in lines
    assert any("<b>" in line and "</b>" in line for line in lines)
    assert not any("{0}" in line for line in lines)
    assert Augmenter(AugmentConfig(merge=0.5)).tokenizer_lines(LINES, 10**6) is LINES
    few = Augmenter(AugmentConfig(terms=0.1)).tokenizer_lines(LINES * 100, 10_000)
    assert len(few) < 2000


@pytest.mark.parametrize("change", ["uppercase", "merge", "typos"])
@pytest.mark.parametrize("names", [("<law>", "<news>"), (">>fra<<", ">>oci<<")])
def test_the_tag_of_a_corpus_stays_where_it_is(change: str, names: tuple[str, str]) -> None:
    """A mixture writes the tag of a corpus before its sources; other pairs may be of another language."""
    probabilities: dict[str, Any] = {change: 1.0}
    augmenter = Augmenter(replace(AugmentConfig(), **probabilities), tags=names)

    def tagged(place: int) -> LinkedPair:
        source = augmenter.tokens(f"{names[place % 2]} {LINES[place]}")
        target = augmenter.tokens(LINES[place].replace("the", f"le{place % 2}"))
        return LinkedPair(source, target, frozenset((n + 1, n) for n in range(len(target))))

    found = {place: augmenter.pair(tagged, place, len(LINES), [1, place]) for place in range(20)}
    changed = {place: one for place, one in found.items() if one is not None}
    assert len(changed) > 5
    for place, one in changed.items():
        text, target = text_of(one.source)[0], text_of(one.target)[0]
        assert text.startswith(f"{names[place % 2]} ")
        assert text.count("<") == names[0].count("<")
        assert f"le{1 - place % 2}" not in target.lower()
        assert not any(s == 0 for s, _ in one.links)
