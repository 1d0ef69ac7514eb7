"""Codes and names of languages, and what a text looks like."""

import pytest

from translate.text.languages import code_of, is_foreign, language_name, likely_languages

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
    assert likely_languages(lines, ENGLISH) == [expected, None if len(lines) < 100 else "en"]


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
