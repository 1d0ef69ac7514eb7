"""Realises an abstract sentence in French: word order, agreement, articles, contraction, elision."""

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
from translate.grammar.lexicon import TABLES, Name, Noun, Pronoun, State
from translate.grammar.meaning import (
    Age,
    Clause,
    Features,
    Phrase,
    PrepositionalPhrase,
    Quality,
    Relative,
    Sentence,
    Token,
    assemble,
    features,
    french_tokens,
)

_DETERMINERS = {row[0]: row[1].split() for row in TABLES["determiners"]}  # masculine, feminine, plural
_BEFORE_VOWEL = {"ce": "cet", "ma": "mon", "ta": "ton", "sa": "son"}
_WHICH = ("quel", "quelle", "quels", "quelles")
_ELIDED = {word: word[:-1] + "'" for word in ("je", "me", "te", "se", "le", "la", "de", "ne", "que", "ce")}
_CONTRACTED = {("à", "le"): "au", ("à", "les"): "aux", ("de", "le"): "du", ("de", "les"): "des"}
# h aspiré, and numbers that behave like it
_NO_ELISION = ("hérisson", "haricot", "hache", "huit", "onze")


def realise(sentence: Sentence) -> list[Token]:
    """The French tokens of a sentence, from the first word to the final punctuation."""
    please = [Token(word, ("q0",)) for word in ("s'", "il", "vous", "plaît")]
    return elide(assemble(sentence, _first_clause(sentence), clause, french_tokens, please))


def _first_clause(sentence: Sentence) -> list[Token]:
    first = sentence.clause
    if sentence.mood == "statement":
        time = first.time
        if time is not None and "front" in time.flags and sentence.conjunction is None:
            return french_tokens(time, "z") + clause(first._replace(time=None), "")
        return clause(first, "")
    if sentence.mood != "question":
        return _command(first, 4 if sentence.mood == "command" else 3)
    if first.gap == "subject":
        return phrase(first.subject, "S") + clause(first, "")
    front = french_tokens(sentence.asked, "w")
    if first.gap == "object" and first.object is not None:
        front = phrase(first.object, "O")
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
        verb = [group.finite, *hung, *second, *adverbs, *group.participle]
        verb += [*pronouns, *group.infinitive, *noun]
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
        return phrase(subject, path), []
    assert isinstance(subject.head, Pronoun)
    pronoun = Token(subject.head.subject, (path + "h0",))
    if not inverted:
        return [pronoun], []
    two_vowels = finite.text[-1] in "ae" and pronoun.text[0] in "ie"
    return [], [pronoun._replace(text=("-t-" if two_vowels else "-") + pronoun.text)]


def _early(content: Clause, path: str, *, negated: bool) -> tuple[list[Token], list[Token]]:
    """Adverbs right after the finite verb, and the noun of `avoir besoin`."""
    verb = content.verb
    adverbs = french_tokens(content.adverb, path + "a")
    if verb.adverb and not negated:
        adverbs.append(Token(verb.adverb, (path + "v0",)))
    if content.manner is not None and "early" in content.manner.flags and not has_infinitive(content):
        adverbs += french_tokens(content.manner, path + "i")
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
        words = french_tokens(manner, path + "i")
        tokens = tokens + words if "late" in manner.flags else words + tokens
    if content.place is not None and content.gap != "place":
        tokens += prepositional(content.place, path + "L")
    if content.company is not None:
        tokens += prepositional(content.company, path + "W")
    tokens += french_tokens(content.time, path + "z")
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
            own = Token(verb.preposition, (path + "p0",))
            bridge = own if verb.particle else own._replace(strong=(), weak=(path + "v0",))
            tokens = contract([bridge], phrase(thing, thing_path))
        elif not (is_clitic(thing) or is_nothing(thing)):
            concepts = tuple(concept for token in negation for concept in token.strong) if negation else None
            tokens = phrase(thing, thing_path, negation=concepts)
    if arguments.recipient is not None and not is_clitic(arguments.recipient[0]):
        recipient, recipient_path = arguments.recipient
        own = Token("à", (), (path + "v0",)) if content.recipient is None else Token("à", (path + "i0",))
        tokens = [*tokens, *contract([own], phrase(recipient, recipient_path))]
    return tokens


