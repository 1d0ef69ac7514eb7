"""Realises noun phrases in French: agreement, articles, position of adjectives, contraction, elision."""

from collections.abc import Callable

from translate.grammar.lexicon import Name, Noun, Pronoun
from translate.grammar.meaning import (
    Clause,
    Phrase,
    PrepositionalPhrase,
    Relative,
    Token,
    features,
    french_tokens,
)

# masculine, feminine, plural
_DETERMINERS = {
    "the": ("le", "la", "les"),
    "generic": ("le", "la", "les"),
    "whose": ("le", "la", "les"),
    "a": ("un", "une", "des"),
    "this": ("ce", "cette", "ces"),
    "that": ("ce", "cette", "ces"),
    "my": ("mon", "ma", "mes"),
    "your": ("ton", "ta", "tes"),
    "his": ("son", "sa", "ses"),
    "her": ("son", "sa", "ses"),
    "our": ("notre", "notre", "nos"),
    "your-formal": ("votre", "votre", "vos"),
    "their": ("leur", "leur", "leurs"),
}
_BEFORE_VOWEL = {"ce": "cet", "ma": "mon", "ta": "ton", "sa": "son"}
_WHICH = ("quel", "quelle", "quels", "quelles")
_ELIDED = {word: word[:-1] + "'" for word in ("je", "me", "te", "se", "le", "la", "de", "ne", "que", "ce")}
_CONTRACTED = {("à", "le"): "au", ("à", "les"): "aux", ("de", "le"): "du", ("de", "les"): "des"}
# h aspiré, and numbers that behave like it
_NO_ELISION = ("hérisson", "haricot", "hache", "huit", "onze")

ClauseRealiser = Callable[[Clause, str], list[Token]]


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
    if contracted is None or (article.text == "le" and starts_with_vowel(tokens[1].text)):
        return preposition + tokens
    strong = last.strong or article.strong
    others = [c for c in (*last.strong, *last.weak, *article.strong, *article.weak) if c not in strong]
    return [*preposition[:-1], Token(contracted, strong, tuple(others)), *tokens[1:]]


def phrase(
    content: Phrase, path: str, clause: ClauseRealiser, *, negation: tuple[str, ...] | None = None
) -> list[Token]:
    """A noun phrase with its concepts under `path`.

    Args:
        clause: realises a relative clause.
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
        tokens += contract([Token("de", (path + "f0",))], phrase(content.owner, path + "F", clause))
    if content.relative is not None:
        tokens += _relative(content.relative, path + "R", clause)
    if content.joined is not None:
        tokens += [Token("et", (path + "j0",)), *phrase(content.joined, path + "J", clause)]
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
    if content.quantity is not None:
        tokens = french_tokens(content.quantity.pair, path + "q") + tokens
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


def prepositional(place: PrepositionalPhrase, path: str, clause: ClauseRealiser) -> list[Token]:
    """A preposition and its phrase: `à Paris`, `en France`, `au Japon`, `près du pont`."""
    tokens = french_tokens(place.preposition.pair, path + "p")
    content, head = place.phrase, place.phrase.head
    if isinstance(head, Name) and head.kind in ("city", "country"):
        own, name = tokens[-1], french_tokens(head.pair, path + "h")
        if head.kind == "city" or own.text == "de":
            to = own if own.text == "de" else own._replace(text="à")
            article = [] if head.kind == "city" or head.feminine else [Token("le", (), (path + "h0",))]
            return contract([to], article + name)
        masculine = not head.feminine and not starts_with_vowel(name[0].text)
        return [own._replace(text="au" if masculine else "en"), *name]
    return contract(tokens, phrase(content, path, clause))


def _relative(relative: Relative, path: str, clause: ClauseRealiser) -> list[Token]:
    own = (path + "r0",)
    if relative.kind == "whose":
        return [Token("dont", (path + "Sd0",)), *_whose(clause(relative.clause, path), path)]
    word = "où" if relative.kind == "where" else "qui" if relative.clause.gap == "subject" else "que"
    return [Token(word, own), *clause(relative.clause, path)]


def _whose(tokens: list[Token], path: str) -> list[Token]:
    """In `dont la voiture` the link of the article to `whose` is only possible."""
    return [Token(tokens[0].text, (), (path + "Sd0",)), *tokens[1:]]
