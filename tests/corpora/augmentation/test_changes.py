"""Each change by hand, and for all of them: linked words that were, are linked still."""

from random import Random

import pytest

from translate.corpora.augmentation import changes
from translate.corpora.augmentation.linked_pair import LinkedPair, LinkedPhrase, phrase_at, text_of, tokens_of
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


def test_tokens_spell_the_text_and_know_their_places() -> None:
    for text in ("I see the old house.", "l'arbre, n'est-ce pas ?", "x", "東京 に"):
        tokens = tokens_of(text, split_words(text))
        found, words = text_of(tokens)
        assert found == text
        assert words == split_words(text)
    assert text_of(tokens_of("  two  words ", split_words("  two  words ")))[0] == "two  words"
    assert text_of(()) == ("", [])


def test_letters() -> None:
    assert texts(changes.upper(HOUSE)) == ("I SEE THE OLD HOUSE.", "JE VOIS LA VIEILLE MAISON.")
    assert texts(changes.title(HOUSE)) == ("I See The Old House.", "Je Vois La Vieille Maison.")
    assert texts(changes.upper(pair("street", "straße", "0-0"))) == ("STREET", "STRASSE")
    assert changes.upper(HOUSE).links == HOUSE.links


def test_a_merge_shifts_the_links_of_the_second_pair() -> None:
    both = changes.merged(HOUSE, CROSSED)
    assert texts(both) == (
        "I see the old house. the red car stops",
        "je vois la vieille maison. la voiture rouge s'arrête",
    )
    assert linked(both) == linked(HOUSE) | linked(CROSSED)
    assert both.links == HOUSE.links | {(s + 6, t + 6) for s, t in CROSSED.links}


def test_a_copy_is_linked_to_itself() -> None:
    copy = changes.copied(CROSSED)
    assert texts(copy) == ("la voiture rouge s'arrête",) * 2
    assert copy.links == {(n, n) for n in range(5)}


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
        changed = changes.placeholders(CROSSED, Random(seed))
        assert changed.links == CROSSED.links
        new = [(s, t) for s, t in changed.links if changed.source[s].fixed]
        assert len(new) in (1, 2)
        assert all(changed.source[s].text == changed.target[t].text for s, t in new)
        assert all(changed.source[s].text in changes.PLACEHOLDERS for s, _ in new)
        assert not any(s == 3 for s, _ in new)  # it is linked to two words
        assert len({changed.source[s].text for s, _ in new}) == len(new)
        seen |= {s for s, _ in new}
    assert seen == {0, 1, 2}


def test_tags_stand_around_a_phrase_and_its_translation() -> None:
    for seed in range(40):
        changed = changes.tags(CROSSED, Random(seed), spaced=False)
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
        spaced = texts(changes.tags(CROSSED, Random(seed), spaced=True))
        assert [" ".join(text.split()) for text in spaced] == list(spaced)
        assert len(spaced[0].split()) == len(text_of(CROSSED.source)[0].split()) + 2


def test_a_term_is_followed_by_its_translation() -> None:
    one = pair("the house .", "la maison .", "0-0 1-1 2-2")
    found = {texts(changes.terms(one, Random(seed))) for seed in range(40)}
    assert ("the house <term> maison </term> .", "la maison .") in found
    assert ("the house <term> la maison </term> .", "la maison .") in found
    assert {target for _, target in found} == {"la maison ."}
    for seed in range(40):
        changed = changes.terms(one, Random(seed))
        for s, token in enumerate(changed.source):
            if token.fixed and token.text.isalpha():
                targets = [t for source, t in changed.links if source == s]
                assert [changed.target[t].text for t in targets] == [token.text]
        assert linked(changed) >= linked(one)


def test_typing_errors_stay_in_long_source_words() -> None:
    one = pair("the house is there , 2024 x1y2", "la maison est là", "1-1")
    seen = set()
    for seed in range(60):
        changed = changes.typos(one, 1.0, Random(seed))
        assert (changed.target, changed.links) == (one.target, one.links)
        before, after = text_of(one.source)[0].split(), text_of(changed.source)[0].split()
        different = [b for b, a in zip(before, after, strict=True) if a != b]
        assert set(different) <= {"house", "there"}
        seen |= set(after)
        for word in ("house", "there"):
            mistyped = after[before.index(word)]
            assert abs(len(mistyped) - len(word)) <= 1
            assert sum(a != b for a, b in zip(sorted(mistyped), sorted(word), strict=False)) <= len(word)
    assert {"huose", "hous", "houuse"} & seen
    assert changes.typos(one, 0.0, Random(1)) == one


def test_what_is_fixed_stays() -> None:
    tagged = changes.tags(HOUSE, Random(3), spaced=False)
    loud = changes.upper(tagged)
    marks = [token.text for token in tagged.source if token.fixed]
    assert [token.text for token in loud.source if token.fixed] == marks
    assert all(mark.islower() for mark in marks)
    unlinked = LinkedPair(HOUSE.source, HOUSE.target)
    for change in (changes.placeholders, changes.terms):
        assert change(unlinked, Random(1)) == unlinked
    assert changes.tags(unlinked, Random(1), spaced=True) == unlinked
    assert changes.placeholders(LinkedPair((), ()), Random(1)) == LinkedPair((), ())
