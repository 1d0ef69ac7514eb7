"""The lexicon: pairs of expressions with their word alignment, and their grammar, read from `lexicon.txt`."""

from pathlib import Path
from typing import NamedTuple

from translate.grammar.conjugation import Conjugation, EnglishForms, conjugate, english_forms


class Pair(NamedTuple):
    """An English expression with its French translation and their links.

    `sure[j]` and `possible[j]` hold the indexes of the English words to which French word j is linked.
    """

    english: tuple[str, ...]
    french: tuple[str, ...]
    sure: tuple[tuple[int, ...], ...]
    possible: tuple[tuple[int, ...], ...]


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
    feminine: bool = False


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


class Adverbial(NamedTuple):
    """Fixed words, such as an adverb, a phrase of time, a quantity or a conjunction, with their positions."""

    pair: Pair
    flags: frozenset[str]


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
    heads: list[Noun | Name] = [
        entry for entry in NOUNS if entry.classes & wanted or entry.forms[0].english[0] in wanted
    ]
    heads += [entry for entry in NAMES if entry.kind in wanted]
    return tuple(heads)


def marked(entries: tuple[Adverbial, ...], mark: str) -> tuple[Adverbial, ...]:
    """The entries that have a flag."""
    return tuple(entry for entry in entries if mark in entry.flags)


def _adverbials(table: str) -> tuple[Adverbial, ...]:
    return tuple(Adverbial(pair(r[0], r[1], r[2]), frozenset(r[3].split())) for r in TABLES[table])


def _verbs(table: str, frame: str = "") -> tuple[Verb, ...]:
    """The verbs of a table; those that take persons as objects get the flag `somebody`, all get `frame`."""
    verbs = []
    for row in TABLES[table]:
        somebody = " somebody" if "person" in row[2].split() else ""
        verbs.append(verb([*row[:3], f"{row[3]} {frame}{somebody}"], of_classes(row[2])))
    return tuple(verbs)


def _modal(row: list[str]) -> Modal:
    flags = row[3].split()
    return Modal(
        english_forms(row[0]), flags[0], tuple(row[2].split()), conjugate(row[1]), row[4], frozenset(flags)
    )


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
NOUNS = tuple(noun(row) for row in TABLES["nouns"])
NAMES = tuple(Name(pair(r[0], r[1]), r[2] == "f", r[3]) for r in TABLES["names"])
PRONOUNS: dict[str, Pronoun] = {
    "I": Pronoun(("I", "me"), 0, "je", "me", "me", "moi"),
    "you": Pronoun(("you", "you"), 1, "tu", "te", "te", "toi"),
    "he": Pronoun(("he", "him"), 2, "il", "le", "lui", "lui"),
    "she": Pronoun(("she", "her"), 2, "elle", "la", "lui", "elle", True),
    "it": Pronoun(("it", "it"), 2, "il", "le", "lui", "lui"),
    "it-f": Pronoun(("it", "it"), 2, "elle", "la", "lui", "elle", True),
    "we": Pronoun(("we", "us"), 3, "nous", "nous", "nous", "nous"),
    "they": Pronoun(("they", "them"), 5, "ils", "les", "leur", "eux"),
    "they-f": Pronoun(("they", "them"), 5, "elles", "les", "leur", "elles", True),
    "there": Pronoun(("there", "there"), 2, "il", "", "", ""),
    "this": Pronoun(("this", "this"), 2, "ce", "", "", ""),
    "these": Pronoun(("these", "these"), 5, "ce", "", "", ""),
}
ADJECTIVES = tuple(adjective(row) for row in TABLES["adjectives"])
TIMES, ADVERBS, QUANTITIES, WORDS = map(_adverbials, ("times", "adverbs", "quantities", "words"))
WORD: dict[str, Adverbial] = {" ".join(word.pair.english): word for word in WORDS if "ask" not in word.flags}
PLACES = tuple((WORD[r[0]], of_classes(r[1]), of_classes(r[2])) for r in TABLES["places"])
TRANSITIVE, INTRANSITIVE, SAYING = map(_verbs, ("transitive", "intransitive", "saying"))
DITRANSITIVE = _verbs("ditransitive", "given")
MODALS = tuple(_modal(row) for row in TABLES["modals"])
STATES = tuple(State(r[0], conjugate(r[1]), r[2], r[3]) for r in TABLES["states"])
BE = verb(["be/was/been", "être", "", "stative imperfect"], ())
RAIN = verb(["rain", "pleuvoir", "", ""], ())
SNOW = verb(["snow", "neiger", "", ""], ())
MISS = verb(["miss", "manquer à", "person", "stative swapped somebody"], of_classes("person"))
