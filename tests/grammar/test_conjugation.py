"""Verb forms against forms written by hand."""

import pytest

from translate.grammar.lexicon import agree, conjugate, english_forms


@pytest.mark.parametrize(
    ("infinitive", "present"),
    [
        ("aimer", "aime aimes aime aimons aimez aiment"),
        ("manger", "mange manges mange mangeons mangez mangent"),
        ("commencer", "commence commences commence commençons commencez commencent"),
        ("acheter", "achète achètes achète achetons achetez achètent"),
        ("appeler", "appelle appelles appelle appelons appelez appellent"),
        ("jeter", "jette jettes jette jetons jetez jettent"),
        ("espérer", "espère espères espère espérons espérez espèrent"),
        ("envoyer", "envoie envoies envoie envoyons envoyez envoient"),
        ("prêter", "prête prêtes prête prêtons prêtez prêtent"),
        ("rester", "reste restes reste restons restez restent"),
        ("finir", "finis finis finit finissons finissez finissent"),
        ("attendre", "attends attends attend attendons attendez attendent"),
        ("prendre", "prends prends prend prenons prenez prennent"),
    ],
)
def test_present(infinitive: str, present: str) -> None:
    assert " ".join(conjugate(infinitive).present) == present


@pytest.mark.parametrize(
    ("infinitive", "future", "imperfect", "participle"),
    [
        ("aimer", "aimerai", "aimait", "aimé"),
        ("acheter", "achèterai", "achetait", "acheté"),
        ("jeter", "jetterai", "jetait", "jeté"),
        ("espérer", "espérerai", "espérait", "espéré"),
        ("essayer", "essaierai", "essayait", "essayé"),
        ("envoyer", "enverrai", "envoyait", "envoyé"),
        ("choisir", "choisirai", "choisissait", "choisi"),
        ("perdre", "perdrai", "perdait", "perdu"),
        ("être", "serai", "était", "été"),
        ("avoir", "aurai", "avait", "eu"),
        ("aller", "irai", "allait", "allé"),
        ("vouloir", "voudrai", "voulait", "voulu"),
        ("boire", "boirai", "buvait", "bu"),
    ],
)
def test_other_tenses(infinitive: str, future: str, imperfect: str, participle: str) -> None:
    forms = conjugate(infinitive)
    assert (forms.future[0], forms.imperfect[2], forms.participle) == (future, imperfect, participle)


def test_conditional() -> None:
    assert (
        " ".join(conjugate("vouloir").conditional)
        == "voudrais voudrais voudrait voudrions voudriez voudraient"
    )


@pytest.mark.parametrize(
    ("form", "feminine", "plural", "agreed"),
    [
        ("vu", False, False, "vu"), ("vu", True, False, "vue"), ("vu", False, True, "vus"),
        ("vu", True, True, "vues"), ("compris", False, True, "compris"), ("compris", True, True, "comprises"),
    ],
)  # fmt: skip
def test_agreement(form: str, feminine: bool, plural: bool, agreed: str) -> None:
    assert agree(form, feminine=feminine, plural=plural) == agreed


@pytest.mark.parametrize(
    ("written", "third", "past", "participle", "ing"),
    [
        ("love", "loves", "loved", "loved", "loving"),
        ("wash", "washes", "washed", "washed", "washing"),
        ("hurry", "hurries", "hurried", "hurried", "hurrying"),
        ("run/ran/run", "runs", "ran", "run", "running"),
        ("get/got/got", "gets", "got", "got", "getting"),
        ("see/saw/seen", "sees", "saw", "seen", "seeing"),
        ("go/went/gone", "goes", "went", "gone", "going"),
        ("open", "opens", "opened", "opened", "opening"),
        ("snow", "snows", "snowed", "snowed", "snowing"),
        ("have/had/had", "has", "had", "had", "having"),
    ],
)
def test_english(written: str, third: str, past: str, participle: str, ing: str) -> None:
    assert english_forms(written)[1:] == (third, past, participle, ing)
