"""Chooses whole sentences at random: statements, questions, commands, and two clauses together."""

from translate.grammar import lexicon
from translate.grammar.clause_choice import BE_TENSES, QUALIFIED, ClauseChooser
from translate.grammar.lexicon import BE, PRONOUNS, THERE, WORD, Name, Noun, Pronoun, english_of, of_classes
from translate.grammar.meaning import Clause, Phrase, Sentence
from translate.grammar.phrase_choice import DEFINITE, VERBS_OF, weights

_KINDS = weights(
    "statement 64 question 10 asked 5 command 10 proposal 2 joined 3 anaphora 2 saying 2 there 2"
    " weather 2 this 3"
)
_ASKED = weights("where 20 adverb 30 who 16 whom 10 what 14 which 12 many 8")
_WHEN_TENSES = weights("past 1 future 1 going 1")
_TOLD_TENSES = weights("present 3 past 4 future 2 perfect 1")
_CONJUNCTIONS = weights("because 30 when 22 if 22 and 14 but 12")
_CIRCUMSTANCES = weights("state 4 quality 3 intransitive 3 transitive 1")
_EVENTS = weights("transitive 6 intransitive 5")
_JOINED_TENSES = weights("present 5 past 4 future 3")
_ASKING = lexicon.marked(lexicon.WORDS, "ask")
_WHERE, _WHY = (next(word for word in _ASKING if english_of(word) == name) for name in ("where", "why"))
_HOW_MANY = next(quantity for quantity in lexicon.QUANTITIES if "asked" in quantity.flags)
_WHO, _WHAT = (name for name in lexicon.NAMES if name.kind == "question")
_ASKED_VERBS = tuple(
    v for v in lexicon.unmarked(lexicon.TRANSITIVE, "nounal generic imperfect") if not v.preposition
)
_COMMANDED = lexicon.unmarked(lexicon.TRANSITIVE, "stative nounal unwilled")
_COMMANDED_ALONE = lexicon.bases(lexicon.INTRANSITIVE, "work dance run walk go get hurry rest")
_SOON = ("tomorrow", "now", "tonight", "every day")
_COMMAND_TIMES = tuple(time for time in lexicon.TIMES if english_of(time) in _SOON)
_ANAPHORIC = tuple(n for n in lexicon.nouns("thing clothes vehicle text") if len(VERBS_OF[english_of(n)]) > 3)
_WEATHER_TENSES = weights("present 2 progressive 3 past 2 future 2 going 1")
_WEATHER = tuple(state for state in lexicon.STATES if state.kind == "weather")
_SHOWN = lexicon.nouns("thing text clothes vehicle place person", without="mass")
_THERE = lexicon.nouns("thing text food animal drink clothes")
_BUILDINGS = tuple(n for n in of_classes("goal building") if isinstance(n, Noun))
_SERVED = ((WORD["on"], of_classes("table")), (WORD["in"], of_classes("kitchen")))
_SHORT_TIMES = tuple(t for t in lexicon.TIMES if len(t.english) < 3 and t.english[0] != "in")


