"""French and English verb forms: rules for regular verbs, principal parts for the others."""

import re
from functools import cache
from typing import NamedTuple

# infinitive -> present (je tu il nous vous ils), future stem, past participle
_IRREGULAR = {
    "être": ("suis es est sommes êtes sont", "ser", "été"),
    "avoir": ("ai as a avons avez ont", "aur", "eu"),
    "aller": ("vais vas va allons allez vont", "ir", "allé"),
    "faire": ("fais fais fait faisons faites font", "fer", "fait"),
    "voir": ("vois vois voit voyons voyez voient", "verr", "vu"),
    "savoir": ("sais sais sait savons savez savent", "saur", "su"),
    "pouvoir": ("peux peux peut pouvons pouvez peuvent", "pourr", "pu"),
    "vouloir": ("veux veux veut voulons voulez veulent", "voudr", "voulu"),
    "devoir": ("dois dois doit devons devez doivent", "devr", "dû"),
    "prendre": ("prends prends prend prenons prenez prennent", "prendr", "pris"),
    "comprendre": ("comprends comprends comprend comprenons comprenez comprennent", "comprendr", "compris"),
    "apprendre": ("apprends apprends apprend apprenons apprenez apprennent", "apprendr", "appris"),
    "lire": ("lis lis lit lisons lisez lisent", "lir", "lu"),
    "écrire": ("écris écris écrit écrivons écrivez écrivent", "écrir", "écrit"),
    "dire": ("dis dis dit disons dites disent", "dir", "dit"),
    "boire": ("bois bois boit buvons buvez boivent", "boir", "bu"),
    "revenir": ("reviens reviens revient revenons revenez reviennent", "reviendr", "revenu"),
    "souvenir": ("souviens souviens souvient souvenons souvenez souviennent", "souviendr", "souvenu"),
    "partir": ("pars pars part partons partez partent", "partir", "parti"),
    "dormir": ("dors dors dort dormons dormez dorment", "dormir", "dormi"),
    "ouvrir": ("ouvre ouvres ouvre ouvrons ouvrez ouvrent", "ouvrir", "ouvert"),
    "connaître": ("connais connais connaît connaissons connaissez connaissent", "connaîtr", "connu"),
    "conduire": ("conduis conduis conduit conduisons conduisez conduisent", "conduir", "conduit"),
    "courir": ("cours cours court courons courez courent", "courr", "couru"),
    "éteindre": ("éteins éteins éteint éteignons éteignez éteignent", "éteindr", "éteint"),
    "rire": ("ris ris rit rions riez rient", "rir", "ri"),
    "croire": ("crois crois croit croyons croyez croient", "croir", "cru"),
    "pleuvoir": ("- - pleut - - -", "pleuvr", "plu"),
}
_ODD_THIRD = {"have": "has", "can": "can", "must": "must"}
_DOUBLING = ("appeler", "jeter")
_FUTURE_ENDINGS = ("ai", "as", "a", "ons", "ez", "ont")
_IMPERFECT_ENDINGS = ("ais", "ais", "ait", "ions", "iez", "aient")


class Conjugation(NamedTuple):
    """The forms of one French verb; lists of six run je, tu, il, nous, vous, ils."""

    infinitive: str
    present: tuple[str, ...]
    future: tuple[str, ...]
    imperfect: tuple[str, ...]
    conditional: tuple[str, ...]
    participle: str


class EnglishForms(NamedTuple):
    """The forms of one English verb."""

    base: str
    third: str
    past: str
    participle: str
    ing: str


@cache
def conjugate(infinitive: str) -> Conjugation:
    """The forms of a French verb, irregular if it is listed, else by its ending -er, -ir or -re."""
    if infinitive in _IRREGULAR:
        written, future_stem, participle = _IRREGULAR[infinitive]
        present = tuple(written.split())
    elif infinitive.endswith("er"):
        present, future_stem, participle = _first_group(infinitive)
    elif infinitive.endswith("ir"):
        stem = infinitive[:-1]
        present = tuple(stem + ending for ending in ("s", "s", "t", "ssons", "ssez", "ssent"))
        future_stem, participle = infinitive, stem
    else:
        stem = infinitive[:-2]
        present = tuple(stem + ending for ending in ("s", "s", "", "ons", "ez", "ent"))
        future_stem, participle = infinitive[:-1], stem + "u"
    past_stem = "ét" if infinitive == "être" else present[3].removesuffix("ons")
    return Conjugation(
        infinitive,
        present,
        tuple(future_stem + ending for ending in _FUTURE_ENDINGS),
        tuple(past_stem + ending for ending in _IMPERFECT_ENDINGS),
        tuple(future_stem + ending for ending in _IMPERFECT_ENDINGS),
        participle,
    )


def _first_group(infinitive: str) -> tuple[tuple[str, ...], str, str]:
    """Present, future stem and participle of a verb in -er, with the spelling changes of its stem."""
    stem = infinitive[:-2]
    silent = stem  # the stem before a silent ending: j' achète, ils jettent, tu nettoies
    future_stem = infinitive
    if infinitive in _DOUBLING:
        silent = stem + stem[-1]
        future_stem = silent + "er"
    elif re.search(r"e[tvnlr]$", stem):
        silent = stem[:-2] + "è" + stem[-1]
        future_stem = silent + "er"
    elif re.search(r"é[rt]$", stem):
        silent = stem[:-2] + "è" + stem[-1]
    elif stem.endswith("y"):
        silent = stem[:-1] + "i"
        future_stem = "enverr" if infinitive == "envoyer" else silent + "er"
    plural = stem + "e" if stem.endswith("g") else stem[:-1] + "ç" if stem.endswith("c") else stem
    present = (silent + "e", silent + "es", silent + "e", plural + "ons", stem + "ez", silent + "ent")
    return present, future_stem, stem + "é"


def agree(form: str, *, feminine: bool, plural: bool) -> str:
    """The form of a participle, or of a regular adjective, that agrees; `form` is the masculine singular."""
    if feminine and not form.endswith("e"):
        form += "e"
    return form + "s" if plural and form[-1] not in "sx" else form


def english_forms(written: str) -> EnglishForms:
    """The forms of an English verb written `base`, or `base/past/participle` if it is irregular."""
    base, *parts = written.split("/")
    stem = base + base[-1] if re.fullmatch(r"[^aeiou]*[aeiou][^aeiouwxy]", base) else base
    if base in ("forget", "prefer", "begin"):
        stem = base + base[-1]
    if re.search(r"[^aeiou]y$", base):
        third, regular_past = base[:-1] + "ies", base[:-1] + "ied"
    else:
        third = base + ("es" if re.search(r"(s|sh|ch|x|o)$", base) else "s")
        regular_past = base + "d" if base.endswith("e") else stem + "ed"
    third = _ODD_THIRD.get(base, third)
    ing = base[:-1] + "ing" if re.search(r"[^eo]e$", base) and base != "be" else stem + "ing"
    past, participle = parts or (regular_past, regular_past)
    return EnglishForms(base, third, past, participle, ing)
