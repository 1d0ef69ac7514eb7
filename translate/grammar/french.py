"""Realises an abstract sentence in French: word order, tenses, agreement, negation, clitic pronouns."""

from typing import NamedTuple

from translate.grammar.french_phrases import contract, elide, phrase, prepositional
from translate.grammar.lexicon import PRONOUNS, Conjugation, Name, Pronoun, State, agree, conjugate
from translate.grammar.meaning import (
    Age,
    Clause,
    Features,
    Phrase,
    PrepositionalPhrase,
    Quality,
    Sentence,
    Token,
    features,
    french_tokens,
)

_REFLEXIVE = ("me", "te", "se", "nous", "vous", "se")
_RANK = {
    word: rank
    for rank, words in enumerate(("me te se nous vous", "le la les", "lui leur", "y"))
    for word in words.split()
}
_AVOIR, _ETRE, _ALLER = conjugate("avoir"), conjugate("être"), conjugate("aller")
_THERE = PRONOUNS["there"]


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


def realise(sentence: Sentence) -> list[Token]:
    """The French tokens of a sentence, from the first word to the final punctuation."""
    tokens = _first_clause(sentence)
    if sentence.conjunction is not None and sentence.second is not None:
        conjunction = french_tokens(sentence.conjunction.pair, "x")
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
            return french_tokens(time.pair, "z") + clause(first._replace(time=None), "")
        return clause(first, "")
    if sentence.mood != "question":
        return _command(first, 4 if sentence.mood == "command" else 3)
    if first.gap == "subject":
        return phrase(first.subject, "S", clause) + clause(first, "")
    front = french_tokens(sentence.asked.pair, "w") if sentence.asked is not None else []
    if first.gap == "object" and first.object is not None:
        front = phrase(first.object, "O", clause)
    subject = arguments_of(first, "").subject[0]
    if is_clitic(subject) and features(subject).person != 0:
        return front + clause(first, "", inverted=True)
    # the question mark asks too
    asked = (*(concept for token in front[:1] for concept in token.strong), "e0")
    return [*front, *(Token(word, ("w9",), asked) for word in ("est", "-ce", "que")), *clause(first, "")]


def clause(content: Clause, path: str, *, inverted: bool = False) -> list[Token]:
    """A clause with its concepts under `path`; if `inverted`, a pronoun subject follows the verb."""
    arguments = arguments_of(content, path)
    group = verb_group(content, path, arguments)
    before, hung = _subject(content, arguments, group.finite, inverted=inverted)
    first, second = negation_of(content, path, arguments)
    pronouns = clitics_of(content, path, arguments, features(arguments.subject[0]).person)
    adverbs, noun = _early(content, path, negated=bool(first))
    complements = _complements(content, path, arguments, second)
    if group.infinitive:
        verb = [
            group.finite,
            *hung,
            *second,
            *adverbs,
            *group.participle,
            *pronouns,
            *group.infinitive,
            *noun,
        ]
    else:
        verb = [*pronouns, group.finite, *hung, *second, *adverbs, *noun, *group.participle]
    return [*before, *first, *verb, *complements]


def _subject(
    content: Clause, arguments: Arguments, finite: Token, *, inverted: bool
) -> tuple[list[Token], list[Token]]:
    """The subject before the verb, and the pronoun attached to it in a question; one of the two is empty."""
    subject, path = arguments.subject
    if content.gap == "subject":
        return [], []
    if not is_clitic(subject):
        return phrase(subject, path, clause), []
    assert isinstance(subject.head, Pronoun)
    pronoun = Token(subject.head.subject, (path + "h0",))
    if not inverted:
        return [pronoun], []
    two_vowels = finite.text[-1] in "ae" and pronoun.text[0] in "ie"
    return [], [pronoun._replace(text=("-t-" if two_vowels else "-") + pronoun.text)]


def _early(content: Clause, path: str, *, negated: bool) -> tuple[list[Token], list[Token]]:
    """Adverbs right after the finite verb, and the noun of `avoir besoin`."""
    verb = content.verb
    adverbs = french_tokens(content.adverb.pair, path + "a") if content.adverb is not None else []
    if verb.adverb and not negated:
        adverbs.append(Token(verb.adverb, (path + "v0",)))
    if content.manner is not None and "early" in content.manner.flags and not has_infinitive(content):
        adverbs += french_tokens(content.manner.pair, path + "i")
    return adverbs, [Token(verb.complement, (path + "v0",))] if verb.complement else []