def _predicate(content: Clause, path: str, subject: Features) -> list[Token]:
    predicate = content.predicate
    if isinstance(predicate, Quality):
        forms = predicate.adjective.french
        form = forms[3 + subject.feminine] if subject.plural else forms[2 * subject.feminine]
        degree = french_tokens(predicate.degree, path + "g")
        tokens = [*degree, Token(form, (path + "a9",))]
        if predicate.than is None:
            return tokens
        return [*tokens, Token("que", (path + "b0",)), *phrase(predicate.than, path + "B")]
    if isinstance(predicate, Age):
        return [*french_tokens(predicate.years, path + "y"), Token("ans", (path + "y9",))]
    if isinstance(predicate, State):
        return [Token(predicate.noun, (path + "s0",))]
    if isinstance(predicate, Phrase):
        return phrase(predicate, path + "K")
    if isinstance(predicate, PrepositionalPhrase):
        return prepositional(predicate, path + "K")
    return []


def starts_with_vowel(word: str) -> bool:
    """Whether the word starts with a vowel or a mute h, so that the word before it is elided."""
    return (word[0].lower() in "aeiouhéèêâîôûœ" or word == "y") and not word.startswith(_NO_ELISION)


def elide(tokens: list[Token]) -> list[Token]:
    """`je aime` to `j' aime`, `si il` to `s' il`."""
    elided = list(tokens)
    for i in range(len(tokens) - 1):
        text, following = tokens[i].text, tokens[i + 1].text
        if text in _ELIDED and starts_with_vowel(following):
            elided[i] = tokens[i]._replace(text=_ELIDED[text])
        elif text == "si" and following in ("il", "ils"):
            elided[i] = tokens[i]._replace(text="s'")
    return elided


def contract(preposition: list[Token], tokens: list[Token]) -> list[Token]:
    """The preposition with the phrase, contracted where French contracts, as `à le` to `au`."""
    last, article = preposition[-1], tokens[0]
    contracted = _CONTRACTED.get((last.text, article.text))
    if last.text == "de" and article.text in ("de", "des", "du"):  # besoin d' eau, de cadeaux
        contracted, tokens = "de", [article, *tokens[2 if tokens[1].text in ("la", "le") else 1 :]]
    if contracted is None or (article.text == "le" and starts_with_vowel(tokens[1].text)):
        return preposition + tokens
    strong = last.strong or article.strong
    others = [c for c in (*last.strong, *last.weak, *article.strong, *article.weak) if c not in strong]
    return [*preposition[:-1], Token(contracted, strong, tuple(others)), *tokens[1:]]


def phrase(content: Phrase, path: str, *, negation: tuple[str, ...] | None = None) -> list[Token]:
    """A noun phrase with its concepts under `path`.

    Args:
        negation: concepts of the negation of a direct object, in which `un` becomes `de`.
    """
    head = content.head
    if isinstance(head, Pronoun):
        tokens = [Token(head.stressed, (path + "h0",))]
    elif isinstance(head, Name):
        tokens = french_tokens(head.pair, path + "h")
        if content.determiner == "generic":
            tokens = [Token("la" if head.feminine else "le", (), (path + "h0",)), *tokens]
    else:
        tokens = _noun(content, head, path, negation)
    if content.owner is not None:
        tokens += contract([Token("de", (path + "f0",))], phrase(content.owner, path + "F"))
    if content.relative is not None:
        tokens += _relative(content.relative, path + "R")
    if content.joined is not None:
        tokens += [Token("et", (path + "j0",)), *phrase(content.joined, path + "J")]
    return tokens


