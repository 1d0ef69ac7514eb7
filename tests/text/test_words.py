import re
import unicodedata
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from translate.text.words import (
    FIRST_MARK,
    UNSPACED,
    Word,
    joined_words,
    split_words,
    tokenise,
    whitespace_words,
)

TABLE = {
    "": "",
    "   ": "",
    "I love you.": "I love you .",
    "je t'aime": "je t' aime",
    "l’homme": "l’ homme",
    "aujourd'hui": "aujourd'hui",
    "Aujourd’hui, oui": "Aujourd’hui , oui",
    "qu'aujourd'hui": "qu' aujourd'hui",
    "cherchez-le": "cherchez -le",
    "Donne-le-moi !": "Donne -le -moi !",
    "a-t-il": "a -t-il",
    "Vont-ELLES": "Vont -ELLES",
    "qu'est-ce que c'est": "qu' est -ce que c' est",
    "donne-m'en": "donne-m' en",
    "celui-là": "celui-là",  # là is not the pronoun la
    "porte-leurs": "porte-leurs",  # nor is leurs leur
    "vingt-et-un": "vingt-et-un",
    "peut-être": "peut-être",
    "T-shirt": "T-shirt",
    "3.14": "3.14",
    "Donau\xaddampf sink\xad.": "Donau\xaddampf sink\xad .",
    "日 Donau\xaddampf": "日 Donau\xaddampf",
    "3,14 à 20:15": "3,14 à 20:15",
    "1.234.567,89.": "1.234.567,89 .",
    "50% (ou $5)": "50 % ( ou $ 5 )",
    "I don't. It's THEY’VE": "I don't . It's THEY’VE",
    "t'as l's' d'm'y": "t' as l' s' d' m' y",
    "rock'n'roll": "rock' n' roll",
    "'tis": "' tis",
    "Attends... quoi ?!": "Attends ... quoi ? !",
    "« Oui », dit-elle.": "« Oui » , dit -elle .",
    "e\u0301te\u0301": "e\u0301te\u0301",
    "हिन्दी में": "हिन्दी में",
    "日本語": "日 本 語",
    "私はNTTのカメラ。": "私 は NTT の カ メ ラ 。",
    "ภาษาไทยที่นี่": "ภ า ษ า ไ ท ย ที่ นี่",  # vowels and tones above belong to their consonant
    "3月15日": "3 月 15 日",
    "한국어 문장": "한국어 문장",
    "chat😀chien": "chat 😀 chien",
    "❤\ufe0f!": "❤\ufe0f !",
    "👩\u200d👩\u200d👧 👍🏽🇫🇷🇩🇪": "👩\u200d👩\u200d👧 👍🏽 🇫🇷 🇩🇪",
    "a\u00a0b\u2028c\td\re": "a b c d e",
    "a\x00b": "a \x00 b",
    "user_name@example.org": "user_name @ example . org",
}


@pytest.mark.parametrize(("text", "expected"), TABLE.items())
def test_table(text: str, expected: str) -> None:
    assert tokenise(text) == expected


ODD = st.text(alphabet="ab1Lélàt'’-.,:! \t\u0301\u200d\ufe0f😀🏽🇫🇷\x00\u2028日のที่", max_size=25)
FRENCH = st.lists(
    st.sampled_from(["-le", "-t-il", "cherche", "l'", "aujourd'hui", "-", "'", "3.1", " ", "à", "ll"])
)


@settings(deadline=None, max_examples=200, suppress_health_check=[HealthCheck.too_slow])
@given(st.one_of(st.text(max_size=25), ODD, FRENCH.map("".join)))
def test_splitting_is_idempotent_loses_nothing_and_keeps_positions(text: str) -> None:
    words = split_words(text)
    assert "".join(word.text for word in words) == "".join(text.split())
    assert all(text[word.start : word.end] == word.text for word in words)
    assert all(word.text and not any(map(str.isspace, word.text)) for word in words)
    assert all(first.end <= second.start for first, second in pairwise(words))
    once = tokenise(text)
    assert tokenise(once) == once
    assert [word.text for word in split_words(once)] == once.split()


@given(st.one_of(st.text(max_size=25), ODD, FRENCH.map("".join)))
def test_european_text_is_split_as_other_text_is(text: str) -> None:
    """A character of another script at the end calls for the slow pattern, which must give the same words."""
    european = "".join(character for character in text if character < FIRST_MARK)
    assert split_words(european) == split_words(f"{european} 日")[:-1]


def test_marks_letters_and_figures_alone_are_of_a_word() -> None:
    unspaced, joiners = re.compile(f"[{UNSPACED}]"), "\u200c\u200d"
    for code in range(ord(FIRST_MARK), 0x3100):
        character = chr(code)
        category = unicodedata.category(character)
        if not unspaced.match(character) and character not in joiners:
            expected = category in ("Mn", "Mc") or category[0] in "LN"
            assert (len(split_words(f"a{character}b")) == 1) == expected, hex(code)


@given(
    st.text(
        st.sampled_from("ab'-. \t\n\r\x0b\x0c\x1c\x1d\x1e\x1f\x85\xa0\u1680\u2003\u2028\u202f\u200b\u3000é")
    )
)
def test_white_space_words_are_those_between_white_space(text: str) -> None:
    expected = [Word(match[0], *match.span()) for match in re.finditer(r"\S+", text)]
    assert whitespace_words(text) == expected
    line = " ".join(word.text for word in expected)
    assert joined_words(word.text for word in expected) == whitespace_words(line)
    assert all(line[word.start : word.end] == word.text for word in joined_words(line.split()))
