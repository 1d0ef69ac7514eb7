"""Realises an abstract sentence in French."""

from typing import NamedTuple

from translate.text.languages.conjugation import Conjugation, agree, conjugate
from translate.text.languages.entries import Name, Pronoun, State
from translate.text.languages.french_phrases import contract, elide, phrase, prepositional
from translate.text.languages.lexicon import PRONOUNS
from translate.text.languages.meaning import (
    Age,
    Clause,
    Features,
    Phrase,
    Place,
    Quality,
    Sentence,
    Token,
    features,
    rendered,
)


def realise(sentence: Sentence) -> list[Token]:
    """The French tokens of a sentence, from the first word to the final punctuation."""
    tokens = _first_clause(sentence)
    if sentence.conjunction is not None and sentence.second is not None:
        conjunction = rendered(sentence.conjunction.pair, "x")
        second = clause(sentence.second, "Z")
        if sentence.conjunction_first:
            tokens = [*conjunction, *tokens, Token(",", ("c0",)), *second]
        else:
            tokens = [*tokens, *conjunction, *second]
    if sentence.polite:
        please = [Token(word, ("q0",)) for word in ("s'", "il", "vous", "plaît")]
        tokens = [*tokens, Token(",", ("c0",)), *please]
    return elide([*tokens, Token(sentence.end, ("e0",))])


def _first_clause(sentence: Sentence) -> list[Token]:
    first = sentence.clause
    if sentence.mood == "statement":
        time = first.time
        if time is not None and "front" in time.flags and sentence.conjunction is None:
            return rendered(time.pair, "z") + clause(first._replace(time=None), "")
        return clause(first, "")
    if sentence.mood != "question":
        return _command(first, 4 if sentence.mood == "command" else 3)
    if first.gap == "subject":
        return phrase(first.subject, "S", clause) + clause(first, "")
    front = rendered(sentence.asked.pair, "w") if sentence.asked is not None else []
    if first.gap == "object" and first.object is not None:
        front = phrase(first.object, "O", clause)
    subject = arguments(first, "").subject[0].head
    if isinstance(subject, Pronoun) and subject.person != 0:
        return front + clause(first, "", inverted=True)
    question = ("w9", *(concept for token in front[:1] for concept in token.strong))
    return [*front, *(Token(word, (), question) for word in ("est", "-ce", "que")), *clause(first, "")]


def clause(content: Clause, path: str, *, inverted: bool = False) -> list[Token]:
    """A clause with its concepts under `path`, a pronoun subject after the verb if `inverted`."""
    arguments = arguments(content, path)
    subject, subject_path = arguments.subject
    before, after = [], []
    if isinstance(subject.head, Pronoun) and subject.joined is None:
        word = Token(subject.head.subject, (subject_path + "h0",))
        before = [word] if content.gap != "subject" and not inverted else []
    elif content.gap != "subject":
        before = phrase(subject, subject_path, clause)
    group = verb_group(content, path, arguments)
    if inverted:
        assert isinstance(subject.head, Pronoun)
        vowels = group.finite.text[-1] in "ae" and subject.head.subject[0] in "ie"
        hyphen = "-t-" if vowels else "-"
        after = [Token(hyphen + subject.head.subject, (subject_path + "h0",))]
    first, second = negation(content, path, arguments)
    clitics = clitics(content, path, arguments, features(subject).person)
    tokens = [*before, *first]
    if group.infinitive:
        clitics, infinitive = [], [*clitics, *group.infinitive]
    else:
        infinitive = []
    adverbs, noun = _early(content, path, negated=bool(first))
    tokens += [*clitics, group.finite, *after, *second, *adverbs]
    if infinitive:
        return [
            *tokens,
            *group.participle,
            *infinitive,
            *noun,
            *_complements(content, path, arguments, second),
        ]
    return [*tokens, *noun, *group.participle, *_complements(content, path, arguments, second)]


