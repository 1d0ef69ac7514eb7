"""Realises the French verb with what belongs to it: tenses, agreement, negation, pronouns before it."""

from typing import NamedTuple

from translate.text.languages.conjugation import Conjugation, agree, conjugate
from translate.text.languages.entries import Name, Pronoun, State
from translate.text.languages.lexicon import PRONOUNS
from translate.text.languages.meaning import Age, Clause, Features, Phrase, Token, features, rendered

_REFLEXIVE = ("me", "te", "se", "nous", "vous", "se")
_RANK = {
    "me": 0,
    "te": 0,
    "se": 0,
    "nous": 0,
    "vous": 0,
    "le": 1,
    "la": 1,
    "les": 1,
    "lui": 2,
    "leur": 2,
    "y": 3,
}
_AVOIR, _ETRE, _ALLER = conjugate("avoir"), conjugate("être"), conjugate("aller")
_THERE = PRONOUNS["there"]


class Arguments(NamedTuple):
    """Who does what to whom in French, each phrase with the path of its concepts."""

    subject: tuple[Phrase, str]
    object: tuple[Phrase, str] | None
    recipient: tuple[Phrase, str] | None


class VerbGroup(NamedTuple):
    """The finite verb, a participle with what follows it, and an infinitive; the last two may be empty."""

    finite: Token
    participle: list[Token]
    infinitive: list[Token]


def arguments(content: Clause, path: str) -> Arguments:
    subject = (content.subject, path + "S")
    thing = (content.object, path + "O") if content.object is not None else None
    if "swapped" in content.verb.flags and thing is not None:
        return Arguments(thing, None, subject)  # I miss you: tu me manques
    recipient = (content.recipient, path + "I") if content.recipient is not None else None
    return Arguments(subject, thing, recipient)


def is_clitic(content: Phrase) -> bool:
    return isinstance(content.head, Pronoun) and content.joined is None


def has_infinitive(content: Clause) -> bool:
    return content.modal is not None or content.tense == "going"


def verb_group(content: Clause, path: str, arguments: Arguments) -> VerbGroup:
    verb, modal, predicate = content.verb, content.modal, content.predicate
    french, concept = verb.french, path + "v0"
    if isinstance(predicate, State):
        french = predicate.french
    elif isinstance(predicate, Age) or content.subject.head is _THERE:
        french = _AVOIR
    subject = features(arguments.subject[0])
    infinitive = [Token(french.infinitive, (concept,))]
    if modal is not None:
        group = _tensed(content, path, modal.french, path + "m0", subject, agreeing=None)
        between = [Token(modal.preposition, (path + "m1",))] if modal.preposition else []
        if content.tense == "going":
            return group._replace(infinitive=[*group.infinitive, *between, *infinitive])
        return group._replace(participle=[*group.participle, *between], infinitive=infinitive)
    moves = "être" in verb.flags or verb.reflexive
    agreeing = subject if moves else _preceding_object(content, arguments)
    return _tensed(content, path, french, concept, subject, agreeing, auxiliary=_ETRE if moves else _AVOIR)


def _preceding_object(content: Clause, arguments: Arguments) -> Features | None:
    if arguments.object is None or content.verb.preposition:
        return None
    thing = arguments.object[0]
    clitic = isinstance(thing.head, Pronoun) and thing.joined is None
    return features(thing) if clitic or content.gap == "object" else None


def _tensed(
    content: Clause,
    path: str,
    french: Conjugation,
    concept: str,
    subject: Features,
    agreeing: Features | None,
    auxiliary: Conjugation = _AVOIR,
) -> VerbGroup:
    """The verb in its tense; the participle agrees with `agreeing`."""
    tense, modal = content.tense, content.modal
    flags = modal.flags if modal is not None else content.verb.flags
    person = subject.person
    if tense == "perfect" or (tense == "past" and "imperfect" not in flags):
        participle = french.participle
        if agreeing is not None:
            participle = agree(participle, feminine=agreeing.feminine, plural=agreeing.plural)
        finite = Token(auxiliary.present[person], (path + "t0",), (concept,))
        return VerbGroup(finite, [Token(participle, (concept,))], [])
    if tense == "going":
        finite = Token(_ALLER.present[person], (path + "u0",))
        return VerbGroup(finite, [], [Token(french.infinitive, (concept,))])
    forms = french.future if tense == "future" else french.imperfect if tense == "past" else french.present
    if modal is not None and modal.kind == "would":
        forms = french.conditional
    return VerbGroup(Token(forms[person], (concept,)), [], [])


def negation(content: Clause, path: str, arguments: Arguments) -> tuple[list[Token], list[Token]]:
    """`ne` and what follows the finite verb: `pas`, `jamais`, `plus`, `rien`."""
    if content.negation is not None:
        tokens = rendered(content.negation.pair, path + "n")
        return tokens[:1], tokens[1:]
    subject, thing = arguments.subject, arguments.object
    if isinstance(subject[0].head, Name) and subject[0].head.kind == "negative":
        return [Token("ne", (subject[1] + "h0",))], []
    if thing is None:
        return [], []
    head = thing[0].head
    if thing[0].determiner == "no":
        return [Token("ne", (thing[1] + "d0",))], [Token("pas", (thing[1] + "d0",))]
    if isinstance(head, Name) and head.kind == "negative":
        second = [Token("rien", (thing[1] + "h0",))] if head.pair.french == ("rien",) else []
        return [Token("ne", (thing[1] + "h0",))], second
    return [], []


def clitics(content: Clause, path: str, arguments: Arguments, person: int) -> list[Token]:
    """Pronouns before the verb, in their order: `me le`, `le lui`, `te les`, `y`."""
    clitics = [Token(_REFLEXIVE[person], (), (path + "v0",))] if content.verb.reflexive else []
    if content.subject.head is _THERE:
        clitics.append(Token("y", (path + "Sh0",)))
    thing, recipient = arguments.object, arguments.recipient
    if thing is not None and content.gap != "object":
        head = thing[0].head
        if isinstance(head, Pronoun) and thing[0].joined is None:
            form = head.indirect if content.verb.preposition == "à" else head.direct
            clitics.append(Token(form, (thing[1] + "h0",)))
    if recipient is not None and content.gap != "recipient":
        head = recipient[0].head
        if isinstance(head, Pronoun) and recipient[0].joined is None:
            clitics.append(Token(head.indirect, (recipient[1] + "h0",)))
    return sorted(clitics, key=lambda token: _RANK[token.text])
