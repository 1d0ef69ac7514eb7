"""Chooses clauses with `be` at random: qualities, locations, ages, the weather, `this is`, `there is`."""

from translate.grammar.entries import Adjective, Noun
from translate.grammar.meaning import Age, Clause, Phrase, PrepositionalPhrase, Quality
from translate.grammar.modifiers import ADJECTIVES, ADVERBS, PLACES, TIMES, WORD, WORDS
from translate.grammar.nouns import NOUNS, PRONOUNS, of_classes
from translate.grammar.phrase_choice import (
    ADJECTIVES_OF,
    DEFINITE,
    NUMBERS,
    PhraseChooser,
    key,
    weights,
)
from translate.grammar.verbs import BE, RAIN, SNOW, STATES

_TENSES = weights("present 60 past 24 future 16")
_STATE_TENSES = weights("present 70 past 30")
_WEATHER_TENSES = weights("present 2 progressive 3 past 2 future 2 going 1")
_NEGATIONS = weights("not 70 never 18 no-longer 12")
_MID = tuple(a for a in ADVERBS if "mid" in a.flags)
_DEGREES = tuple(a for a in ADVERBS if "degree" in a.flags)
_COMPARISONS = tuple(w for w in WORDS if "comparison" in w.flags)
_SELF = tuple(state for state in STATES if state.kind == "self")
_WEATHER = tuple(state for state in STATES if state.kind == "weather")
QUALIFIED = tuple(noun for noun in NOUNS if len(ADJECTIVES_OF[key(noun)]) > 1)
_OF_PERSONS = tuple(a for a in ADJECTIVES if "person" in a.classes)
_OF_IT = tuple(
    a for a in ADJECTIVES if a.classes & {"thing", "clothes", "text"} and "person" not in a.classes
)
_THINGS = tuple(
    n for n in NOUNS if n.classes & {"thing", "clothes", "text", "animal", "food"} and "mass" not in n.classes
)
_SHOWN = tuple(
    n for n in NOUNS if n.classes & {"thing", "text", "clothes", "vehicle", "place", "person", "flower"}
    and "mass" not in n.classes
)  # fmt: skip
_THERE = tuple(n for n in NOUNS if n.classes & {"thing", "text", "food", "animal", "drink", "clothes"})
_BUILDINGS = tuple(n for n in of_classes("goal building") if isinstance(n, Noun))
_BY_WORD = {" ".join(word.pair.english): (word, persons, things) for word, persons, things in PLACES}
_NEAR = tuple((_BY_WORD[name][0], _BY_WORD[name][1]) for name in ("near", "behind", "next to"))
_SERVED = ((WORD["on"], of_classes("table")), (WORD["in"], of_classes("kitchen")))
_SHORT_TIMES = tuple(t for t in TIMES if len(t.pair.english) < 3 and t.pair.english[0] != "in")


