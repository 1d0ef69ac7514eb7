"""The verb of a French clause: tenses, agreement of participles, negation, clitic pronouns in their order."""

from typing import NamedTuple

from translate.grammar.lexicon import THERE, Conjugation, Name, Pronoun, State, agree, conjugate
from translate.grammar.meaning import Age, Clause, Features, Phrase, Token, features, french_tokens

_REFLEXIVE = ("me", "te", "se", "nous", "vous", "se")
_RANK = {
    word: rank
    for rank, words in enumerate(("me te se nous vous", "le la les", "lui leur", "y"))
    for word in words.split()
}
_AVOIR, _ETRE, _ALLER = conjugate("avoir"), conjugate("être"), conjugate("aller")


class Arguments(NamedTuple):
    """Subject, direct object and recipient in French, with the paths of their concepts."""

    subject: tuple[Phrase, str]
    object: tuple[Phrase, str] | None
    recipient: tuple[Phrase, str] | None


class VerbGroup(NamedTuple):
    """The finite verb, the participle with a preposition, and the infinitive; the last two may be empty."""

    finite: Token
    participle: list[Token]
    infinitive: list[Token]


def arguments_of(content: Clause, path: str) -> Arguments:
    """The arguments of a clause whose concepts are under `path`."""
    subject = (content.subject, path + "S")
    thing = (content.object, path + "O") if content.object is not None else None
    if "swapped" in content.verb.flags and thing is not None:
        return Arguments(thing, None, subject)  # I miss you: tu me manques
    recipient = (content.recipient, path + "I") if content.recipient is not None else None
    return Arguments(subject, thing, recipient)


def is_clitic(content: Phrase) -> bool:
    """Whether the phrase is a pronoun that precedes the verb."""
    return isinstance(content.head, Pronoun) and content.joined is None


def is_nothing(content: Phrase) -> bool:
    """Whether the phrase is `rien`, which stands before a participle like `pas`."""
    return isinstance(content.head, Name) and content.head.pair.french == ("rien",)


def has_infinitive(content: Clause) -> bool:
    """Whether the verb of the clause is an infinitive after another verb."""
    return content.modal is not None or content.tense == "going"


def verb_group(content: Clause, path: str, arguments: Arguments) -> VerbGroup:
    """The verb of the clause with its auxiliaries."""
    verb, modal, predicate = content.verb, content.modal, content.predicate
    french, concept = verb.french, path + "v0"
    if isinstance(predicate, State):
        french = predicate.french
    elif isinstance(predicate, Age) or content.subject.head is THERE:
        french = _AVOIR
    subject = features(arguments.subject[0])
    infinitive = [Token(french.infinitive, (concept,))]
    if modal is not None:
        group = _tensed(content, path, modal.french, path + "m0", subject, agreeing=None)
        between = [Token(modal.preposition, (path + "m1",))] if modal.preposition else []
        return group._replace(participle=[*group.participle, *between], infinitive=infinitive)
    moves = "être" in verb.flags or verb.reflexive
    agreeing = subject if moves else _preceding_object(content, arguments)
    return _tensed(content, path, french, concept, subject, agreeing, auxiliary=_ETRE if moves else _AVOIR)


def _preceding_object(content: Clause, arguments: Arguments) -> Features | None:
    if arguments.object is None or content.verb.preposition:
        return None
    thing = arguments.object[0]
    return features(thing) if content.gap == "object" or is_clitic(thing) else None


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


def negation_of(content: Clause, path: str, arguments: Arguments) -> tuple[list[Token], list[Token]]:
    """`ne` and what follows the finite verb: `pas`, `jamais`, `plus`, `rien`."""
    if content.negation is not None:
        tokens = french_tokens(content.negation, path + "n")
        return tokens[:1], tokens[1:]
    subject, subject_path = arguments.subject
    if _is_negative(subject):
        return [Token("ne", (subject_path + "h0",))], []
    if arguments.object is None:
        return [], []
    thing, path = arguments.object
    if thing.determiner == "no":
        return [Token("ne", (path + "d0",))], [Token("pas", (path + "d0",))]
    if _is_negative(thing):
        return [Token("ne", (path + "h0",))], [Token("rien", (path + "h0",))] if is_nothing(thing) else []
    return [], []


def _is_negative(content: Phrase) -> bool:
    return isinstance(content.head, Name) and content.head.kind == "negative"


def clitics_of(content: Clause, path: str, arguments: Arguments, person: int) -> list[Token]:
    """Pronouns before the verb, in their order: `me le`, `le lui`, `te les`, `y`."""
    clitics = [Token(_REFLEXIVE[person], (), (path + "v0",))] if content.verb.reflexive else []
    if content.subject.head is THERE:
        clitics.append(Token("y", (path + "Sh0",)))
    thing, recipient = arguments.object, arguments.recipient
    if thing is not None and content.gap != "object" and isinstance(thing[0].head, Pronoun):
        indirect = content.verb.preposition == "à"
        form = thing[0].head.indirect if indirect else thing[0].head.direct
        clitics.append(Token(form, (thing[1] + "h0",), (path + "p0",) if indirect else ()))
    if recipient is not None and isinstance(recipient[0].head, Pronoun):
        clitics.append(Token(recipient[0].head.indirect, (recipient[1] + "h0",)))
    return sorted(clitics, key=lambda token: _RANK[token.text])
