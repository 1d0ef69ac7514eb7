"""Chooses noun phrases at random, as they make sense in their context."""

import random
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple, TypeVar

from translate.grammar import lexicon
from translate.grammar.lexicon import (
    PRONOUNS,
    WORD,
    Adjective,
    Name,
    Noun,
    Pair,
    Verb,
    english_of,
    of_classes,
)
from translate.grammar.meaning import Phrase, PrepositionalPhrase, Relative

Item = TypeVar("Item")


class Weights(NamedTuple):
    """Names with their cumulative weights."""

    names: tuple[str, ...]
    bounds: tuple[float, ...]


def weights(written: str) -> Weights:
    """Parse the weights of the tables below, such as `the 52 my 20`."""
    words = written.split()
    return Weights(tuple(words[::2]), tuple(accumulate(float(word) for word in words[1::2])))


_SUBJECT_PRONOUNS = weights("I 24 you 18 he 20 she 20 we 18 they 18")

# role of a phrase -> its determiners; "my" is any possessive, "number" and "quantity" any of their kind
_SINGULAR = {
    "subject": weights("the 52 my 20 this 9 that 5 a 8 quantity 6"),
    "object": weights("the 42 a 30 my 18 this 6 that 4"),
    "negated": weights("the 40 a 22 my 24 this 9 that 5"),
    "definite": weights("the 60 my 24 this 10 that 6"),
    "oblique": weights("the 58 my 24 this 9 a 9"),
    "generic": weights("the 46 my 26 this 18 that 10"),
}
_PLURAL = {
    "subject": weights("the 42 my 18 this 8 all 8 number 12 quantity 7 some 5"),
    "object": weights("the 24 my 12 this 6 that 4 all 4 number 18 quantity 12 some 12 bare 8"),
    "negated": weights("the 38 my 22 this 8 that 6 any 18 bare 8"),
    "definite": weights("the 52 my 24 this 12 all 12"),
    "oblique": weights("the 54 my 24 this 10 number 12"),
    "generic": weights("generic 46 the 26 my 18 this 10"),
}
_MASS = {
    "subject": weights("the 70 my 14 this 16"),
    "object": weights("the 32 some 26 bare 16 my 8 this 6 quantity 12"),
    "negated": weights("the 34 any 30 bare 18 my 10 this 8"),
    "definite": weights("the 60 my 20 this 20"),
    "oblique": weights("the 70 my 15 this 15"),
    "generic": weights("generic 62 the 20 my 8 this 10"),
}
DEFINITE = ("the", "this", "that", "all", "generic", "my", "your", "his", "her", "our", "their")
NUMBERS = lexicon.marked(lexicon.QUANTITIES, "number")
_OF_PLURALS = tuple(q for q in lexicon.QUANTITIES if "plural" in q.flags and "number" not in q.flags)
_OF_MASS = lexicon.marked(lexicon.QUANTITIES, "mass")
_EVERY = lexicon.marked(lexicon.QUANTITIES, "single")
_OWNER_OF = {"I": "my", "you": "your", "he": "his", "she": "her", "we": "our", "they": "their"}
_OWNERS = tuple(_OWNER_OF.values())

PERSONS = of_classes("person")
FIRST_NAMES = tuple(name for name in lexicon.NAMES if name.kind == "person")
_CITIES = of_classes("city country")
OWNED = lexicon.nouns("vehicle cycle building clothes own thing")
ADJECTIVES_OF: dict[str, tuple[Adjective, ...]] = {
    english_of(noun): tuple(adjective for adjective in lexicon.ADJECTIVES if adjective.classes & noun.classes)
    for noun in lexicon.NOUNS
}
_PLAIN = [verb for verb in lexicon.unmarked(lexicon.TRANSITIVE, "fixed") if not verb.preposition]
VERBS_OF: dict[str, tuple[Verb, ...]] = {
    english_of(noun): tuple(verb for verb in _PLAIN if noun in verb.objects) for noun in lexicon.NOUNS
}


