"""The abstract sentence that every language is realised from, and the tokens that realisation gives.

A *concept* is a place in the abstract sentence, named by its path: capital letters lead down to a phrase or
a clause (`S` subject, `O` object, `R` relative clause, ...), and a small letter with a number names what
stands there (`h0` head, `d0` determiner, `v0` verb, `n0` negation, ...). A realiser says of each token
which concepts it expresses, strongly or weakly. Two tokens of two languages are linked if they share a
concept: surely if both express it strongly, possibly if only one does.
"""

from typing import NamedTuple

from translate.grammar.entries import (
    Adjective,
    Adverbial,
    Modal,
    Name,
    Noun,
    Pair,
    Pronoun,
    State,
    Verb,
)


class Token(NamedTuple):
    """A word of one language with the concepts that it expresses."""

    text: str
    strong: tuple[str, ...]
    weak: tuple[str, ...] = ()


class Phrase(NamedTuple):
    """A noun phrase.

    `determiner` is one of `the a this that my your his her our their your-formal all some any no bare
    generic which whose`, or empty where the head takes none or `quantity` stands in its place. `bare` and
    `generic` are both without an English article; French says `des` for the first and `les` for the second.
    """

    head: Noun | Name | Pronoun
    determiner: str = ""
    plural: bool = False
    adjectives: tuple[Adjective, ...] = ()
    quantity: Adverbial | None = None
    owner: "Phrase | None" = None  # of ...
    relative: "Relative | None" = None
    joined: "Phrase | None" = None  # and ...


class Place(NamedTuple):
    """A prepositional phrase."""

    preposition: Adverbial
    phrase: Phrase


class Quality(NamedTuple):
    """A predicate adjective, compared with `than` if that is given."""

    adjective: Adjective
    degree: Adverbial | None = None  # very, too; with `than`: more, less, as
    than: Phrase | None = None


class Age(NamedTuple):
    """So many years old."""

    years: Adverbial


class Clause(NamedTuple):
    """A subject and a predicate.

    `tense` is one of present, progressive, past, perfect, future, going. `gap` names the argument that stands
    before the clause (a relative pronoun, a question word), and is not said again in it.
    """

    subject: Phrase
    verb: Verb
    tense: str = "present"
    modal: Modal | None = None
    negation: Adverbial | None = None
    object: Phrase | None = None
    recipient: Phrase | None = None
    predicate: "Quality | Age | State | Place | Phrase | None" = None
    content: "Clause | None" = None  # that ...
    adverb: Adverbial | None = None  # often, already
    manner: Adverbial | None = None  # slowly, a lot
    place: Place | None = None
    company: Place | None = None  # with, without, for
    time: Adverbial | None = None
    gap: str = ""  # "", subject, object, place


class Relative(NamedTuple):
    """A relative clause; `kind` is who, that, where or whose."""

    kind: str
    clause: Clause


class Sentence(NamedTuple):
    """One or two clauses with their mood.

    `mood` is statement, question, command or proposal (`let us`). With a `conjunction` there is a `second`
    clause; the conjunction stands between the two, or first if `conjunction_first`. `asked` is the adverb of
    a question (`where`); a question about the object has it as the clause's gap.
    """

    clause: Clause
    mood: str = "statement"
    asked: Adverbial | None = None
    conjunction: Adverbial | None = None
    second: Clause | None = None
    conjunction_first: bool = False
    polite: bool = False
    end: str = "."


class Features(NamedTuple):
    """What agrees with a noun phrase: row of the conjugation, gender, number."""

    person: int
    feminine: bool
    plural: bool


def features(phrase: Phrase) -> Features:
    """Person, gender and number of a noun phrase, joined ones included."""
    if phrase.joined is not None:
        feminine = features(phrase._replace(joined=None)).feminine and features(phrase.joined).feminine
        return Features(5, feminine, True)
    head = phrase.head
    if isinstance(head, Pronoun):
        return Features(head.person, head.feminine, head.person > 2)
    if isinstance(head, Name):
        return Features(2, head.feminine, False)
    return Features(5 if phrase.plural else 2, head.feminine, phrase.plural)


def said(pair: Pair, path: str) -> list[Token]:
    """The English tokens of a fixed expression, each a concept of its own under `path`."""
    return [Token(word, (f"{path}{i}",)) for i, word in enumerate(pair.english)]


def rendered(pair: Pair, path: str) -> list[Token]:
    """The French tokens of a fixed expression, linked with the English ones as its entry says."""
    return [
        Token(word, tuple([f"{path}{i}" for i in sure]), tuple([f"{path}{i}" for i in possible]))
        for word, sure, possible in zip(pair.french, pair.sure, pair.possible, strict=True)
    ]
