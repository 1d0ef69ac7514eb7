"""The lexicon of `lexicon.txt`: forms of words, and pairs of expressions with their word alignment."""

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

_ODD_THIRD = {"have": "has", "can": "can", "must": "must"}
# infinitive -> endings of the present (je tu il nous vous ils) and of the past participle
_REGULAR = {
    "er": (("e", "es", "e", "ons", "ez", "ent"), "é"),
    "ir": (("is", "is", "it", "issons", "issez", "issent"), "i"),
    "re": (("s", "s", "", "ons", "ez", "ent"), "u"),
}
_FUTURE_ENDINGS = ("ai", "as", "a", "ons", "ez", "ont")
_IMPERFECT_ENDINGS = ("ais", "ais", "ait", "ions", "iez", "aient")


def _read_tables() -> dict[str, list[list[str]]]:
    """The rows of every table as lists of five fields; missing fields at the end are empty."""
    found: dict[str, list[list[str]]] = {}
    for line in Path(__file__).with_name("lexicon.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            found[line[1:-1]] = rows = []
        elif line and not line.startswith("#"):
            fields = [field.strip() for field in line.split("|")]
            rows.append([*fields, *[""] * (5 - len(fields))])
    return found


TABLES = _read_tables()
# infinitive -> present (je tu il nous vous ils), future stem, past participle
_IRREGULAR = {row[0]: (tuple(row[1].split()), row[2], row[3]) for row in TABLES["irregular"]}


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
    """The forms of a French verb, from the table if it is listed, else by its ending -er, -ir or -re."""
    if infinitive in _IRREGULAR:
        present, future_stem, participle = _IRREGULAR[infinitive]
    else:
        stem, (endings, ending) = infinitive[:-2], _REGULAR[infinitive[-2:]]
        present = tuple(stem + own for own in endings)
        future_stem, participle = infinitive.removesuffix("e"), stem + ending
    past_stem = "ét" if infinitive == "être" else present[3].removesuffix("ons")
    return Conjugation(
        infinitive,
        present,
        tuple(future_stem + ending for ending in _FUTURE_ENDINGS),
        tuple(past_stem + ending for ending in _IMPERFECT_ENDINGS),
        tuple(future_stem + ending for ending in _IMPERFECT_ENDINGS),
        participle,
    )


def agree(form: str, *, feminine: bool, plural: bool) -> str:
    """The form of a participle, or of a regular adjective, that agrees; `form` is the masculine singular."""
    if feminine and not form.endswith("e"):
        form += "e"
    return form + "s" if plural and form[-1] not in "sx" else form


def english_forms(written: str) -> EnglishForms:
    """The forms of an English verb written `base`, or `base/past/participle` if it is irregular."""
    base, *parts = written.split("/")
    stem = base + base[-1] if re.fullmatch(r"[^aeiou]*[aeiou][^aeiouwxy]", base) else base
    if re.search(r"[^aeiou]y$", base):
        third, regular_past = base[:-1] + "ies", base[:-1] + "ied"
    else:
        third = base + ("es" if re.search(r"(s|sh|ch|x|o)$", base) else "s")
        regular_past = base + "d" if base.endswith("e") else stem + "ed"
    third = _ODD_THIRD.get(base, third)
    ing = base[:-1] + "ing" if re.search(r"[^eo]e$", base) and base != "be" else stem + "ing"
    past, participle = parts or (regular_past, regular_past)
    return EnglishForms(base, third, past, participle, ing)


class Pair(NamedTuple):
    """An English expression with its French translation and their links.

    `sure[j]` and `possible[j]` hold the indexes of the English words to which French word j is linked. The
    flags of fixed words, such as an adverb, a time, a quantity or a conjunction, tell where they may stand.
    """

    english: tuple[str, ...]
    french: tuple[str, ...]
    sure: tuple[tuple[int, ...], ...]
    possible: tuple[tuple[int, ...], ...]
    flags: frozenset[str] = frozenset()


class Noun(NamedTuple):
    """A common noun: its singular and plural, its gender, and classes of meaning."""

    forms: tuple[Pair, Pair]
    feminine: bool
    classes: frozenset[str]


class Name(NamedTuple):
    """An invariable head: a proper name, or a word such as `everybody`, `nobody`, `who`."""

    pair: Pair
    feminine: bool
    kind: str  # person, city, country, language, anyone, negative, question


class Pronoun(NamedTuple):
    """A personal pronoun with its English cases and its French clitic and stressed forms."""

    english: tuple[str, str]  # subject, object
    person: int  # 0 I, 1 you, 2 he, 3 we, 5 they: the row of a conjugation
    subject: str
    direct: str
    indirect: str
    stressed: str
    feminine: bool


class Adjective(NamedTuple):
    """An adjective; French forms run masculine, masculine before a vowel, feminine, and the two plurals."""

    english: str
    comparative: str  # "" if it is formed with `more`
    french: tuple[str, str, str, str, str]
    before: bool  # stands before the French noun
    predicative: bool  # only after `be`
    classes: frozenset[str]


class Verb(NamedTuple):
    """A verb with its particle or preposition in English, and its construction in French."""

    english: EnglishForms
    particle: tuple[str, ...]
    french: Conjugation
    reflexive: bool
    complement: str  # the noun of `avoir besoin de`
    adverb: str  # the adverb of `aimer bien`, left out under negation
    preposition: str  # "", "à" or "de", before the French object
    flags: frozenset[str]
    objects: tuple["Noun | Name", ...]


class Modal(NamedTuple):
    """A verb that takes an infinitive."""

    english: EnglishForms
    kind: str  # "bare" as can, "would" as would like to, "full" as want to
    words: tuple[str, ...]  # between the English verb and the infinitive
    french: Conjugation
    preposition: str  # "" or "de", before the French infinitive
    flags: frozenset[str]


class State(NamedTuple):
    """A state for which English uses `be` and an adjective, French another verb and a noun: `avoir faim`."""

    english: str
    french: Conjugation
    noun: str
    kind: str  # self or weather


def pair(english: str, french: str, links: str = "") -> Pair:
    """A pair from its words; `links` in Pharaoh notation, `0-1` sure and `0p1` possible.

    Without `links` every French word is surely linked with the last English word, possibly with the others.
    """
    words, translation = tuple(english.split()), tuple(french.split())
    last = len(words) - 1
    if not links:
        count = len(translation)
        return Pair(words, translation, ((last,),) * count, (tuple(range(last)),) * count)
    sure: list[list[int]] = [[] for _ in translation]
    possible: list[list[int]] = [[] for _ in translation]
    for link in links.split():
        chosen = sure if "-" in link else possible
        source, target = link.replace("p", "-").split("-")
        chosen[int(target)].append(int(source))
    return Pair(words, translation, tuple(map(tuple, sure)), tuple(map(tuple, possible)))


def noun(row: list[str]) -> Noun:
    """An entry of the noun table: english | french | gender | classes | links."""
    english, english_plural = _numbers(row[0], "s")
    french, french_plural = _numbers(row[1], "" if row[1][-1] in "sxz" else "s")
    singular, plural = pair(english, french, row[4]), pair(english_plural, french_plural, row[4])
    return Noun((singular, plural), row[2] == "f", frozenset(row[3].split()))


def _numbers(written: str, ending: str) -> tuple[str, str]:
    singular, _, plural = written.partition("/")
    return singular, plural or singular + ending


def adjective(row: list[str]) -> Adjective:
    """An entry of the adjective table: english[/comparative] | french forms | before or after | classes."""
    english, _, comparative = row[0].partition("/")
    masculine, *others = row[1].split()
    liaison = others.pop(0) if len(others) == 2 else masculine
    feminine = others[0] if others else _feminine(masculine)
    plural = masculine + ("" if masculine[-1] in "sx" else "x" if masculine.endswith("eau") else "s")
    forms = (masculine, liaison, feminine, plural, feminine + "s")
    classes = frozenset(row[3].split())
    return Adjective(english, comparative, forms, row[2] == "before", row[2] == "predicate", classes)


def _feminine(masculine: str) -> str:
    for ending, replacement in (("e", "e"), ("eux", "euse"), ("er", "ère"), ("f", "ve")):
        if masculine.endswith(ending):
            return masculine.removesuffix(ending) + replacement
    return masculine + "e"


def verb(row: list[str], objects: tuple[Noun | Name, ...]) -> Verb:
    """An entry of the verb table: english [particle] | french | objects | flags."""
    forms, *particle = row[0].split()
    french = row[1].split()
    reflexive = french[0] == "se"
    french = french[reflexive:]
    preposition = french.pop() if french[-1] in ("à", "de") else ""
    flags = frozenset(row[3].split())
    extra = french[1] if len(french) > 1 else ""
    complement, adverb = (extra, "") if french[0] == "avoir" else ("", extra)
    english = english_forms(forms), tuple(particle)
    return Verb(*english, conjugate(french[0]), reflexive, complement, adverb, preposition, flags, objects)


def of_classes(classes: str) -> tuple[Noun | Name, ...]:
    """Nouns and names of any of the classes, and nouns named themselves, in the order of the tables."""
    wanted = set(classes.split())
    heads = (noun for noun in NOUNS if noun.classes & wanted or noun.forms[0].english[0] in wanted)
    return (*heads, *(name for name in NAMES if name.kind in wanted))


def nouns(classes: str, without: str = "") -> tuple[Noun, ...]:
    """Nouns of any of the classes, and of none of those in ``without``."""
    wanted, others = set(classes.split()), set(without.split())
    return tuple(entry for entry in NOUNS if entry.classes & wanted and not entry.classes & others)


def unmarked(verbs: tuple[Verb, ...], marks: str) -> tuple[Verb, ...]:
    """The verbs that have none of the flags."""
    return tuple(entry for entry in verbs if not entry.flags & set(marks.split()))


def bases(verbs: tuple[Verb, ...], names: str) -> tuple[Verb, ...]:
    """The verbs of some English infinitives."""
    return tuple(entry for entry in verbs if entry.english.base in names.split())


def english_of(entry: Noun | Name | Pair) -> str:
    """The English words of an entry."""
    words = entry.forms[0] if isinstance(entry, Noun) else entry.pair if isinstance(entry, Name) else entry
    return " ".join(words.english)


def marked(entries: tuple[Pair, ...], mark: str) -> tuple[Pair, ...]:
    """The entries that have a flag."""
    return tuple(entry for entry in entries if mark in entry.flags)


def _adverbials(table: str) -> tuple[Pair, ...]:
    return tuple(pair(r[0], r[1], r[2])._replace(flags=frozenset(r[3].split())) for r in TABLES[table])


def _verbs(table: str, frame: str = "") -> tuple[Verb, ...]:
    """The verbs of a table; those that take persons as objects get the flag `somebody`, all get `frame`."""
    verbs = []
    for row in TABLES[table]:
        somebody = " somebody" if "person" in row[2].split() else ""
        verbs.append(verb([*row[:3], f"{row[3]} {frame}{somebody}"], of_classes(row[2])))
    return tuple(verbs)


def _pronoun(row: list[str]) -> Pronoun:
    nominative, accusative = row[1].split()
    subject, direct, indirect, stressed = (row[3].split() + [""] * 3)[:4]
    return Pronoun((nominative, accusative), int(row[2]), subject, direct, indirect, stressed, row[4] == "f")


def _modal(row: list[str]) -> Modal:
    flags = row[3].split()
    words = tuple(row[2].split())
    return Modal(english_forms(row[0]), flags[0], words, conjugate(row[1]), row[4], frozenset(flags))


NOUNS = tuple(noun(row) for row in TABLES["nouns"])
NAMES = tuple(Name(pair(r[0], r[1]), r[2] == "f", r[3]) for r in TABLES["names"])
PRONOUNS: dict[str, Pronoun] = {row[0]: _pronoun(row) for row in TABLES["pronouns"]}
THERE = PRONOUNS["there"]
ADJECTIVES = tuple(adjective(row) for row in TABLES["adjectives"])
TIMES, ADVERBS, QUANTITIES, WORDS = map(_adverbials, ("times", "adverbs", "quantities", "words"))
WORD: dict[str, Pair] = {english_of(word): word for word in WORDS if "ask" not in word.flags}
PLACES = tuple((WORD[r[0]], of_classes(r[1]), of_classes(r[2])) for r in TABLES["places"])
TRANSITIVE, INTRANSITIVE, SAYING = map(_verbs, ("transitive", "intransitive", "saying"))
DITRANSITIVE = _verbs("ditransitive", "given")
MODALS = tuple(_modal(row) for row in TABLES["modals"])
STATES = tuple(State(r[0], conjugate(r[1]), r[2], r[3]) for r in TABLES["states"])
BE = verb(["be/was/been", "être", "", "stative imperfect"], ())
RAIN = verb(["rain", "pleuvoir", "", ""], ())
SNOW = verb(["snow", "neiger", "", ""], ())
MISS = verb(["miss", "manquer à", "person", "stative swapped somebody"], of_classes("person"))