def _noun(content: Phrase, head: Noun, path: str, negation: tuple[str, ...] | None) -> list[Token]:
    feminine, plural = head.feminine, content.plural
    tokens = french_tokens(head.forms[plural], path + "h")
    number = len(content.adjectives)
    for i in range(number - 1, -1, -1):
        adjective, concept = content.adjectives[i], f"{path}a{i}"
        if adjective.before:
            liaison = not feminine and not plural and starts_with_vowel(tokens[0].text)
            form = 1 if liaison else 3 + feminine if plural else 2 * feminine
            tokens = [Token(adjective.french[form], (concept,)), *tokens]
        else:
            tokens.append(Token(adjective.french[3 + feminine if plural else 2 * feminine], (concept,)))
    tokens = french_tokens(content.quantity, path + "q") + tokens
    return _determiner(content, head, path, tokens, negation) + tokens


def _determiner(
    content: Phrase, head: Noun, path: str, following: list[Token], negation: tuple[str, ...] | None
) -> list[Token]:
    name, feminine, plural = content.determiner, head.feminine, content.plural
    own = (path + "d0",)
    inherited = (f"{path}h{len(head.forms[plural].english) - 1}",)
    if not name:
        return []
    if name == "all":
        return [Token("toutes" if feminine else "tous", own), Token("les", (path + "d1",))]
    if name == "which":
        return [Token(_WHICH[feminine + 2 * plural], own)]
    if name in ("any", "no") or (negation is not None and name in ("a", "bare")):
        strong = own if name in ("any", "a") else ()
        weak = (*(own if name == "no" else inherited if name == "bare" else ()), *(negation or ()))
        return [Token("de", strong, weak)]
    strong, weak = ((), inherited) if name in ("bare", "generic") else (own, ())
    if name in ("some", "bare"):
        return _indefinite(content, strong, weak, following)
    form = _DETERMINERS[name][2 if plural else feminine]
    if form in _BEFORE_VOWEL and starts_with_vowel(following[0].text):
        form = _BEFORE_VOWEL[form]
    return [Token(form, strong, weak)]


def _indefinite(
    content: Phrase, strong: tuple[str, ...], weak: tuple[str, ...], following: list[Token]
) -> list[Token]:
    """`des`, or `de` before an adjective; of what is not counted `du`, `de la`, `de l'`."""
    if content.plural:
        early = any(adjective.before for adjective in content.adjectives)
        return [Token("de" if early else "des", strong, weak)]
    if features(content).feminine:
        return [Token("de", strong, weak), Token("la", strong, weak)]
    if starts_with_vowel(following[0].text):
        return [Token("de", strong, weak), Token("le", strong, weak)]
    return [Token("du", strong, weak)]


def prepositional(place: PrepositionalPhrase, path: str) -> list[Token]:
    """A preposition and its phrase: `à Paris`, `en France`, `au Japon`, `près du pont`."""
    tokens = french_tokens(place.preposition, path + "p")
    content, head = place.phrase, place.phrase.head
    if isinstance(head, Name) and head.kind in ("city", "country"):
        own, name = tokens[-1], french_tokens(head.pair, path + "h")
        if head.kind == "city" or own.text == "de":
            to = own if own.text == "de" else own._replace(text="à")
            article = [] if head.kind == "city" or head.feminine else [Token("le", (), (path + "h0",))]
            return contract([to], article + name)
        masculine = not head.feminine and not starts_with_vowel(name[0].text)
        return [own._replace(text="au" if masculine else "en"), *name]
    return contract(tokens, phrase(content, path))


def _relative(relative: Relative, path: str) -> list[Token]:
    own = (path + "r0",)
    if relative.kind == "whose":
        concept = (path + "Sd0",)
        article, *rest = clause(relative.clause, path)  # `la voiture`: its link to `whose` is only possible
        return [Token("dont", concept), Token(article.text, (), concept), *rest]
    word = "où" if relative.kind == "where" else "qui" if relative.clause.gap == "subject" else "que"
    return [Token(word, own), *clause(relative.clause, path)]