class PhraseChooser:
    """Draws noun phrases; `budget` is the number of ornaments that the sentence may still get."""

    def __init__(self, seed: int) -> None:
        # only random() is guaranteed to give the same numbers in every version of Python
        self.draw = random.Random(seed).random
        self.budget = 0

    def chance(self, probability: float) -> bool:
        """True with this probability."""
        return self.draw() < probability

    def ornament(self, probability: float) -> bool:
        """True with this probability while the budget lasts; True costs one of it."""
        if self.budget <= 0 or self.draw() >= probability:
            return False
        self.budget -= 1
        return True

    def pick(self, items: Sequence[Item]) -> Item:
        """One of the items, all equally likely."""
        return items[int(self.draw() * len(items))]

    def weighted(self, table: Weights) -> str:
        """One of the names, by weight."""
        return table.names[bisect_right(table.bounds, self.draw() * table.bounds[-1])]

    def pronoun(self) -> Phrase:
        """A personal pronoun for a subject."""
        return Phrase(PRONOUNS[self.weighted(_SUBJECT_PRONOUNS)])

    def named(self) -> Phrase:
        """Somebody with a name."""
        return Phrase(self.pick(FIRST_NAMES))

    def person(self, *, pronouns: float = 0.5) -> Phrase:
        """A person as a subject, with probability `pronouns` a pronoun; perhaps two persons."""
        if self.chance(pronouns):
            return self.pronoun()
        first = self.some_person("subject", plain=False)
        if first.relative is None and first.owner is None and self.ornament(0.07):
            second = self.some_person("definite")
            if second.head is not first.head:
                return first._replace(joined=second)
        return first

    def some_person(self, role: str, *, plain: bool = True) -> Phrase:
        """A person by name or by a noun, about whom nothing more is said if `plain`."""
        if self.chance(0.3):
            return self.named()
        head = self.pick(PERSONS)
        return self.noun(head, role, plain=plain) if isinstance(head, Noun) else Phrase(head)

    def noun(
        self,
        head: Noun,
        role: str,
        *,
        plural: bool | None = None,
        subject: Phrase | None = None,
        plain: bool = False,
    ) -> Phrase:
        """A phrase with this noun.

        Args:
            role: a key of the tables of determiners.
            subject: its possessive is likelier than others.
            plain: nothing follows the noun.
        """
        mass = "mass" in head.classes
        if mass or "single" in head.classes:
            plural = False
        elif plural is None:
            plural = self.chance(0.34)
        name = self.weighted((_MASS if mass else _PLURAL if plural else _SINGULAR)[role])
        quantity = None
        if name == "my" and ("public" in head.classes or head.classes == {"person"}):
            name = "the"  # not my station, not her man
        if "kin" in head.classes or name == "my":
            name = self._owner(subject)
        elif name == "number":
            quantity, name = self.pick(NUMBERS), "the" if self.chance(0.2) else ""
        elif name == "quantity":
            quantity, name = self.pick(_OF_MASS if mass else _OF_PLURALS if plural else _EVERY), ""
        adjectives = self._adjectives(head) if self.ornament(0.34) else ()
        phrase = Phrase(head, name, plural, adjectives, quantity)
        if plain or quantity is not None or adjectives or name not in ("the", "a", "this", "that", "all"):
            return phrase
        if name == "the" and head in OWNED and self.ornament(0.1):
            return phrase._replace(owner=self.some_person("definite"))
        return phrase._replace(relative=self.relative(phrase)) if self.ornament(0.14) else phrase

    def _owner(self, subject: Phrase | None) -> str:
        if subject is not None and self.chance(0.6):
            for name, owner in _OWNER_OF.items():
                if subject.head is PRONOUNS[name]:
                    return owner
            if isinstance(subject.head, Name):
                return "her" if subject.head.feminine else "his"
        return self.pick(_OWNERS)

    def _adjectives(self, head: Noun) -> tuple[Adjective, ...]:
        """One adjective, or two: one before the French noun and one after it."""
        fitting = [a for a in ADJECTIVES_OF[english_of(head)] if not a.predicative]
        if not fitting:
            return ()
        first = self.pick(fitting)
        after = [a for a in fitting if not a.before] if first.before and self.chance(0.15) else []
        return (first, self.pick(after)) if after else (first,)

    def place(self, *, cities: float = 0.1, things: bool = False) -> PrepositionalPhrase:
        """The place of a person or an event, or of a thing if `things`."""
        if self.chance(cities):
            return PrepositionalPhrase(WORD["in"], Phrase(self.pick(_CITIES)))
        return self.place_at(self.pick(_THING_PLACES if things else _PERSON_PLACES))

    def place_at(self, choice: tuple[Pair, tuple[Noun | Name, ...]]) -> PrepositionalPhrase:
        """The preposition with one of its nouns."""
        preposition, nouns = choice
        head = self.pick(nouns)
        assert isinstance(head, Noun)
        return PrepositionalPhrase(preposition, self.single(head))

    def single(self, head: Noun) -> Phrase:
        """One thing of this kind after a preposition."""
        return self.noun(head, "oblique", plural=False, plain=True)

    def relative(self, antecedent: Phrase) -> Relative | None:
        """A short relative clause about the antecedent; the chooser of clauses implements it."""
        raise NotImplementedError


# mostly in and at
_PERSON_PLACES = tuple(
    (preposition, persons)
    for preposition, persons, _ in lexicon.PLACES
    for _ in range(3 if len(persons) > 6 else 1)
)
_THING_PLACES = tuple((preposition, things) for preposition, _, things in lexicon.PLACES if things)
