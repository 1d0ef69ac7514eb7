"""Entries of the lexicon: pairs of expressions with their word alignment, and their grammar."""

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


def rows(table: str, num_fields: int) -> list[list[str]]:
    """The lines of a table as lists of fields; missing fields at the end are empty."""
    split = [[field.strip() for field in line.split("|")] for line in table.strip().splitlines()]
    return [row + [""] * (num_fields - len(row)) for row in split]


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
    return Verb(
        english_forms(forms),
        tuple(particle),
        conjugate(french[0]),
        reflexive,
        complement,
        adverb,
        preposition,
        flags,
        objects,
    )