def _command(content: Clause, person: int) -> list[Token]:
    """An imperative; its pronouns are attached to the verb, or precede it if it is negated."""
    arguments = arguments_of(content, "")
    verb = Token(content.verb.french.present[person], ("v0",))
    clitics = clitics_of(content, "", arguments, person)
    first, second = negation_of(content, "", arguments)
    if first:
        start = [*first, *clitics, verb, *second]
    else:
        clitics = sorted(clitics, key=lambda token: token.text not in ("le", "la", "les"))
        hung = [token._replace(text="-" + ("moi" if token.text == "me" else token.text)) for token in clitics]
        start = [verb, *hung]
    adverbs, noun = _early(content, "", negated=bool(first))
    return [*start, *adverbs, *noun, *_complements(content, "", arguments, second)]


def _complements(content: Clause, path: str, arguments: Arguments, negation: list[Token]) -> list[Token]:
    tokens = _objects(content, path, arguments, negation)
    tokens += _predicate(content, path, features(arguments.subject[0]))
    manner = content.manner
    if manner is not None and ("early" not in manner.flags or has_infinitive(content)):
        words = french_tokens(manner.pair, path + "i")
        tokens = tokens + words if "late" in manner.flags else words + tokens
    if content.place is not None and content.gap != "place":
        tokens += prepositional(content.place, path + "L", clause)
    if content.company is not None:
        tokens += prepositional(content.company, path + "W", clause)
    if content.time is not None:
        tokens += french_tokens(content.time.pair, path + "z")
    if content.content is not None:
        tokens += [Token("que", (path + "k0",)), *clause(content.content, path + "C")]
    return tokens


def _objects(content: Clause, path: str, arguments: Arguments, negation: list[Token]) -> list[Token]:
    """The objects after the verb."""
    tokens: list[Token] = []
    verb = content.verb
    if arguments.object is not None and content.gap != "object":
        thing, thing_path = arguments.object
        if verb.preposition and not is_clitic(thing):
            # surely linked only where English has a preposition of its own
            bridge = (
                Token(verb.preposition, (path + "p0",)) if verb.particle else _weak(verb.preposition, path)
            )
            tokens = contract([bridge], phrase(thing, thing_path, clause))
        elif not (is_clitic(thing) or is_nothing(thing)):
            concepts = tuple(concept for token in negation for concept in token.strong) if negation else None
            tokens = phrase(thing, thing_path, clause, negation=concepts)
    if arguments.recipient is not None and not is_clitic(arguments.recipient[0]):
        recipient, recipient_path = arguments.recipient
        bridge = _weak("à", path) if content.recipient is None else Token("à", (path + "i0",))
        tokens = [*tokens, *contract([bridge], phrase(recipient, recipient_path, clause))]
    return tokens


def _weak(preposition: str, path: str) -> Token:
    """A preposition that belongs to the verb."""
    return Token(preposition, (), (path + "v0",))


def _predicate(content: Clause, path: str, subject: Features) -> list[Token]:
    predicate = content.predicate
    if isinstance(predicate, Quality):
        forms = predicate.adjective.french
        form = forms[3 + subject.feminine] if subject.plural else forms[2 * subject.feminine]
        degree = french_tokens(predicate.degree.pair, path + "g") if predicate.degree is not None else []
        tokens = [*degree, Token(form, (path + "a9",))]
        if predicate.than is None:
            return tokens
        return [*tokens, Token("que", (path + "b0",)), *phrase(predicate.than, path + "B", clause)]
    if isinstance(predicate, Age):
        return [*french_tokens(predicate.years.pair, path + "y"), Token("ans", (path + "y9",))]
    if isinstance(predicate, State):
        return [Token(predicate.noun, (path + "s0",))]
    if isinstance(predicate, Phrase):
        return phrase(predicate, path + "K", clause)
    if isinstance(predicate, PrepositionalPhrase):
        return prepositional(predicate, path + "K", clause)
    return []


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
    elif isinstance(predicate, Age) or content.subject.head is _THERE:
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
        tokens = french_tokens(content.negation.pair, path + "n")
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
    if content.subject.head is _THERE:
        clitics.append(Token("y", (path + "Sh0",)))
    thing, recipient = arguments.object, arguments.recipient
    if thing is not None and content.gap != "object" and isinstance(thing[0].head, Pronoun):
        indirect = content.verb.preposition == "à"
        form = thing[0].head.indirect if indirect else thing[0].head.direct
        clitics.append(Token(form, (thing[1] + "h0",)))
    if recipient is not None and isinstance(recipient[0].head, Pronoun):
        clitics.append(Token(recipient[0].head.indirect, (recipient[1] + "h0",)))
    return sorted(clitics, key=lambda token: _RANK[token.text])
