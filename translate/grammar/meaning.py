"""The abstract sentence, from which every language is realised, and the tokens of a realisation.

A *concept* is a node of the abstract sentence, named by its path: capital letters lead down to a phrase or
a clause (`S` subject, `O` object, `R` relative clause, ...), and a small letter with a number names a part of
it (`h0` head, `d0` determiner, `v0` verb, `n0` negation, ...). A realiser gives each token the concepts that
it expresses, strongly or weakly. Tokens of two languages are linked if they share a concept: the link is sure
if both express it strongly, possible if only one does.
"""

from collections.abc import Callable
from typing import NamedTuple

from translate.grammar.lexicon import Adjective, Modal, Name, Noun, Pair, Pronoun, State, Verb


class Token(NamedTuple):
    """A word of one language with the concepts that it expresses."""

    text: str
    strong: tuple[str, ...]
    weak: tuple[str, ...] = ()


class Phrase(NamedTuple):
    """A noun phrase in any language.

    `determiner` is one of `the a this that my your his her our their your-formal all some any no bare
    generic which whose`, or empty if the head takes none or `quantity` replaces it. English has no article
    for `bare` and `generic`; French has `des` for the first and `les` for the second.
    """

    head: Noun | Name | Pronoun
    determiner: str = ""
    plural: bool = False
    adjectives: tuple[Adjective, ...] = ()
    quantity: Pair | None = None
    owner: "Phrase | None" = None  # of ...
    relative: "Relative | None" = None
    joined: "Phrase | None" = None  # and ...


class PrepositionalPhrase(NamedTuple):
    """A preposition with its noun phrase."""

    preposition: Pair
    phrase: Phrase


class Quality(NamedTuple):
    """A predicate adjective, perhaps in a comparison with `than`."""

    adjective: Adjective
    degree: Pair | None = None  # very, too; with `than`: more, less, as
    than: Phrase | None = None


class Age(NamedTuple):
    """An age in years."""

    years: Pair


class Clause(NamedTuple):
    """A subject and a predicate.

    `tense` is one of present, progressive, past, perfect, future, going. `gap` names the argument that
    precedes the clause as a relative pronoun or question word, and is left out of it.
    """

    subject: Phrase
    verb: Verb
    tense: str = "present"
    modal: Modal | None = None
    negation: Pair | None = None
    object: Phrase | None = None
    recipient: Phrase | None = None
    predicate: "Quality | Age | State | PrepositionalPhrase | Phrase | None" = None
    content: "Clause | None" = None  # that ...
    adverb: Pair | None = None  # often, already
    manner: Pair | None = None  # slowly, a lot
    place: PrepositionalPhrase | None = None
    company: PrepositionalPhrase | None = None  # with, without, for
    time: Pair | None = None
    gap: str = ""  # "", subject, object, place


class Relative(NamedTuple):
    """A relative clause; `kind` is who, that, where or whose."""

    kind: str
    clause: Clause


class Sentence(NamedTuple):
    """One or two clauses with their mood.

    `mood` is statement, question, command or proposal (`let us`). A `conjunction` connects the clause with
    the `second` one; it precedes both if `conjunction_first`. `asked` is the adverb of a question (`where`);
    in a question about the object, the object is the clause's gap.
    """

    clause: Clause
    mood: str = "statement"
    asked: Pair | None = None
    conjunction: Pair | None = None
    second: Clause | None = None
    conjunction_first: bool = False
    polite: bool = False
    end: str = "."


class Features(NamedTuple):
    """The agreement of a noun phrase: row of the conjugation, gender, number."""

    person: int
    feminine: bool
    plural: bool


def features(phrase: Phrase) -> Features:
    """Person, gender and number of a noun phrase, including phrases joined to it."""
    if phrase.joined is not None:
        feminine = features(phrase._replace(joined=None)).feminine and features(phrase.joined).feminine
        return Features(5, feminine, True)
    head = phrase.head
    if isinstance(head, Pronoun):
        return Features(head.person, head.feminine, head.person > 2)
    if isinstance(head, Name):
        return Features(2, head.feminine, False)
    return Features(5 if phrase.plural else 2, head.feminine, phrase.plural)


def english_tokens(pair: Pair | None, path: str) -> list[Token]:
    """The English tokens of a fixed expression, if there is one, with one concept a token under `path`."""
    return [Token(word, (f"{path}{i}",)) for i, word in enumerate(pair.english if pair else ())]


def french_tokens(pair: Pair | None, path: str) -> list[Token]:
    """The French tokens of a fixed expression, with the concepts of the English tokens linked to them."""
    if pair is None:
        return []
    return [
        Token(word, tuple([f"{path}{i}" for i in sure]), tuple([f"{path}{i}" for i in possible]))
        for word, sure, possible in zip(pair.french, pair.sure, pair.possible, strict=True)
    ]


def assemble(
    sentence: Sentence,
    first: list[Token],
    clause: Callable[[Clause, str], list[Token]],
    expression: Callable[[Pair, str], list[Token]],
    please: list[Token],
) -> list[Token]:
    """The first clause with the conjunction and the second one, a polite end and the punctuation.

    Args:
        clause, expression: the tokens of a clause, and of a fixed expression, in the language.
    """
    tokens, comma = first, Token(",", ("c0",))
    if sentence.conjunction is not None and sentence.second is not None:
        conjunction, second = expression(sentence.conjunction, "x"), clause(sentence.second, "Z")
        leading = sentence.conjunction_first
        tokens = [*conjunction, *first, comma, *second] if leading else [*first, *conjunction, *second]
    return [*tokens, *([comma, *please] if sentence.polite else ()), Token(sentence.end, ("e0",))]
