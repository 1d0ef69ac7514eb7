"""Realises an abstract sentence in French."""

from translate.grammar.entries import Pronoun, State
from translate.grammar.french_phrases import contract, elide, phrase, prepositional
from translate.grammar.french_verbs import (
    Arguments,
    arguments_of,
    clitics_of,
    has_infinitive,
    is_clitic,
    is_nothing,
    negation_of,
    verb_group,
)
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
