"""Languages of short texts, among few."""

import pytest

from translate.serve.languages import identify

LINES = {
    "A man in an orange hat is looking at something.": "en",
    "Les enfants jouent dans le jardin.": "fr",
    "Die Kinder spielen im Garten.": "de",
}


@pytest.mark.parametrize("line", LINES)
def test_short_lines(line: str) -> None:
    code, probability = identify(line, ["de", "en", "fr"])
    assert code == LINES[line]
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
