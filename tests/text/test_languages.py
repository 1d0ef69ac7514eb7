"""Codes and names of languages, and what a text looks like."""

import pytest

from translate.text.languages import (
    code_of,
    identify,
    is_exchanged,
    is_foreign,
    language_name,
    likely_languages,
)

ENGLISH = [
    "The children play in the garden.",
    "I do not know him.",
    "It was raining all day.",
    "See you!",
] * 25
FRENCH = [
    *[
        "Les enfants jouent dans le jardin.",
        "Je ne le connais pas.",
        "Il pleuvait toute la journée.",
        "Salut !",
    ]
] * 25


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (ENGLISH, "en"),
        (FRENCH, "fr"),
        (["保存", "設定を変更しました。"] * 50, "ja"),
        ([*ENGLISH, *FRENCH], None),
        (ENGLISH[:99], None),
    ],
)
def test_a_language_is_known_by_most_lines(lines: list[str], expected: str | None) -> None:
    assert likely_languages(lines, ENGLISH) == [expected, "en"]


@pytest.mark.parametrize(
    ("text", "code", "expected"),
    [
        ("Choose event", "ar", True),
        ("اختيار الحدث", "en", True),
        ("اختيار الحدث", "fa", False),
        ("PDF ملف", "ar", False),
        ("GitHub", "ja", False),  # a name
        ("ÊÚÏíá ãÇ ÅÐÇ", "ar", True),  # windows-1256 that was taken for windows-1252
        ("12 345 678 !", "ar", False),
        ("東京都千代田区丸の内", "zh", False),
        ("東京都千代田区丸の内", "ko", False),
        ("Choose event", "source", False),
    ],
)
def test_a_text_in_another_script_is_foreign(text: str, code: str, expected: bool) -> None:
    assert is_foreign(text, code) is expected


def test_names_of_languages_are_codes() -> None:
    assert {code_of(name) for name in ("German", "Deutsch", "DEUTSCH", "de", "DE")} == {"de"}
    assert code_of("jp") == "ja"
    assert code_of("Klingon") == "Klingon"
    assert language_name("fr") == "French"


SHORT = {
    "A man in an orange hat is looking at something.": "en",
    "Les enfants jouent dans le jardin.": "fr",
    "Die Kinder spielen im Garten.": "de",
}


@pytest.mark.parametrize("line", SHORT)
def test_short_lines(line: str) -> None:
    code, probability = identify(line, ["de", "en", "fr"])
    assert code == SHORT[line]
    assert 1 / 3 < probability <= 1


def test_only_the_given_languages_are_found() -> None:
    assert identify("Die Kinder spielen.", ["de"]) == ("de", 1.0)
    assert identify("As crianças brincam no jardim da avó.", ["en", "pt"])[0] == "pt"


@pytest.mark.parametrize("text", ["", "  \n", "12 + 3 = 15 !"])
def test_no_letters_no_language(text: str) -> None:
    assert identify(text, ["fr", "en"]) == ("fr", 0.0)


def test_a_language_that_the_identifier_lacks_is_never_found() -> None:
    assert identify("Les enfants jouent.", ["qaa", "fr"])[0] == "fr"
    assert identify("Les enfants jouent.", ["qaa"]) == ("qaa", 0.0)


@pytest.mark.parametrize(
    ("text", "pair", "expected"),
    [
        ("Where is my book, please?", ("de", "en"), True),
        ("Where is my book, please?", ("de-AT", "en-GB"), True),
        ("Where is my book, please?", ("en", "de"), False),
        ("Wo ist mein Buch geblieben?", ("de", "en"), False),
        ("Where is", ("de", "en"), False),  # so little does not tell
        ("Where is my book, please?", ("source", "en"), False),
        ('<img alt="this is the house where my friends are living"> Hier wohnen sie', ("de", "en"), False),
    ],
)
def test_a_sentence_in_the_language_of_the_translations(
    text: str, pair: tuple[str, str], expected: bool
) -> None:
    assert is_exchanged(text, *pair) == expected
