"""Terms of a glossary in sentences."""

import random
import re

import pytest

from translate.serve.glossaries import MOST_TERMS, Glossary, read_entries
from translate.serve.web.requests import RefusalError

WORDS = ["the", "dog", "dogs", "hot", "hot dog", "hot dog stand", "cat", "São", "C++"]


def test_terms_are_those_that_stand_in_the_sentence_as_whole_words() -> None:
    glossary = Glossary("a", "en", "fr", {"dog": "chien", "hot dog": "saucisse", "cat": "chat", "C++": "C++"})
    assert glossary.terms("a hot dog and a cat") == ["saucisse", "chat"]
    assert glossary.terms("hot dogs, scat, C++ !") == ["C++"]
    assert glossary.terms("") == []


@pytest.mark.parametrize(("form", "mark"), [("tsv", "\t"), ("csv", ",")])
def test_a_wrong_line_is_named_by_its_number_in_the_text(form: str, mark: str) -> None:
    assert read_entries(f"\n\ndog{mark}chien\n", form) == {"dog": "chien"}
    with pytest.raises(RefusalError, match="entries: line 4: expected a term and its translation"):
        read_entries(f"\n\ndog{mark}chien\ncat\n", form)


def test_the_longest_term_counts() -> None:
    """The oracle is one regular expression, with the longest terms first."""
    dice = random.Random(5)
    for _ in range(500):
        entries = {term: str(number) for number, term in enumerate(dice.sample(WORDS, 5))}
        sentence = dice.choice([" ", ", "]).join(dice.choices(WORDS, k=6))
        terms = "|".join(map(re.escape, sorted(entries, key=len, reverse=True)))
        found = re.findall(rf"(?<!\w)(?:{terms})(?!\w)", sentence)
        expected = list(dict.fromkeys(entries[term] for term in found))[:MOST_TERMS]
        assert Glossary("a", "en", "fr", entries).terms(sentence) == expected
