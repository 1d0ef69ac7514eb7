"""What a look at each pair alone finds, its keys, and its signature."""

import re
import unicodedata

import numpy as np
import pyarrow
import pytest

from tests.prepare.corpora import LANGUAGES
from translate.corpora.filters import count_words
from translate.prepare.recipe import recipe_of
from translate.prepare.row_keys import ORDER_BITS, forms, normalised, order_keys, text_keys
from translate.prepare.rows import REASONS, Judged, difference, judged, number_share, placeholders
from translate.text.languages import identify_sides


def judge(*pairs: tuple[str, str], languages: tuple[str, str] = ("en", "fr"), **filters: object) -> Judged:
    given = recipe_of({**LANGUAGES, "filters": {"language": None, **filters}}).filters
    sources, targets = (normalised(pyarrow.array(side)) for side in zip(*pairs))
    return judged(sources, targets, given, languages)


def normal(text: str) -> str:
    return str(normalised(pyarrow.array([text]))[0])


def form(text: str) -> str:
    return str(forms(pyarrow.array([text]))[0])


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("A good dog sleeps .", "Un bon chien dort .", None),
        ("", "Un chien .", "empty"),
        ("a " * 201, "un " * 201, "too_long"),
        ("x" * 101, "y" * 99, "long_word"),
        ("a b c", "a b c d e f g h i j k l m n o p", "ratio"),
        ("a b", "a b c d e f g h i j k l", None),  # (12 + 3) / (2 + 3) is the limit
        ("1 2 3 4 5 6 .", "1 2 3 4 5 6 .", "letters"),
        ("The dog sleeps .", "Собака спит .", "script"),
        ("Summer is here .", "L'Ã©tÃ© est lÃ .", "damaged"),
        ("Summer is here .", "L'\ufffdt\ufffd est l\ufffd .", "damaged"),
        ("The big street .", "Die groÃŸe StraÃŸe .", "damaged"),  # of Windows
        ("At the house here .", "Ã la maison ici .", "damaged"),  # its second character was no letter
        ("They are not sisters .", "AS DUAS NÃO SÃO IRMÃS .", None),
        ("OK Computer", "OK Computer", "identical"),
        ("Open %s now", "Ouvrir maintenant", "placeholders"),
        ("Open %s in {name}", "Dans {name} ouvrir %s", None),
        ("50% of dogs", "50% des chiens", None),
        ("In 1984 and 1990", "En 1984 et 1991", None),
        ("In 1984", "En 1985", "numbers"),
        ("Of 25 to 29 years", "De vingt-cinq à vingt-neuf ans", None),
        ("Sticks: $0.02715", "Bâtonnets, 0,027 15 $", None),
        ("Type {name} or <none>", "Écrire {nom} ou <aucun>", None),
        ("Type {0} in bold", "Écrire {1} en gras", "placeholders"),
        ("Type <b>it</b>", "Écrire-le", "placeholders"),
    ],
)
def test_the_reason_against_a_pair(source: str, target: str, expected: str | None) -> None:
    assert judge((source, target)).reasons[0] == expected
    assert expected is None or expected in REASONS


@pytest.mark.parametrize(
    ("text", "filters", "languages", "expected"),
    [
        ("ab 1 ,", {"min_letters": 0.5}, ("en", "fr"), None),  # 2 / 4
        ("ab 1 ,", {"min_letters": 0.51}, ("en", "fr"), "letters"),
        ("12 .", {"min_script": 1.0, "min_letters": None}, ("ru", "ru"), None),
        ("abc", {"min_script": 1.0}, ("x-unknown", "x-unknown"), None),
    ],
)
def test_shares_by_hand(
    text: str, filters: dict[str, float], languages: tuple[str, str], expected: str | None
) -> None:
    found = judge((text, text), languages=languages, identical=False, **filters)
    assert found.reasons[0] == expected


@pytest.mark.parametrize(
    ("source", "target", "least", "expected"),
    [
        ("xyz", "abc где", 0.5, None),  # 3 / 6
        ("xyz", "abc где", 0.51, "script"),
        ("abc", "abc где", 1.0, None),  # abc stands on both sides
        ("Run in SQL Lab", "SQL Labで実行", 0.5, None),
        ("Hello, world!", "Hello world", 0.5, "script"),  # not translated
    ],
)
def test_shares_of_a_script_by_hand(source: str, target: str, least: float, expected: str | None) -> None:
    code = "ja" if "で" in target else "ru"
    assert judge((source, target), languages=("en", code), min_script=least).reasons[0] == expected


def test_japanese_is_counted_by_words() -> None:
    sources = ["Partition Threshold", "Click to edit %s.", "Save"]
    targets = ["パーティションしきい値", "クリックして%sを編集します。", "保存" * 101]
    found = judge(*zip(sources, targets), languages=("en", "ja"))
    assert found.reasons.tolist() == [None, None, "ratio"]
    assert found.words.tolist() == [[2, 4, 1], [4, 7, 101]]


def test_a_name_that_both_sides_have_is_equal_and_in_no_other_script() -> None:
    pairs = [("Zimpler", "Zimpler"), ("Zimpler", "Zimplex")]
    assert judge(*pairs, languages=("en", "uk")).reasons.tolist() == ["identical", "script"]
    assert judge(*pairs, languages=("en", "uk"), identical=False).reasons.tolist() == [None, "script"]


