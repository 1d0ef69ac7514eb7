"""Terms of a glossary: found quickly, and the same as by looking for each."""

import random
import re

from translate.serve.glossaries import MOST_TERMS, Glossary

SIGNS = [
    "the",
    "dog",
    "dogs",
    "hot dog",
    "cat",
    "C++",
    "+",
    "e.g.",
    "'s",
    "d'",
    "São",
    "é",
    "x y z",
    "  ",
    "-",
]


def by_looking_for_each(entries: dict[str, str], sentence: str) -> list[str]:
    found, rest = [], sentence
    for term in sorted(entries, key=len, reverse=True):
        pattern = rf"(?<!\w){re.escape(term)}(?!\w)"
        if re.search(pattern, rest):
            rest = re.sub(pattern, "\0", rest)
            found.append(entries[term])
    return list(dict.fromkeys(found))[:MOST_TERMS]


def test_terms_are_those_that_stand_in_the_sentence_as_whole_words() -> None:
    entries = {"dog": "chien", "hot dog": "saucisse", "cat": "chat", "C++": "C++"}
    glossary = Glossary("a", "en", "fr", entries)
    assert glossary.terms("a hot dog and a cat") == ["saucisse", "chat"]
    assert glossary.terms("hot dogs, scat, C++ !") == ["C++"]
    assert glossary.terms("") == []


def test_any_terms_in_any_sentence() -> None:
    generator = random.Random(5)
    some = 0
    for _ in range(2_000):
        words = generator.choices(SIGNS, k=generator.randrange(1, 7))
        entries = {generator.choice(["", " "]).join(words[:2]) or "a": "1"}
        entries |= {each: str(number) for number, each in enumerate(generator.sample(SIGNS, 5))}
        sentence = generator.choice(["", " ", ", "]).join(generator.choices(SIGNS, k=6))
        expected = by_looking_for_each(entries, sentence)
        some += len(expected) > 1
        assert Glossary("a", "en", "fr", entries).terms(sentence) == expected
    assert some > 100