def _early(content: Clause, path: str, *, negated: bool) -> tuple[list[Token], list[Token]]:
    """Adverbs right after the finite verb, and the noun of `avoir besoin`."""
    verb = content.verb
    adverbs = rendered(content.adverb.pair, path + "a") if content.adverb is not None else []
    if verb.adverb and not negated:
        adverbs.append(Token(verb.adverb, (path + "v0",)))
    if content.manner is not None and "early" in content.manner.flags and not has_infinitive(content):
        adverbs += rendered(content.manner.pair, path + "i")
    return adverbs, [Token(verb.complement, (path + "v0",))] if verb.complement else []


def _command(content: Clause, person: int) -> list[Token]:
    """An imperative: pronouns hang on the verb, or stand before it if it is negated."""
    arguments = arguments(content, "")
    verb = Token(content.verb.french.present[person], ("v0",))
    clitics = clitics(content, "", arguments, person)
    first, second = negation(content, "", arguments)
    if first:
        start = [*first, *clitics, verb, *second]
    else:
        clitics = sorted(clitics, key=lambda token: token.text not in ("le", "la", "les"))
        hung = [token._replace(text="-" + ("moi" if token.text == "me" else token.text)) for token in clitics]
        start = [verb, *hung]
    adverbs, noun = _early(content, "", negated=bool(first))
    return [*start, *adverbs, *noun, *_complements(content, "", arguments, second)]


def _complements(content: Clause, path: str, arguments: Arguments, negation: list[Token]) -> list[Token]:
    tokens: list[Token] = []
    late: list[Token] = []
    manner = content.manner
    if manner is not None and ("early" not in manner.flags or has_infinitive(content)):
        words = rendered(manner.pair, path + "i")
        tokens, late = ([], words) if "late" in manner.flags else (words, [])
    tokens += _objects(content, path, arguments, negation)
    tokens += _predicate(content, path, features(arguments.subject[0]))
    tokens += late
    if content.place is not None and content.gap != "place":
        tokens += prepositional(content.place, path + "L", clause)
    if content.company is not None:
        tokens += prepositional(content.company, path + "W", clause)
    if content.time is not None:
        tokens += rendered(content.time.pair, path + "z")
    if content.content is not None:
        tokens += [Token("que", (path + "k0",)), *clause(content.content, path + "C")]
    return tokens


def _objects(content: Clause, path: str, arguments: Arguments, negation: list[Token]) -> list[Token]:
    """The objects that are not pronouns."""
    tokens: list[Token] = []
    verb, thing, recipient = content.verb, arguments.object, arguments.recipient
    # what stands before an object: strong only where English has a preposition of its own
    bridge = ((path + "p0",), ()) if verb.particle else ((), (path + "v0",))
    if thing is not None and content.gap != "object" and not is_clitic(thing[0]):
        if isinstance(thing[0].head, Name) and thing[0].head.pair.french == ("rien",):
            pass
        elif verb.preposition:
            tokens += contract([Token(verb.preposition, *bridge)], phrase(thing[0], thing[1], clause))
        else:
            concepts = tuple(c for token in negation for c in token.strong) if negation else None
            tokens += phrase(thing[0], thing[1], clause, negation=concepts)
    if recipient is not None and not is_clitic(recipient[0]):
        if content.recipient is None:
            bridge = ((), (path + "v0",))
        else:
            bridge = ((path + "i0",), ())
        tokens += contract([Token("à", *bridge)], phrase(recipient[0], recipient[1], clause))
    return tokens


def _predicate(content: Clause, path: str, subject: Features) -> list[Token]:
    predicate = content.predicate
    if isinstance(predicate, Quality):
        forms = predicate.adjective.french
        form = forms[3 + subject.feminine] if subject.plural else forms[2 * subject.feminine]
        degree = rendered(predicate.degree.pair, path + "g") if predicate.degree is not None else []
        tokens = [*degree, Token(form, (path + "a9",))]
        if predicate.than is None:
            return tokens
        return [*tokens, Token("que", (path + "b0",)), *phrase(predicate.than, path + "B", clause)]
    if isinstance(predicate, Age):
        return [*rendered(predicate.years.pair, path + "y"), Token("ans", (path + "y9",))]
    if isinstance(predicate, State):
        return [Token(predicate.noun, (path + "s0",))]
    if isinstance(predicate, Phrase):
        return phrase(predicate, path + "K", clause)
    if isinstance(predicate, Place):
        return prepositional(predicate, path + "K", clause)
    return []
