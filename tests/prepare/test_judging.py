"""What is said of a pair by a look at it alone."""

import re

import numpy as np
import pytest

from tests.prepare.corpora import LANGUAGES, grammar_pairs
from translate.corpora.filters import count_words
from translate.prepare.judging import language
from translate.prepare.judging.characters import DIGIT, LETTER, Characters
from translate.prepare.judging.language import identify
from translate.prepare.judging.row_filters import (
    REASONS,
    judged,
    letter_shares,
    number_share,
    placeholders,
    script_shares,
)
from translate.prepare.judging.row_keys import (
    ORDER_BITS,
    all_forms,
    all_normalised,
    form,
    normalised,
    order_keys,
    pair_keys,
    text_key,
)
from translate.prepare.judging.signatures import BANDS, signatures, similarity
from translate.prepare.recipe import recipe_of

DEFAULTS = recipe_of(dict(LANGUAGES)).filters


def reason(source: str, target: str, languages: tuple[str, str] = ("en", "fr")) -> str | None:
    return judged([source.strip()], [target.strip()], DEFAULTS, languages).reasons[0]


def letter_share(text: str) -> float:
    side = Characters([text])
    return letter_shares(side, side.count(side.is_a(LETTER)))[0]


def script_share(text: str, code: str) -> float:
    side = Characters([text])
    return script_shares(side, side.count(side.is_a(LETTER)), code)[0]


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
        ("OK Computer", "OK Computer", "identical"),
        ("Open %s now", "Ouvrir maintenant", "placeholders"),
        ("Open %s in {name}", "Dans {name} ouvrir %s", None),
        ("50% of dogs", "50% des chiens", None),
        ("In 1984 and 1990", "En 1984 et 1991", None),
        ("In 1984", "En 1985", "numbers"),
        ("Within 30 days", "Dans les trente jours", None),
    ],
)
def test_the_reason_against_a_pair(source: str, target: str, expected: str | None) -> None:
    assert reason(source, target) == expected
    assert expected is None or expected in REASONS


def test_shares_by_hand() -> None:
    assert letter_share("ab 1 ,") == 2 / 4
    assert letter_share("   ") == 0
    assert script_share("abc где", "ru") == 3 / 6
    assert script_share("12 .", "ru") == 1
    assert script_share("abc", "x-unknown") == 1
    assert number_share("1,000 and 20", "1 000 et 20") == 1
    assert number_share("12 and 13", "12") == pytest.approx(3 / 4)
    assert number_share("12 and 13", "14 and 15") == pytest.approx(1 / 5)


def test_placeholders_and_tags() -> None:
    text = "%1$s %d %(name)s {0} {user.name} ${home} $PATH <b>x</b> <a href='y'> 5 % des"
    found = "%1$s %d %(name)s {0} {user.name} ${home} $PATH <b </b <a"
    assert sorted(placeholders(text).elements()) == sorted(found.split())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("  two\tspaces \u00a0 here\n", "two spaces here"),
        ("e\u0301te\u0301", "été"),
        ("in\u00advisi\u200bble\ufeff", "invisible"),
        ("a\u2028b\x00c", "a b c"),
        ("क\u094dष", "क\u094dष"),
    ],
)
def test_text_is_normalised(text: str, expected: str) -> None:
    assert normalised(text) == expected
    assert normalised(expected) == expected


def test_a_side_of_marks_alone_has_an_empty_form() -> None:
    assert form("\u0301") == ""
    assert all_forms(["\u0301\u0302", "a"]) == ["", "a"]


def test_forms_forget_case_accents_punctuation_and_numbers() -> None:
    assert form("Été, 1984 !") == form("ETE 20") == "ete 0"
    assert form("हिन्दी") != form("हनद")  # vowels are marks
    assert form("猫 が") != form("猫 か")
    assert len(form("猫 が").split()) == 2


# Characters of many scripts, beside what is rare: marks, controls, ligatures, astral letters, wide spaces.
ODD = [
    *map(chr, range(0x20, 0x250)), *map(chr, range(0x2FE, 0x460)), *map(chr, range(0x900, 0x940)),
    *map(chr, range(0x1100, 0x1104)), *map(chr, range(0x1161, 0x1164)), *map(chr, range(0x2000, 0x2070)),
    *map(chr, range(0x3040, 0x30A0)), *"\t\x00\x1c\x85\u00ad\ufb01\ufffd\ufeff\U0001f600\U00020000\U0001d7d8",
    *"\u212a0123456789 ., " * 9, *"%{$<Ãâ가각" * 3,
]  # fmt: skip


def odd_texts(count: int) -> list[str]:
    rng = np.random.default_rng(7)
    return ["", " ", *("".join(rng.choice(ODD, size)) for size in rng.choice([1, 2, 5, 30], count))]


def test_texts_that_are_judged_together_are_judged_as_one_by_one() -> None:
    texts = odd_texts(3000)
    clean = all_normalised(texts)
    assert clean == [normalised(text) for text in texts]
    assert all_forms(clean) == [form(text) for text in clean]


