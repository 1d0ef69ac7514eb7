"""Chooses clauses at random: who does what, when, where and how; and what is how, where or how old."""

from translate.grammar import lexicon
from translate.grammar.lexicon import (
    BE,
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
from translate.grammar.meaning import Age, Clause, Phrase, PrepositionalPhrase, Quality, Relative, features
from translate.grammar.phrase_choice import ADJECTIVES_OF, NUMBERS, OWNED, VERBS_OF, PhraseChooser, weights

_KINDS = weights(
    "transitive 50 intransitive 16 ditransitive 8 quality 11 comparison 6 state 3 age 2 location 4 miss 2"
)
_TENSES = weights("present 34 progressive 13 past 22 perfect 8 future 12 going 6 modal 13")
_MISSING_TENSES = weights("present 60 past 20 future 20")
_SHORT_TENSES = weights("present 3 progressive 3 past 2")
_NEGATIONS = weights("not 70 never 30")
_PRESENT_NEGATIONS = weights("not 70 never 18 no-longer 12")
_NOBODY, _NOTHING = (name for name in lexicon.NAMES if name.kind == "negative")
_ANYONE = tuple(name for name in lexicon.NAMES if name.kind == "anyone")
_ANIMALS, _RIDES, _GOALS = of_classes("animal"), of_classes("ride"), of_classes("goal top city country")
_MODALS_OF_ALL = tuple(modal for modal in lexicon.MODALS if modal.english.base != "know")
_PLAIN_VERBS = lexicon.unmarked(lexicon.INTRANSITIVE, "motion source settled")
_LIVING = lexicon.bases(lexicon.INTRANSITIVE, "live work sleep rest")
_RELATIVE_TENSES = weights("present 3 past 4 future 1")
_TIME_FLAGS = {tense: tense for tense in ("present", "progressive", "past", "future")} | {"going": "future"}


TIMES_OF = {tense: lexicon.marked(lexicon.TIMES, mark) for tense, mark in _TIME_FLAGS.items()}
_MID, _ANY, _ALREADY, _TOGETHER, _DEGREES = (
    lexicon.marked(lexicon.ADVERBS, mark) for mark in ("mid", "any", "perfect", "plural", "degree")
)
_OF_MANNER = {"slow", "care", "quiet", "well", "alot"}
_VERBS = {
    "transitive": lexicon.TRANSITIVE,
    "intransitive": lexicon.INTRANSITIVE,
    "ditransitive": lexicon.DITRANSITIVE,
}
BE_TENSES = weights("present 60 past 24 future 16")
_STATE_TENSES = weights("present 70 past 30")
_COMPARISONS = lexicon.marked(lexicon.WORDS, "comparison")
_SELF = tuple(state for state in lexicon.STATES if state.kind == "self")
QUALIFIED = tuple(noun for noun in lexicon.NOUNS if len(ADJECTIVES_OF[english_of(noun)]) > 1)
_OF_PERSONS = tuple(a for a in lexicon.ADJECTIVES if "person" in a.classes)
_OF_IT = tuple(
    a for a in lexicon.ADJECTIVES if a.classes & {"thing", "clothes", "text"} and "person" not in a.classes
)
_THINGS = lexicon.nouns("thing clothes text animal food", without="mass")
_BY_WORD = {english_of(word): (word, persons, things) for word, persons, things in lexicon.PLACES}
_NEAR = tuple((_BY_WORD[name][0], _BY_WORD[name][1]) for name in ("near", "behind", "next to"))


class ClauseChooser(PhraseChooser):
    """Draws clauses; `antecedent_free` allows `it` and `them`, if they cannot refer to an earlier noun."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.antecedent_free = True

    def clause(
        self, subject: Phrase | None = None, *, kind: str = "", tense: str = "", positive: bool = False
    ) -> Clause:
        """A clause of the given subject, kind and tense, where they are given; no negation if `positive`."""
        kind = kind or self.weighted(_KINDS)
        if kind == "miss":
            return self._missing(subject, tense, positive=positive)
        if kind in ("quality", "comparison", "location", "state", "age"):
            return self.state(subject, kind, tense, positive=positive)
        verb = self.pick(_VERBS[kind])
        subject = subject or self._doer(verb, positive=positive)
        content = self.inflected(Clause(subject, verb), tense, positive=positive)
        if kind == "intransitive":
            return self._adjuncts(self.moving(content))
        return self._adjuncts(self.with_object(content, asked=positive))

    def _doer(self, verb: Verb, *, positive: bool) -> Phrase:
        if self.chance(0.03):
            return Phrase(self.pick(_ANYONE) if positive or self.chance(0.65) else _NOBODY)
        others = _ANIMALS if "animal" in verb.flags else _RIDES if "ride" in verb.flags else ()
        if others and self.chance(0.25):
            head = self.pick(others)
            assert isinstance(head, Noun)
            return self.noun(head, "subject")
        return self.person()

    def inflected(self, content: Clause, tense: str = "", *, positive: bool = False) -> Clause:
        """The clause with a tense or a modal, and perhaps a negation."""
        flags, modal = content.verb.flags, None
        tense = tense or self.weighted(_TENSES)
        if tense in ("progressive", "modal") and "stative" in flags:
            tense = "present"
        elif tense == "perfect" and "imperfect" in flags:
            tense = "past"
        elif tense == "modal" and "unwilled" in flags:
            tense = "future"
        if tense == "past" and "fixed" in flags:
            tense = "perfect"
        if tense == "modal":
            modal = self.pick(lexicon.MODALS if "skill" in flags else _MODALS_OF_ALL)
            tense = "past" if modal.english.base in ("want", "try") and self.chance(0.3) else "present"
        negation = None
        bare = modal is not None and modal.kind != "full"
        positive = positive or content.subject.head is _NOBODY or content.subject.head in _ANYONE
        if not (positive or bare) and self.chance(0.17):
            name = self.weighted(_PRESENT_NEGATIONS if tense == "present" else _NEGATIONS)
            negation = WORD["not" if tense in ("progressive", "going") else name.replace("-", " ")]
        elif modal is not None and modal.english.base == "can" and not positive and self.chance(0.3):
            negation = WORD["not"]
        return content._replace(tense=tense, modal=modal, negation=negation)

    def with_object(self, content: Clause, *, asked: bool = False) -> Clause:
        """The clause with the objects of its verb; `asked` excludes nobody and nothing."""
        verb, subject = content.verb, content.subject
        thing: Phrase | None = None
        if "nounal" not in verb.flags and self.chance(0.2):
            thing = self._object_pronoun(verb, subject)
        usual = content.negation is None and not asked and not isinstance(subject.head, Name)
        usual = usual and not verb.preposition and "given" not in verb.flags
        if thing is None and usual and self.chance(0.02):
            thing = Phrase(_NOBODY if "somebody" in verb.flags else _NOTHING)
        content = content._replace(object=thing or self.object_noun(verb, content))
        if "given" not in verb.flags:
            return content
        person = self.some_person("definite")
        if person.head is subject.head or self.chance(0.5):
            person = self.other_person(subject)
        return content._replace(recipient=person)

    def _object_pronoun(self, verb: Verb, subject: Phrase) -> Phrase | None:
        if "somebody" in verb.flags:
            return self.other_person(subject)
        if not self.antecedent_free:
            return None
        mass = all("mass" in noun.classes for noun in verb.objects if isinstance(noun, Noun))
        return Phrase(PRONOUNS["it" if mass or self.chance(0.65) else "they"])

    def object_noun(self, verb: Verb, content: Clause) -> Phrase:
        """A noun that the verb may have as its object."""
        head = self.pick(verb.objects)
        if isinstance(head, Name):
            return Phrase(head, "generic" if head.kind == "country" else "")
        if "generic" in verb.flags:
            role = "generic"
        elif content.negation is not None:
            role = "negated"
        elif content.subject.head is _NOBODY or verb.preposition == "de":
            role = "definite"
        else:
            role = "oblique" if verb.preposition else "object"
        return self.noun(head, role, subject=content.subject)

    def moving(self, content: Clause) -> Clause:
        """The clause with a goal or origin if its verb moves, or with a place if its verb needs one."""
        flags = content.verb.flags
        if "motion" in flags or ("source" in flags and self.chance(0.7)):
            head = self.pick(_GOALS)
            goal = self.single(head) if isinstance(head, Noun) else Phrase(head)
            word = WORD["to" if "motion" in flags else "from"]
            return content._replace(place=PrepositionalPhrase(word, goal))
        if "settled" not in flags:
            return content
        return content._replace(place=self.near() if self.chance(0.4) else self.place(cities=1.0))

    def _adjuncts(self, content: Clause) -> Clause:
        """The clause with adverbs, place, company and time, as far as the budget allows."""
        flags, subject, tense = content.verb.flags, content.subject, content.tense
        if "stative" in flags:
            return content
        place, company, time = content.place, None, None
        if place is None and "nowhere" not in flags and self.ornament(0.14):
            place = self.place()
        if self.ornament(0.08):
            whom = self.other_person(subject) if self.chance(0.25) else self.some_person("oblique")
            company = PrepositionalPhrase(WORD["with" if self.chance(0.75) else "without"], whom)
        if content.modal is None and tense in TIMES_OF and self.ornament(0.36):
            time = self.pick(TIMES_OF[tense])
        never = content.negation is not None and content.negation is not WORD["not"]
        adverb = self._adverb(content)
        manner = self._manner(content) if adverb is None else None
        if never or (adverb is not None and tense == "present"):
            time = None
        return content._replace(adverb=adverb, manner=manner, place=place, company=company, time=time)

    def _adverb(self, content: Clause) -> Pair | None:
        if content.negation is not None or content.modal is not None or content.subject.head is _NOBODY:
            return None
        if content.tense == "present":
            return self.pick(_MID) if self.ornament(0.18) else None
        if content.tense == "perfect":
            return self.pick(_ALREADY) if self.ornament(0.3) else None
        return self.pick(_ANY) if self.ornament(0.04) else None

    def _manner(self, content: Clause) -> Pair | None:
        fitting = [adverb for adverb in lexicon.ADVERBS if adverb.flags & content.verb.flags & _OF_MANNER]
        if fitting and self.ornament(0.2):
            return self.pick(fitting)
        if features(content.subject).plural and content.recipient is None and self.ornament(0.06):
            return self.pick(_TOGETHER)
        return None

    def _missing(self, subject: Phrase | None, tense: str, *, positive: bool) -> Clause:
        subject = (subject or self.person(pronouns=0.6))._replace(joined=None)
        missed = self.other_person(subject) if self.chance(0.5) else self.some_person("definite")
        negation = WORD["not"] if not positive and self.chance(0.15) else None
        tense = tense if tense in _MISSING_TENSES.names else self.weighted(_MISSING_TENSES)
        return Clause(subject, lexicon.MISS, tense, object=missed, negation=negation)

    def relative(self, antecedent: Phrase) -> Relative | None:
        """A short relative clause about the antecedent (who sings, that I bought), if one makes sense."""
        head = antecedent.head
        assert isinstance(head, Noun)
        verbs = VERBS_OF[english_of(head)]
        kinds = "object 5 " if verbs else ""
        kinds += "where 5 " if "place" in head.classes else ""
        kinds += "subject 9 whose 2" if "person" in head.classes else ""
        kinds += "subject 4" if "animal" in head.classes else ""
        if not kinds:
            return None
        kind = self.weighted(weights(kinds))
        if kind == "subject":
            who = "who" if "person" in head.classes else "that"
            return Relative(who, self._short_clause(antecedent)._replace(gap="subject"))
        if kind == "whose":
            thing = self.pick(OWNED)
            return Relative(
                "whose", self._quality_clause(Phrase(thing, "whose", self.chance(0.2)), "present")
            )
        subject = self.pronoun() if self.chance(0.65) else self.named()
        if kind == "where":
            return Relative("where", Clause(subject, self.pick(_LIVING), "present", gap="place"))
        verb, tense = self.pick(verbs), self.weighted(_RELATIVE_TENSES)
        return Relative("that", Clause(subject, verb, tense, object=antecedent, gap="object"))

    def _short_clause(self, subject: Phrase) -> Clause:
        """The content of a relative clause about the subject."""
        head = subject.head
        assert isinstance(head, Noun)
        animal = "animal" in head.classes
        verbs = _PLAIN_VERBS if self.chance(0.5) else lexicon.TRANSITIVE
        verb = self.pick([v for v in verbs if "animal" in v.flags] if animal else verbs)
        content = self.inflected(Clause(subject, verb), self.weighted(_SHORT_TENSES), positive=True)
        if not verb.objects:
            return content
        thing = self.object_noun(verb, content)
        return content._replace(object=thing._replace(relative=None, owner=None))

    def other_person(self, subject: Phrase) -> Phrase:
        """A pronoun for a person other than the subject."""
        head = subject.head
        names = [] if head in (PRONOUNS["I"], PRONOUNS["we"]) else ["I", "we"]
        names += ["he", "she"] if head is PRONOUNS["you"] else ["you", "he", "she"]
        return Phrase(PRONOUNS[self.pick([*names, "they"] if self.antecedent_free else names)])

    def state(self, subject: Phrase | None, kind: str, tense: str, *, positive: bool) -> Clause:
        """A clause about a quality, comparison, location, state or age of somebody or something."""
        if kind in ("state", "age"):
            return self._person_state(subject or self.person(pronouns=0.6), kind, tense, positive=positive)
        tense = tense if tense in BE_TENSES.names else self.weighted(BE_TENSES)
        if kind == "location":
            if subject is None and self.chance(0.5):
                subject = self.noun(self.pick(_THINGS), "definite", plain=True)
                return Clause(subject, BE, tense, predicate=self.place(cities=0, things=True))
            return Clause(subject or self.person(), BE, tense, predicate=self.place(cities=0.25))
        if subject is None and kind == "quality" and self.chance(0.06):
            return Clause(Phrase(PRONOUNS["it"]), BE, tense, predicate=Quality(self.pick(_OF_IT)))
        if subject is None:
            subject = self.person() if self.chance(0.5) else self.noun(self.pick(QUALIFIED), "definite")
        if kind == "comparison" and subject.joined is None and subject.relative is None:
            usable = [a for a in self._fitting(subject) if a.comparative != "-"]
            if usable:
                quality = Quality(self.pick(usable), self.pick(_COMPARISONS), self._rival(subject))
                return Clause(subject._replace(adjectives=()), BE, tense, predicate=quality)
        return self._quality_clause(subject._replace(adjectives=()), tense, positive=positive)

    def _fitting(self, subject: Phrase) -> tuple[Adjective, ...]:
        head = subject.head
        return ADJECTIVES_OF[english_of(head)] if isinstance(head, Noun) else _OF_PERSONS

    def _rival(self, subject: Phrase) -> Phrase:
        """Another person or thing of the subject's kind, for a comparison."""
        head = subject.head
        if isinstance(head, Noun) and "person" not in head.classes:
            others = [n for n in QUALIFIED if n.classes & head.classes and n is not head]
            return self.noun(self.pick(others or [head]), "definite", plural=subject.plural, plain=True)
        person = self.some_person("definite")
        return self.other_person(subject) if person.head is head or self.chance(0.35) else person

    def _quality_clause(self, subject: Phrase, tense: str, *, positive: bool = False) -> Clause:
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
        return content._replace(negation=WORD[self.weighted(_PRESENT_NEGATIONS).replace("-", " ")])

    def _person_state(self, subject: Phrase, kind: str, tense: str, *, positive: bool) -> Clause:
        if kind == "age":
            return Clause(subject, BE, "present", predicate=Age(self.pick(NUMBERS[4:])))
        tense = tense if tense in BE_TENSES.names else self.weighted(_STATE_TENSES)
        content = Clause(subject, BE, tense, predicate=self.pick(_SELF))
        if tense == "present" and self.chance(0.4):
            return self._negated_or_often(content, positive=positive)
        return content

    def near(self, *, apart_from: Noun | None = None) -> PrepositionalPhrase:
        """Near, behind or next to another place."""
        preposition, places = self.pick(_NEAR)
        return self.place_at((preposition, tuple(place for place in places if place is not apart_from)))