class SentenceChooser(ClauseChooser):
    """Draws whole sentences with their moods."""

    def sentence(self) -> Sentence:
        """The next sentence, drawn at random."""
        self.budget = int(self.draw() * 2.0)
        self.antecedent_free = True
        kind = self.weighted(_KINDS)
        if kind == "statement":
            return Sentence(self.clause())
        if kind == "question":
            return Sentence(self.clause(positive=True), "question", end="?")
        if kind in ("command", "proposal"):
            return self._command(kind)
        if kind in ("weather", "this"):
            return Sentence(self._weather() if kind == "weather" else self._showing())
        others = {
            "asked": self._asked,
            "joined": self._joined,
            "anaphora": self._anaphora,
            "saying": self._saying,
            "there": self._there,
        }
        return others[kind]()

    def _asked(self) -> Sentence:
        kind = self.weighted(_ASKED)
        if kind == "where":
            return self._asked_where()
        if kind == "adverb":
            return self._asked_adverb()
        if kind == "who":
            frame = "transitive" if self.chance(0.7) else "intransitive"
            content = self.clause(Phrase(_WHO), kind=frame, positive=True)
            return Sentence(content._replace(gap="subject"), "question", end="?")
        verb = self.pick(_ASKED_VERBS)
        content = self.inflected(Clause(self.person(pronouns=0.65), verb), positive=True)
        if kind in ("whom", "what"):
            asked = Phrase(_WHO if "somebody" in verb.flags else _WHAT)
        else:
            nouns = [noun for noun in verb.objects if isinstance(noun, Noun)]
            countable = [noun for noun in nouns if not noun.classes & {"mass", "single"}]
            if not countable:
                return self._asked_adverb()
            head, many = self.pick(countable), kind == "many"
            plural = many or self.chance(0.3)
            asked = Phrase(head, "" if many else "which", plural, quantity=_HOW_MANY if many else None)
        return Sentence(content._replace(object=asked, gap="object"), "question", end="?")

    def _asked_where(self) -> Sentence:
        """A question for the place of somebody or something, which leaves room to say who."""
        self.budget = 2
        subject = self.person() if self.chance(0.5) else self.noun(self.pick(QUALIFIED), "definite")
        located = self.state(subject, "location", "", positive=True)
        return Sentence(located._replace(predicate=None), "question", asked=_WHERE, end="?")

    def _asked_adverb(self) -> Sentence:
        word = self.pick(_ASKING)
        name = word.english[0]
        kind = "intransitive" if self.chance(0.5) else "transitive"
        self.budget = min(self.budget, 1)
        tense = self.weighted(_WHEN_TENSES) if name == "when" else ""
        content = self.clause(kind=kind, tense=tense, positive=True)._replace(time=None, adverb=None)
        flags = content.verb.flags
        if name == "where" and flags & {"stative", "nowhere"} and not flags & {"settled", "ride"}:
            word, name = _WHY, "why"
        if name == "where":
            content = content._replace(place=None)
        thing = content.object
        certain = content.modal is None and (thing is None or thing.determiner in DEFINITE)
        if name == "why" and certain and self.chance(0.3):
            content = content._replace(negation=WORD["not"])
        return Sentence(content, "question", asked=word, end="?")

    def _command(self, mood: str) -> Sentence:
        formal = mood == "command"
        verb = self.pick(_COMMANDED if self.chance(0.66) else (*lexicon.DITRANSITIVE, *_COMMANDED_ALONE))
        negation = WORD["not"] if formal and self.chance(0.22) else None
        content = Clause(Phrase(PRONOUNS["you" if formal else "we"]), verb, negation=negation)
        content = self.with_object(content) if verb.objects else self.moving(content)
        thing, recipient, place = content.object, content.recipient, content.place
        if thing is not None and isinstance(thing.head, Name) and thing.head.kind == "negative":
            thing = Phrase(PRONOUNS["it"])
        content = content._replace(
            object=thing and self._addressed(thing, formal=formal),
            recipient=recipient and self._addressed(recipient, formal=formal),
            place=place and place._replace(phrase=self._addressed(place.phrase, formal=formal)),
        )
        if place is None and self.ornament(0.25):
            content = content._replace(time=self.pick(_COMMAND_TIMES))
        end = "!" if self.chance(0.3) else "."
        return Sentence(content, mood, polite=formal and self.chance(0.13), end=end)

    def _addressed(self, phrase: Phrase, *, formal: bool) -> Phrase:
        """The phrase in a command or proposal: with `votre` instead of `ton`, and without `you` itself."""
        if phrase.head is PRONOUNS["you"]:
            return Phrase(PRONOUNS["he"])
        owner = phrase.owner
        if owner is not None:
            owner = self._addressed(owner, formal=formal)
        determiner = phrase.determiner
        if determiner == "your":
            determiner = "your-formal" if formal else "our"
        return phrase._replace(determiner=determiner, owner=owner, relative=None)

    def _joined(self) -> Sentence:
        """Two clauses, the second often about the same person."""
        kind = self.weighted(_CONJUNCTIONS)
        self.budget = min(self.budget, 1)
        leading = kind in ("when", "if")
        subject = self.person(pronouns=0.7)
        if leading and self.chance(0.2):
            first = self._weather(tense="present")
        elif leading:
            first = self.clause(subject, kind=self.weighted(_CIRCUMSTANCES), tense="present")
        else:
            first = self.clause(subject, kind=self.weighted(_EVENTS), tense=self.weighted(_JOINED_TENSES))
        self.antecedent_free = False
        tense = "future" if kind == "if" else "present" if kind == "when" else first.tense
        if kind == "because" and self.chance(0.12):
            second = self._weather(tense=tense)
        else:
            same = subject.joined is None and self.chance(0.85)
            table = _CIRCUMSTANCES if kind == "because" else _EVENTS
            other = self._again(subject) if same else self.pronoun()
            second = self.clause(other, kind=self.weighted(table), tense=tense)
        first, second = self._single(first), self._single(second)
        return Sentence(first, conjunction=WORD[kind], second=second, conjunction_first=leading)

    def _single(self, content: Clause) -> Clause:
        """The clause as one of two: about a single time, without often or never."""
        negation = WORD["not"] if content.negation is not None else None
        return content._replace(time=None, adverb=None, negation=negation)

    def _again(self, subject: Phrase) -> Phrase:
        """The subject, or a pronoun for it."""
        head = subject.head
        if isinstance(head, Name):
            return Phrase(PRONOUNS["she" if head.feminine else "he"])
        return subject if isinstance(head, Pronoun) else self.pronoun()

    def _anaphora(self) -> Sentence:
        """`it` or `them` refers to the object of the first clause, with its gender in French."""
        self.budget = 0
        subject = self.pronoun() if self.chance(0.6) else self.named()
        head = self.pick(_ANAPHORIC)
        verbs = [verb for verb in VERBS_OF[english_of(head)] if "stative" not in verb.flags]
        thing = self.noun(head, "definite", plural=self.chance(0.3), plain=True)
        first_verb = self.pick(verbs)
        second_verb = self.pick([verb for verb in verbs if verb is not first_verb])
        tense = self.weighted(_TOLD_TENSES)
        first = self.inflected(Clause(subject, first_verb, object=thing), tense, positive=True)
        pronoun = Phrase(PRONOUNS[("they" if thing.plural else "it") + ("-f" if head.feminine else "")])
        second = Clause(self._again(subject), second_verb, object=pronoun)
        second = self.inflected(second, tense, positive=self.chance(0.5))
        word = WORD["and" if second.negation is None else "but"]
        return Sentence(first, conjunction=word, second=second)

    def _saying(self) -> Sentence:
        verb = self.pick(lexicon.SAYING)
        self.budget = min(self.budget, 2)
        content = self.clause(tense="future" if verb.english.base == "hope" else "")
        subject = self.person(pronouns=0.65)._replace(relative=None)
        return Sentence(Clause(subject, verb, "present", content=content))

    def _there(self) -> Sentence:
        """A sentence or question with `there is`."""
        asking = self.chance(0.25)
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
        tense = self.weighted(BE_TENSES)
        content = Clause(Phrase(THERE), BE, tense, object=thing, place=where)
        return Sentence(content, "question", end="?") if asking else Sentence(content)

    def _weather(self, *, tense: str = "") -> Clause:
        """A clause about the weather, perhaps with a time; about rain or snow if the `tense` is given."""
        it, place = Phrase(PRONOUNS["it"]), self.place(cities=1.0) if self.ornament(0.4) else None
        time = None
        if not tense and self.chance(0.5):
            content = Clause(it, BE, self.weighted(BE_TENSES), predicate=self.pick(_WEATHER), place=place)
        else:
            verb = lexicon.RAIN if self.chance(0.6) else lexicon.SNOW
            content = Clause(it, verb, tense or self.weighted(_WEATHER_TENSES), place=place)
        times = [t for t in _SHORT_TIMES if content.tense in t.flags]
        if times and not tense and self.ornament(0.5):
            time = self.pick(times)
        return content._replace(time=time)

    def _showing(self) -> Clause:
        """A clause with `this is` or `these are`."""

        plural = self.chance(0.3)
        head = self.pick([n for n in _SHOWN if not (plural and "single" in n.classes)])
        phrase = self.noun(head, "object", plural=plural)
        if phrase.determiner in ("this", "that", "all", ""):
            phrase = phrase._replace(determiner="the", quantity=None)
        negation = WORD["not"] if self.ornament(0.2) else None
        subject = Phrase(PRONOUNS["these" if plural else "this"])
        return Clause(subject, BE, "present", negation=negation, predicate=phrase)