def test_characters_are_counted_as_by_plain_searches() -> None:
    """Letters, numbers and words, by patterns and ``str.split`` text by text."""
    texts = [normalised(text) for text in odd_texts(3000)]
    side = Characters(texts)
    letters = side.is_a(LETTER)
    assert side.count(letters).tolist() == [len(re.findall(r"[^\W\d_]", text)) for text in texts]
    assert side.count(letters, 4).tolist() == [len(re.findall(r"[^\W\d_]", text[:4])) for text in texts]
    assert side.has_two(DIGIT).tolist() == [re.search(r"\d\d", text) is not None for text in texts]
    greek = [len(re.findall("[\u0370-\u03ff\u1f00-\u1fff]", text)) for text in texts]
    assert side.count(side.in_ranges("\u0370-\u03ff\u1f00-\u1fff")).tolist() == greek
    words = judged(texts, texts[::-1], DEFAULTS, ("en", "fr")).words
    assert words.tolist() == [[count_words(text) for text in each] for each in (texts, texts[::-1])]


def test_keys_are_those_of_every_machine() -> None:
    assert text_key("été") == 7786767946030819550
    assert order_keys(np.array([2]), 1).tolist() == [2746895812035318987]
    assert len({*pair_keys(["a", "a b"], ["b c", "c"]).tolist()}) == 2
    rows = np.arange(100_000, dtype=np.int64)
    keys = order_keys(rows, 1)
    assert len(set(keys.tolist())) == len(rows)
    assert keys.min() >= 0
    assert keys.max() < 2**ORDER_BITS
    assert np.array_equal(order_keys(rows[500:600], 1), keys[500:600])
    assert abs(np.corrcoef(rows, keys)[0, 1]) < 0.02
    assert abs(np.corrcoef(keys, order_keys(rows, 2))[0, 1]) < 0.02
    assert np.bincount(keys // (2**ORDER_BITS // 8 + 1)).min() > 12_000


def jaccard(first: tuple[str, str], second: tuple[str, str]) -> float:
    """Of the words and pairs of words of both sides, by plain sets."""
    sets = []
    for pair in (first, second):
        words = [(side, word) for side, text in enumerate(pair) for word in text.split()]
        twos = [(side, *two) for side, text in enumerate(pair) for two in zip(text.split(), text.split()[1:])]
        sets.append({*words, *twos})
    return len(sets[0] & sets[1]) / len(sets[0] | sets[1])


def test_signatures_estimate_what_pairs_share() -> None:
    rng = np.random.default_rng(3)
    errors, candidates = [], 0
    for changed in range(0, 12):
        words = [f"w{number}" for number in rng.integers(0, 10**6, 40)]
        first = " ".join(words[:20]), " ".join(words[20:])
        for place in rng.choice(40, changed, replace=False):
            words[place] = f"other{place}"
        second = " ".join(words[:20]), " ".join(words[20:])
        bands, found = signatures([first, second])
        assert found[0] is not None
        assert found[1] is not None
        errors.append(similarity([found[0]], [found[1]])[0] - jaccard(first, second))
        candidates += bool((bands[0] == bands[1]).any()) if jaccard(first, second) > 0.75 else 0
    assert abs(np.mean(errors)) < 0.08
    assert np.abs(errors).max() < 0.35
    assert candidates >= 2


def test_short_pairs_have_no_signature_and_batches_do_not_matter() -> None:
    forms = [("a b c", "d e"), ("a b c d", "e f g"), ("x y z x", "u v w"), ("", "")]
    bands, found = signatures(forms)
    assert [each is None for each in found] == [True, False, False, True]
    assert bands.shape == (4, BANDS)
    alone, (again,) = signatures(forms[2:3])
    assert again == found[2]
    assert np.array_equal(alone[0], bands[2])


def test_languages_are_identified() -> None:
    pytest.importorskip("py3langid", reason="py3langid is not installed")
    texts = {
        "en": "The council shall publish its decision within a month .",
        "fr": "Le conseil publie sa décision dans un délai d'un mois .",
        "de": "Der Rat veröffentlicht seine Entscheidung innerhalb eines Monats .",
    }
    found = identify(list(texts.values()), ("en", "fr"))
    assert [each.language for each in found] == list(texts)
    assert all(each.probability > 0.9 for each in found)


def test_many_sides_are_identified_as_by_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """Text by text, the library's own function says the same; so do other groups of texts."""
    langid = pytest.importorskip("py3langid.langid", reason="py3langid is not installed")
    monkeypatch.setattr(language, "TOGETHER", 11)
    library = langid.LanguageIdentifier.from_model_file(langid.MODEL_FILE, norm_probs=True)
    library.set_languages(sorted({*language._WORLD.split(), "en", "fr"} & set(library.labels)))
    texts = [
        *(pair[0] for pair in grammar_pairs(20)), *(pair[1] for pair in grammar_pairs(20)),
        "", "THE HOUSE IS RED", "где дом", "的", "Срећан рад свима овде", "a" * 300, "\U0001f600",
    ]  # fmt: skip
    found = identify(texts, ("en", "fr"))
    for text, each in zip(texts, found, strict=True):
        name, probability = library.classify(text[: language.MAX_CHARACTERS])
        assert each.probability == pytest.approx(probability, abs=1e-4)
        assert each.language == name or probability < 0.05  # of none, the first is as good as any
    assert identify(texts[::-1], ("en", "fr"))[::-1] == found
