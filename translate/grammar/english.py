"""Realises an abstract sentence in English."""

from translate.grammar.lexicon import BE, THERE, EnglishForms, Name, Pronoun, State
from translate.grammar.meaning import (
    Age,
    Clause,
    Phrase,
    PrepositionalPhrase,
    Quality,
    Relative,
    Sentence,
    Token,
    assemble,
    english_tokens,
    features,
)

_ARTICLES = {"your-formal": ("your",), "all": ("all", "the"), "bare": (), "generic": (), "": ()}
_PLURAL_ARTICLES = {"this": ("these",), "that": ("those",)}
_BE = {
    "present": ("am", "are", "is", "are", "are", "are"),
    "past": ("was", "were", "was", "were", "were", "were"),
}


def realise(sentence: Sentence) -> list[Token]:
    """The English tokens of a sentence, from the first word to the final punctuation."""
    return assemble(sentence, _first_clause(sentence), clause, english_tokens, [Token("please", ("q0",))])


def _first_clause(sentence: Sentence) -> list[Token]:
    first = sentence.clause
    if sentence.mood == "statement":
        return clause(first, "")
    if sentence.mood == "question":
        if first.gap == "subject":
            return phrase(first.subject, "S") + clause(first, "")
        front = english_tokens(sentence.asked, "w")
        if first.gap == "object" and first.object is not None:
            front = phrase(first.object, "O")
        return front + clause(first, "", inverted=True)
    start: list[Token] = []
    if sentence.mood == "proposal":
        start = [Token("let", (), ("v0",)), Token("us", (), ("v0",))]
    elif first.negation is not None and first.negation.english == ("not",):
        start = [Token("do", (), ("v0", "n0")), *english_tokens(first.negation, "n")]
    return [*start, Token(first.verb.english.base, ("v0",)), *_complements(first, "")]


def clause(content: Clause, path: str, *, inverted: bool = False) -> list[Token]:
    """A clause with its concepts under `path`; if `inverted`, the auxiliary precedes the subject."""
    subject = [] if content.gap == "subject" else phrase(content.subject, path + "S")
    negation = english_tokens(content.negation, path + "n")
    negated = bool(negation) and negation[0].text == "not"
    auxiliary, lexical = _verb_group(content, path, supported=inverted or negated)
    if negated and auxiliary[0].text == "can":
        auxiliary, negation = [Token("cannot", (path + "m0", path + "n0"))], []
    adverb = english_tokens(content.adverb, path + "a")
    if negated and auxiliary and auxiliary[0].text in ("do", "does", "did"):  # only the negation needs it
        auxiliary[0] = auxiliary[0]._replace(weak=(*auxiliary[0].weak, path + "n0"))
    start = subject + auxiliary[:1]
    if inverted:
        first = auxiliary[0]
        start = [first._replace(weak=(*first.weak, path + "w9")), *subject]
    return start + negation + auxiliary[1:] + adverb + lexical + _complements(content, path)


def _verb_group(content: Clause, path: str, *, supported: bool) -> tuple[list[Token], list[Token]]:
    """The auxiliaries, and the verb up to an infinitive."""
    modal, verb, concept = content.modal, content.verb, path + "v0"
    infinitive = Token(verb.english.base, (concept,))
    if modal is None:
        auxiliary, head = _tensed(content, path, verb.english, concept, supported=supported)
        return auxiliary, head
    between = [Token(word, (path + "m1",), (concept,)) for word in modal.words[-1:]]
    between = [Token(word, (), (path + "m0",)) for word in modal.words[:-1]] + between
    if modal.kind == "bare":
        return [Token(modal.english.base, (path + "m0",))], [infinitive]
    if modal.kind == "would":
        return [Token("would", (), (path + "m0",))], [Token("like", (path + "m0",)), *between, infinitive]
    auxiliary, head = _tensed(content, path, modal.english, path + "m0", supported=supported)
    return auxiliary, [*head, *between, infinitive]


def _tensed(
    content: Clause, path: str, forms: EnglishForms, concept: str, *, supported: bool
) -> tuple[list[Token], list[Token]]:
    """The auxiliaries of the tense, or `do` if one is needed, and the form of the head verb."""
    subject = features(content.subject)
    if content.subject.head is THERE and content.object is not None:
        subject = features(content.object)
    person, tense = subject.person, content.tense
    third = person == 2
    if tense == "future":
        return [Token("will", (), (concept,))], [Token(forms.base, (concept,))]
    if tense == "going":
        start = [Token(_BE["present"][person], (), (path + "u0",))]
        return start, [
            Token("going", (path + "u0",)),
            Token("to", (), (concept,)),
            Token(forms.base, (concept,)),
        ]
    if tense == "perfect":
        have = Token("has" if third else "have", (path + "t0",), (concept,))
        return [have], [Token(forms.participle, (concept,))]
    if tense == "progressive":
        return [Token(_BE["present"][person], (), (concept, path + "t0"))], [Token(forms.ing, (concept,))]
    if forms is BE.english:
        return [Token(_BE[tense][person], (concept,))], []
    if supported:
        do = "did" if tense == "past" else "does" if third else "do"
        return [Token(do, (), (concept, path + "t0"))], [Token(forms.base, (concept,))]
    form = forms.past if tense == "past" else forms.third if third else forms.base
    return [], [Token(form, (concept,))]


