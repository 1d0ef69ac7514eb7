"""Terms of a glossary in sentences."""

import random
import re

import pytest

from translate.errors import UserError
from translate.text.glossary import MOST_TERMS, Terms, has_phrase, read_entries

WORDS = ["the", "dog", "dogs", "hot", "hot dog", "hot dog stand", "cat", "São", "C++"]


def test_terms_are_those_that_stand_in_the_sentence_as_whole_words() -> None:
    terms = Terms({"dog": "chien", "hot dog": "saucisse", "cat": "chat", "C++": "C++"})
    assert terms.of("a hot dog and a cat") == ["saucisse", "chat"]
    assert terms.of("hot dogs, scat, C++ !") == ["C++"]
    assert terms.of("") == []


def test_a_term_in_small_letters_stands_for_its_other_forms() -> None:
    terms = Terms({"patent act": "loi sur les brevets", "act": "loi", "Bill": "projet"})
    assert terms.of("The Patent Act and this Act.") == ["loi sur les brevets", "loi"]
    assert terms.of("PATENT ACT") == ["loi sur les brevets"]
    assert terms.of("The bill, BILL and Bill") == ["projet"]


@pytest.mark.parametrize(
    ("phrase", "text", "expected"),
    [
        ("команда", "вилучено з команди.", True),
        ("налаштування", "Змінити Налаштування", False),  # a capital inside a sentence is another word
        ("налаштування", "Налаштування мови", True),
        ("clé|clef", "la clef USB", True),
        ("clé|clef", "la clefs", True),
        ("clé", "les clés", False),  # of few letters, so that clé is not taken for clou
        ("code source", "des codes sources", True),
        ("code source", "source du code", False),
        ("Benutzer", "die Benutzeroberfläche", False),
        ("Rad", "Radio", False),
        ("C++", "in C", False),
        ("C++", "in C++.", True),
        ("Datei", "", False),
    ],
)
def test_a_phrase_stands_in_a_translation_in_words_that_may_inflect(
    phrase: str, text: str, expected: bool
) -> None:
    assert has_phrase(text, phrase) is expected


def test_terms_are_found_in_any_form_of_the_text_but_not_in_tags() -> None:
    terms = Terms(read_entries("cafe\u0301\tbar\nnew york\tNY", "tsv"))
    assert terms.of("the caf\u00e9 of New\u00a0\u00a0York") == ["bar", "NY"]
    assert terms.of('<caf\u00e9> <a href="new york">a</a>') == []
    assert terms.of("https://a.b/caf\u00e9 {caf\u00e9} %(caf\u00e9)s {caf\u00e9_a}") == []


@pytest.mark.parametrize(("form", "mark"), [("tsv", "\t"), ("csv", ",")])
def test_a_wrong_line_is_named_by_its_number_in_the_text(form: str, mark: str) -> None:
    assert read_entries(f"\n\ndog{mark}chien\n", form) == {"dog": "chien"}
    with pytest.raises(UserError, match="entries: line 4: expected a term and its "):
        read_entries(f"\n\ndog{mark}chien\ncat\n", form)


def test_a_glossary_of_omegat_begins_with_a_comment() -> None:
    text = "# Glossary in tab-separated format -*- coding: utf-8 -*-\nuser\tNutzer\n#1\tNr. 1\ta comment\n"
    assert read_entries(text, "tsv") == {"user": "Nutzer", "#1": "Nr. 1"}


@pytest.mark.parametrize("head", ["en;de", "English;German", "Source;Target"])
def test_a_spreadsheet_of_terms_may_have_semicolons_and_names_of_its_columns(head: str) -> None:
    assert read_entries(f'{head};comment\n"disk, hard";Festplatte;x\n', "csv") == {"disk, hard": "Festplatte"}
    assert read_entries("source;source\n", "csv") == {"source": "source"}


def test_the_longest_term_counts() -> None:
    """The oracle is one regular expression, with the longest terms first."""
    dice = random.Random(5)
    for _ in range(500):
        entries = {term: str(number) for number, term in enumerate(dice.sample(WORDS, 5))}
        sentence = dice.choice([" ", ", "]).join(dice.choices(WORDS, k=6))
        terms = "|".join(map(re.escape, sorted(entries, key=len, reverse=True)))
        found = re.findall(rf"(?<!\w)(?:{terms})(?!\w)", sentence)
        expected = list(dict.fromkeys(entries[term] for term in found))[:MOST_TERMS]
        assert Terms(entries).of(sentence) == expected
