"""Chooses clauses at random: who does what, when, where and how."""

from translate.grammar.entries import Adverbial, Name, Noun, Verb
from translate.grammar.meaning import Clause, Phrase, PrepositionalPhrase, features
from translate.grammar.modifiers import ADVERBS, TIMES, WORD
from translate.grammar.nouns import NAMES, PRONOUNS, of_classes
from translate.grammar.phrase_choice import weights
from translate.grammar.state_choice import StateChooser
from translate.grammar.verbs import DITRANSITIVE, INTRANSITIVE, MISS, MODALS, TRANSITIVE

_KINDS = weights(
    "transitive 50 intransitive 16 ditransitive 8 quality 11 comparison 6 state 3 age 2 location 4 miss 2"
)
_TENSES = weights("present 34 progressive 13 past 22 perfect 8 future 12 going 6 modal 13")
_MISSING_TENSES = weights("present 60 past 20 future 20")
_SHORT_TENSES = weights("present 3 progressive 3 past 2")
_NEGATIONS = weights("not 70 never 30")
_PRESENT_NEGATIONS = weights("not 70 never 18 no-longer 12")
_NOBODY, _NOTHING = (name for name in NAMES if name.kind == "negative")
_ANYONE = tuple(name for name in NAMES if name.kind == "anyone")
_ANIMALS, _RIDES, _GOALS = of_classes("animal"), of_classes("ride"), of_classes("goal top city country")
_MODALS_OF_ALL = tuple(modal for modal in MODALS if modal.english.base != "know")
_PLAIN_VERBS = tuple(v for v in INTRANSITIVE if not v.flags & {"motion", "source", "settled"})
_LIVING = tuple(v for v in INTRANSITIVE if v.english.base in ("live", "work", "sleep", "rest"))
_TIME_FLAGS = {
    "present": "present", "progressive": "progressive", "past": "past", "future": "future", "going": "future",
}  # fmt: skip


def _marked(entries: tuple[Adverbial, ...], mark: str) -> tuple[Adverbial, ...]:
    return tuple(entry for entry in entries if mark in entry.flags)


TIMES_OF = {tense: _marked(TIMES, mark) for tense, mark in _TIME_FLAGS.items()}
_MID, _ANY, _ALREADY, _TOGETHER = (_marked(ADVERBS, mark) for mark in ("mid", "any", "perfect", "plural"))
_MANNER = {
    verb.english: tuple(
        a for a in ADVERBS if a.flags & verb.flags & {"slow", "care", "quiet", "well", "alot"}
    )
    for verb in (*TRANSITIVE, *INTRANSITIVE)
}


class ClauseChooser(StateChooser):
    """Draws clauses."""

    def clause(
        self, subject: Phrase | None = None, *, kind: str = "", tense: str = "", positive: bool = False
    ) -> Clause:
        """A clause of the given subject, kind and tense, where they are given; no negation if `positive`."""
        kind = kind or self.weighted(_KINDS)
        if kind == "miss":
            return self._missing(subject, tense, positive=positive)
        if kind in ("quality", "comparison", "location", "state", "age"):
            return self.state(subject, kind, tense, positive=positive)
        if kind == "transitive":
            verb = self.pick(TRANSITIVE)
        else:
            verb = self.pick(INTRANSITIVE if kind == "intransitive" else DITRANSITIVE)
        subject = subject or self._doer(verb, positive=positive)
        content = self.inflected(Clause(subject, verb), tense, positive=positive)
        content = (
            self.moving(content) if kind == "intransitive" else self.with_object(content, asked=positive)
        )
        return self._adjuncts(content)

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
            modal = self.pick(MODALS if "skill" in flags else _MODALS_OF_ALL)
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
        if (
            thing is None
            and usual
            and not verb.preposition
            and "given" not in verb.flags
            and self.chance(0.02)
        ):
            thing = Phrase(_NOBODY if "somebody" in verb.flags else _NOTHING)
        content = content._replace(object=thing or self.object_noun(verb, content))
        if "given" not in verb.flags:
            return content
        person = self.other_than_pronoun("definite", plain=True)
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
            if isinstance(head, Noun):
                goal = self.noun(head, "oblique", plural=False, plain=True)
            else:
                goal = Phrase(head)
            return content._replace(
                place=PrepositionalPhrase(WORD["to" if "motion" in flags else "from"], goal)
            )
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
            whom = (
                self.other_person(subject)
                if self.chance(0.25)
                else self.other_than_pronoun("oblique", plain=True)
            )
            company = PrepositionalPhrase(WORD["with" if self.chance(0.75) else "without"], whom)
        if content.modal is None and tense in TIMES_OF and self.ornament(0.36):
            time = self.pick(TIMES_OF[tense])
        never = content.negation is not None and content.negation is not WORD["not"]
        adverb = self._adverb(content)
        manner = self._manner(content) if adverb is None else None
        if never or (adverb is not None and tense == "present"):
            time = None
        return content._replace(adverb=adverb, manner=manner, place=place, company=company, time=time)

    def _adverb(self, content: Clause) -> Adverbial | None:
        if content.negation is not None or content.modal is not None or content.subject.head is _NOBODY:
            return None
        if content.tense == "present":
            return self.pick(_MID) if self.ornament(0.18) else None
        if content.tense == "perfect":
            return self.pick(_ALREADY) if self.ornament(0.3) else None
        return self.pick(_ANY) if self.ornament(0.04) else None

    def _manner(self, content: Clause) -> Adverbial | None:
        fitting = _MANNER.get(content.verb.english, ())
        if fitting and self.ornament(0.2):
            return self.pick(fitting)
        if features(content.subject).plural and content.recipient is None and self.ornament(0.06):
            return self.pick(_TOGETHER)
        return None

    def _missing(self, subject: Phrase | None, tense: str, *, positive: bool) -> Clause:
        subject = (subject or self.person(pronouns=0.6))._replace(joined=None)
        missed = (
            self.other_person(subject)
            if self.chance(0.5)
            else self.other_than_pronoun("definite", plain=True)
        )
        negation = WORD["not"] if not positive and self.chance(0.15) else None
        tense = tense if tense in _MISSING_TENSES.names else self.weighted(_MISSING_TENSES)
        return Clause(subject, MISS, tense, object=missed, negation=negation)

    def short_clause(self, subject: Phrase) -> Clause:
        """The content of a relative clause about the subject."""
        head = subject.head
        assert isinstance(head, Noun)
        animal = "animal" in head.classes
        verbs = _PLAIN_VERBS if self.chance(0.5) else TRANSITIVE
        verb = self.pick([v for v in verbs if "animal" in v.flags] if animal else verbs)
        content = self.inflected(Clause(subject, verb), self.weighted(_SHORT_TENSES), positive=True)
        if not verb.objects:
            return content
        thing = self.object_noun(verb, content)
        return content._replace(object=thing._replace(relative=None, owner=None))

    def living_clause(self, subject: Phrase) -> Clause:
        """A clause about somebody at the place that the clause modifies."""
        return Clause(subject, self.pick(_LIVING), "present", gap="place")