def _complements(content: Clause, path: str) -> list[Token]:
    tokens = _objects(content, path)
    predicate = content.predicate
    if isinstance(predicate, Quality):
        tokens += _quality(predicate, path)
    elif isinstance(predicate, Age):
        years = [Token("years", (path + "y9",)), Token("old", (), (path + "y9",))]
        tokens += english_tokens(predicate.years, path + "y") + years
    elif isinstance(predicate, State):
        tokens.append(Token(predicate.english, (path + "s0",)))
    elif isinstance(predicate, Phrase):
        tokens += phrase(predicate, path + "K")
    elif isinstance(predicate, PrepositionalPhrase):
        tokens += _place(predicate, path + "K")
    tokens += english_tokens(content.manner, path + "i")
    if content.place is not None and content.gap != "place":
        tokens += _place(content.place, path + "L")
    if content.company is not None:
        tokens += _place(content.company, path + "W")
    tokens += english_tokens(content.time, path + "z")
    if content.content is not None:
        tokens += [Token("that", (path + "k0",)), *clause(content.content, path + "C")]
    return tokens


def _objects(content: Clause, path: str) -> list[Token]:
    """Particle, direct object and recipient, in English order."""
    verb, recipient = content.verb, content.recipient
    weak = () if verb.preposition else (path + "v0",)
    particle = [Token(word, (path + "p0",), weak) for word in verb.particle]
    thing: list[Token] = []
    if content.object is not None and content.gap != "object":
        thing = phrase(content.object, path + "O", accusative=True)
        if "separable" in verb.flags and isinstance(content.object.head, Pronoun):
            thing, particle = thing + particle, []
    if recipient is None:
        return particle + thing
    person = phrase(recipient, path + "I", accusative=True)
    if isinstance(recipient.head, Pronoun):
        direct = content.object is not None and isinstance(content.object.head, Pronoun)
        if not (direct or "to" in verb.flags or content.gap == "object"):
            return person + thing
        return [*thing, Token("to", (), (path + "Ih0",)), *person]
    return [*thing, Token("to", (path + "i0",)), *person]


def _quality(quality: Quality, path: str) -> list[Token]:
    adjective, degree = quality.adjective, quality.degree
    words = english_tokens(degree, path + "g")
    if words and words[0].text == "more" and adjective.comparative:
        words = [Token(adjective.comparative, (path + "g0", path + "a9"))]
    else:
        words.append(Token(adjective.english, (path + "a9",)))
    if quality.than is None:
        return words
    than = "as" if degree is not None and degree.english == ("as",) else "than"
    return [*words, Token(than, (path + "b0",)), *phrase(quality.than, path + "B", accusative=True)]


def _place(place: PrepositionalPhrase, path: str) -> list[Token]:
    return english_tokens(place.preposition, path + "p") + phrase(place.phrase, path, accusative=True)


def phrase(content: Phrase, path: str, *, accusative: bool = False) -> list[Token]:
    """A noun phrase with its concepts under `path`; `accusative` chooses `me` instead of `I`."""
    head = content.head
    if isinstance(head, Pronoun):
        tokens = [Token(head.english[accusative], (path + "h0",))]
    elif isinstance(head, Name):
        tokens = english_tokens(head.pair, path + "h")
    else:
        tokens = [Token(a.english, (f"{path}a{i}",)) for i, a in enumerate(content.adjectives)]
        tokens += english_tokens(head.forms[content.plural], path + "h")
        tokens = english_tokens(content.quantity, path + "q") + tokens
        tokens = _determiner(content, path, tokens[0].text) + tokens
    if content.owner is not None:
        tokens += [Token("of", (path + "f0",)), *phrase(content.owner, path + "F", accusative=True)]
    if content.relative is not None:
        tokens += _relative(content.relative, path + "R")
    if content.joined is not None:
        tokens += [Token("and", (path + "j0",)), *phrase(content.joined, path + "J", accusative=accusative)]
    return tokens


def _determiner(content: Phrase, path: str, following: str) -> list[Token]:
    name = content.determiner
    if name == "a":
        words: tuple[str, ...] = ("an" if following[0] in "aeiou" else "a",)
    elif content.plural and name in _PLURAL_ARTICLES:
        words = _PLURAL_ARTICLES[name]
    else:
        words = _ARTICLES.get(name, (name,))
    return [Token(word, (f"{path}d{i}",)) for i, word in enumerate(words)]


def _relative(relative: Relative, path: str) -> list[Token]:
    word = [] if relative.kind == "whose" else [Token(relative.kind, (path + "r0",))]
    return word + clause(relative.clause, path)