class StateChooser(PhraseChooser):
    """Draws clauses with `be`."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        # whether `it` and `them` may be objects, which must not seem to refer to an earlier noun
        self.antecedent_free = True

    def other_person(self, subject: Phrase) -> Phrase:
        """A pronoun for a person other than the subject."""
        head = subject.head
        first, second = head in (PRONOUNS["I"], PRONOUNS["we"]), head is PRONOUNS["you"]
        names = [] if first else ["I", "we"]
        names += ["he", "she"] if second else ["you", "he", "she"]
        return Phrase(PRONOUNS[self.pick([*names, "they"] if self.antecedent_free else names)])

    def state(self, subject: Phrase | None, kind: str, tense: str, *, positive: bool) -> Clause:
        """A clause about a quality, comparison, location, state or age of somebody or something."""
        if kind in ("state", "age"):
            return self._person_state(subject or self.person(pronouns=0.6), kind, tense, positive=positive)
        tense = tense if tense in _TENSES.names else self.weighted(_TENSES)
        if kind == "location":
            things = subject is None and self.chance(0.5)
            subject = (
                self.noun(self.pick(_THINGS), "definite", plain=True) if things else subject or self.person()
            )
            return Clause(
                subject, BE, tense, predicate=self.place(cities=0 if things else 0.25, things=things)
            )
        if subject is None and kind == "quality" and self.chance(0.06):
            return Clause(Phrase(PRONOUNS["it"]), BE, tense, predicate=Quality(self.pick(_OF_IT)))
        if subject is None:
            subject = self.person() if self.chance(0.5) else self.noun(self.pick(QUALIFIED), "definite")
        if kind == "comparison" and subject.joined is None and subject.relative is None:
            usable = [a for a in self._fitting(subject) if a.comparative != "-"]
            if usable:
                quality = Quality(self.pick(usable), self.pick(_COMPARISONS), self._rival(subject))
                return Clause(subject._replace(adjectives=()), BE, tense, predicate=quality)
        return self.quality_clause(subject._replace(adjectives=()), tense, positive=positive)

    def _fitting(self, subject: Phrase) -> tuple[Adjective, ...]:
        head = subject.head
        return ADJECTIVES_OF[key(head)] if isinstance(head, Noun) else _OF_PERSONS

    def _rival(self, subject: Phrase) -> Phrase:
        """Another person or thing of the subject's kind, for a comparison."""
        head = subject.head
        if isinstance(head, Noun) and "person" not in head.classes:
            others = [n for n in QUALIFIED if n.classes & head.classes and n is not head]
            return self.noun(self.pick(others or [head]), "definite", plural=subject.plural, plain=True)
        person = self.other_than_pronoun("definite", plain=True)
        return self.other_person(subject) if person.head is head or self.chance(0.35) else person

    def quality_clause(self, subject: Phrase, tense: str, *, positive: bool = False) -> Clause:
        """A clause about a quality of the subject."""
        adjective = self.pick(self._fitting(subject))
        degree = self.pick(_DEGREES) if "absolute" not in adjective.classes and self.ornament(0.25) else None
        content = Clause(subject, BE, tense, predicate=Quality(adjective, degree))
        if tense != "present" or degree is not None:
            return content
        return self._negated_or_often(content, positive=positive) if self.ornament(0.3) else content

    def _negated_or_often(self, content: Clause, *, positive: bool) -> Clause:
        if positive or self.chance(0.4):
            return content._replace(adverb=self.pick(_MID))
        return content._replace(negation=WORD[self.weighted(_NEGATIONS).replace("-", " ")])

    def _person_state(self, subject: Phrase, kind: str, tense: str, *, positive: bool) -> Clause:
        if kind == "age":
            return Clause(subject, BE, "present", predicate=Age(self.pick(NUMBERS[4:])))
        tense = tense if tense in _TENSES.names else self.weighted(_STATE_TENSES)
        content = Clause(subject, BE, tense, predicate=self.pick(_SELF))
        if tense == "present" and self.chance(0.4):
            return self._negated_or_often(content, positive=positive)
        return content

    def there(self, *, asking: bool) -> Clause:
        """A clause with `there is`."""
        near = self.chance(0.25)
        head = self.pick(_BUILDINGS if near else _THERE)
        mass = "mass" in head.classes
        if near:
            where = self.near(apart_from=head)
        else:
            where = self.place_at(self.pick(_SERVED)) if mass else self.place(cities=0, things=True)
        plural = not (mass or near or asking) and self.chance(0.6)
        thing = self.noun(head, "object", plural=plural, plain=True)
        if thing.determiner in DEFINITE:
            name = "bare" if mass else "some" if plural else "a"
            none = not asking and self.chance(0.3)
            thing = thing._replace(determiner="no" if none else name, quantity=None)
        tense = self.weighted(_TENSES)
        return Clause(Phrase(PRONOUNS["there"]), BE, tense, object=thing, place=where)

    def near(self, *, apart_from: Noun | None = None) -> PrepositionalPhrase:
        """Near, behind or next to another place."""
        preposition, places = self.pick(_NEAR)
        return self.place_at((preposition, tuple(place for place in places if place is not apart_from)))

    def weather(self, *, tense: str = "") -> Clause:
        """A clause about the weather, perhaps with a time; about rain or snow if the `tense` is given."""
        it, place = Phrase(PRONOUNS["it"]), self.place(cities=1.0) if self.ornament(0.4) else None
        time = None
        if not tense and self.chance(0.5):
            content = Clause(it, BE, self.weighted(_TENSES), predicate=self.pick(_WEATHER), place=place)
        else:
            verb = RAIN if self.chance(0.6) else SNOW
            content = Clause(it, verb, tense or self.weighted(_WEATHER_TENSES), place=place)
        times = [t for t in _SHORT_TIMES if content.tense in t.flags]
        if times and not tense and self.ornament(0.5):
            time = self.pick(times)
        return content._replace(time=time)

    def showing(self) -> Clause:
        """A clause with `this is` or `these are`."""

        plural = self.chance(0.3)
        head = self.pick([n for n in _SHOWN if not (plural and "single" in n.classes)])
        phrase = self.noun(head, "object", plural=plural)
        if phrase.determiner in ("this", "that", "all", ""):
            phrase = phrase._replace(determiner="the", quantity=None)
        negation = WORD["not"] if self.ornament(0.2) else None
        subject = Phrase(PRONOUNS["these" if plural else "this"])
        return Clause(subject, BE, "present", negation=negation, predicate=phrase)