def test_numbers_by_hand() -> None:
    assert number_share("1,000 and 20", "1 000 et 20") == 1
    assert number_share("12 and 13", "12") == 1
    assert number_share("12 and 13", "12 et 14") == pytest.approx(3 / 5)
    assert number_share("12 and 13", "14 and 15") == pytest.approx(1 / 5)


def test_placeholders_and_tags() -> None:
    text = "%1$s %d %(name)s {0} {user.name} ${home} $PATH <b>x</b> <a href='y'> 5 % des"
    found = "%1$s %d %(name)s {0} {} ${home} $PATH <b </b <a"
    assert sorted(placeholders(text).elements()) == sorted(found.split())
    assert placeholders("{{ ds }} %ss") == placeholders("%s {{ds}}")
    assert difference(placeholders("%s %s <b>"), placeholders("%s %d")) == (
        "only in the source: %s, <b; only in the target: %d"
    )


def test_forms_forget_case_accents_punctuation_and_numbers() -> None:
    assert form("Été, 1984 !") == form("ETE 20") == "ete 0"
    assert form("हिन्दी") != form("हनद")  # vowels are marks
    assert form("猫 が") != form("猫 か")
    assert len(form("猫 が").split()) == 2
    assert form("\u0301\u0302") == ""


# Characters of many scripts, beside what is rare: marks, controls, ligatures, astral letters, wide spaces.
ODD = [
    *map(chr, range(0x20, 0x250)), *map(chr, range(0x2FE, 0x460)), *map(chr, range(0x900, 0x940)),
    *map(chr, range(0x1100, 0x1104)), *map(chr, range(0x1161, 0x1164)), *map(chr, range(0x2000, 0x2070)),
    *map(chr, range(0x3040, 0x30A0)), *"\t\x00\x1c\x85\u00ad\ufb01\ufffd\ufeff\U0001f600\U00020000\U0001d7d8",
    *"\u212a0123456789 ., " * 9, *"%{$<Ãâ가각" * 3,
]  # fmt: skip


INVISIBLE = "[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]"


def odd_texts(count: int) -> list[str]:
    rng = np.random.default_rng(7)
    return ["", " ", *("".join(rng.choice(ODD, size)) for size in rng.choice([1, 2, 5, 30], count))]


def test_texts_are_normalised_and_counted_as_by_plain_functions() -> None:
    """By ``unicodedata``, patterns of ``re`` and ``str.split``, text by text."""
    texts = odd_texts(2000)
    plain = [re.sub(INVISIBLE, "", unicodedata.normalize("NFC", text)) for text in texts]
    plain = [" ".join(re.sub("[\x00-\x1f\x7f-\x9f\u2028\u2029]", " ", text).split()) for text in plain]
    assert normalised(pyarrow.array(texts)).to_pylist() == plain
    words = judge(*zip(texts, texts[::-1])).words
    assert words.tolist() == [[count_words(text) for text in side] for side in (plain, plain[::-1])]
    greek = [
        len(re.findall("[Α-Ωα-ω]", text)) / max(1, len(re.findall("[A-Za-zΑ-Ωα-ω]", text))) for text in plain
    ]
    simple = [(text, share) for text, share in zip(plain, greek) if re.fullmatch("[ A-Za-zΑ-Ωα-ω]+", text)]
    pairs = [("ωωωω", text) for text, _ in simple]
    found = judge(*pairs, languages=("el", "el"), max_ratio=None, min_letters=None, min_script=0.5).reasons
    assert [reason == "script" for reason in found] == [share < 0.5 for _, share in simple]


def test_keys_are_those_of_every_machine() -> None:
    assert text_keys(["été"]) == 7786767946030819550
    assert order_keys(np.array([2]), 1).tolist() == [2746895812035318987]
    rows = np.arange(100_000, dtype=np.int64)
    keys = order_keys(rows, 1)
    assert len(set(keys.tolist())) == len(rows)
    assert keys.min() >= 0
    assert keys.max() < 2**ORDER_BITS
    assert np.array_equal(order_keys(rows[500:600], 1), keys[500:600])
    assert abs(np.corrcoef(rows, keys)[0, 1]) < 0.02
    assert abs(np.corrcoef(keys, order_keys(rows, 2))[0, 1]) < 0.02
    assert np.bincount(keys // (2**ORDER_BITS // 8 + 1)).min() > 12_000


def test_languages_are_identified() -> None:
    texts = {
        "en": "The council shall publish its decision within a month .",
        "fr": "Le conseil publie sa décision dans un délai d'un mois .",
        "de": "Der Rat veröffentlicht seine Entscheidung innerhalb eines Monats .",
    }
    found = list(identify_sides(texts.values(), ("en", "fr")))
    assert [language for language, _ in found] == list(texts)
    assert all(probability > 0.9 for _, probability in found)
    pairs = [(texts["en"], texts["fr"]), (texts["en"], texts["de"]), ("Der Rat .", "Le conseil .")]
    judged_pairs = judge(*pairs, language=0.7)
    assert judged_pairs.reasons.tolist() == [None, "language", None]
    assert judged_pairs.languages == [["en", "en", None], ["fr", "de", None]]
