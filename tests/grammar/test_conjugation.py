"""Verb forms against forms written by hand."""

import pytest

from translate.grammar.lexicon import conjugate, english_forms


@pytest.mark.parametrize(
    ("infinitive", "present"),
    [
        ("aimer", "aime aimes aime aimons aimez aiment"),
        ("manger", "mange manges mange mangeons mangez mangent"),
        ("acheter", "achète achètes achète achetons achetez achètent"),
        ("jeter", "jette jettes jette jetons jetez jettent"),
        ("espérer", "espère espères espère espérons espérez espèrent"),
        ("envoyer", "envoie envoies envoie envoyons envoyez envoient"),
        ("finir", "finis finis finit finissons finissez finissent"),
        ("attendre", "attends attends attend attendons attendez attendent"),
    ],
)
def test_present(infinitive: str, present: str) -> None:
    assert " ".join(conjugate(infinitive).present) == present


@pytest.mark.parametrize(
    ("infinitive", "future", "imperfect", "participle"),
    [
        ("aimer", "aimerai", "aimait", "aimé"),
        ("jeter", "jetterai", "jetait", "jeté"),
        ("envoyer", "enverrai", "envoyait", "envoyé"),
        ("choisir", "choisirai", "choisissait", "choisi"),
        ("être", "serai", "était", "été"),
    ],
)
def test_other_tenses(infinitive: str, future: str, imperfect: str, participle: str) -> None:
    forms = conjugate(infinitive)
    assert (forms.future[0], forms.imperfect[2], forms.participle) == (future, imperfect, participle)


@pytest.mark.parametrize(
    ("written", "third", "past", "participle", "ing"),
    [
        ("wash", "washes", "washed", "washed", "washing"),
        ("hurry", "hurries", "hurried", "hurried", "hurrying"),
        ("run/ran/run", "runs", "ran", "run", "running"),
        ("go/went/gone", "goes", "went", "gone", "going"),
        ("snow", "snows", "snowed", "snowed", "snowing"),
        ("have/had/had", "has", "had", "had", "having"),
    ],
)
def test_english(written: str, third: str, past: str, participle: str, ing: str) -> None:
    assert english_forms(written)[1:] == (third, past, participle, ing)
