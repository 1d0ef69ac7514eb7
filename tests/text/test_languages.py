"""Two languages that were taken for each other."""

import pytest

from translate.text.languages import are_swapped, code_of, is_foreign, language_name, likely_language

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
    ("sides", "languages", "expected"),
    [
        ((ENGLISH, FRENCH), ("en", "fr"), False),
        ((ENGLISH, FRENCH), ("fr", "en"), True),
        ((ENGLISH, FRENCH), ("fr-CA", "en_GB"), True),
        ((ENGLISH, ENGLISH), ("fr", "en"), False),
        ((ENGLISH, FRENCH), ("de", "en"), False),
        ((ENGLISH, FRENCH), ("fr", "xx"), False),
        ((ENGLISH, FRENCH), ("source", "target"), False),
        ((ENGLISH[:99], FRENCH[:99]), ("fr", "en"), False),
    ],
)
def test_swapped_languages_are_seen(
    sides: tuple[list[str], list[str]], languages: tuple[str, str], expected: bool
) -> None:
    assert are_swapped(sides, languages) is expected


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
    assert likely_language(lines) == expected


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
