"""Realises an abstract sentence in an invented language with the verb at the end.

Subject, object and recipient have a postposition for their case. Relative clauses and owners precede the
noun, reasons precede their result, and questions keep the order of statements. Nouns and verbs take suffixes;
there are no articles. Each meaning has an invented root; proper names do not change.
"""

from zlib import crc32

from translate.grammar import lexicon
from translate.grammar.lexicon import BE, PRONOUNS, THERE, Name, Pair, Pronoun, State, english_of
from translate.grammar.meaning import (
    Age,
    Clause,
    Phrase,
    PrepositionalPhrase,
    Quality,
    Relative,
    Sentence,
    Token,
)

_SUFFIXES = {"present": "a", "progressive": "a", "perfect": "a", "going": "a", "past": "eta", "future": "uro"}
_LINKING, _IMPERATIVE, _PROPOSAL = "i", "e", "omo"
_CASES = {"subject": "ta", "object": "lo", "recipient": "ne", "owner": "su"}
_NOT, _QUESTION, _RELATIVE, _THAT = "mu", "ka", "yo", "ke"
_BACK_VOWELS = "aou"
_UNCHANGED = ("person", "city", "country")  # names


def _make_roots() -> dict[str, str]:
    """A root for every meaning: two open syllables, with another consonant for verbs."""
    heads = [english_of(noun) for noun in lexicon.NOUNS]
    heads += [english_of(name) for name in lexicon.NAMES if name.kind not in _UNCHANGED]
    heads += [" ".join(pronoun.english) for pronoun in PRONOUNS.values()]
    heads += ["this", "that", "all", "which", "year", "please"]
    fixed = (*lexicon.TIMES, *lexicon.ADVERBS, *lexicon.QUANTITIES, *lexicon.WORDS)
    heads += [english_of(entry) for entry in fixed]
    heads += [state.english for state in lexicon.STATES]
    heads += [adjective.english for adjective in lexicon.ADJECTIVES]
    verbs = [*lexicon.TRANSITIVE, *lexicon.DITRANSITIVE, *lexicon.INTRANSITIVE, *lexicon.SAYING]
    verbs += [BE, lexicon.RAIN, lexicon.SNOW, lexicon.MISS]
    actions = [" ".join(("to", verb.english.base, *verb.particle)) for verb in verbs]
    actions += [" ".join(("may", modal.english.base, *modal.words)) for modal in lexicon.MODALS]
    actions += ["aux going", "aux perfect", "aux progressive"]
    roots: dict[str, str] = {}
    taken: set[str] = set()
    for meaning in [*heads, *actions]:
        number = crc32(meaning.encode())
        pattern = "CVCVC" if meaning in actions else "CVCV"
        while meaning not in roots:
            word, number = _spell(number, pattern), number + 1
            if word not in taken:
                roots[meaning] = word
                taken.add(word)
    return roots


def _spell(number: int, pattern: str) -> str:
    word = ""
    for kind in pattern:
        letters = "ptkbdgmnslrvzf" if kind == "C" else "aeiou"
        number, rest = divmod(number, len(letters))
        word += letters[rest]
    return word


_ROOTS = _make_roots()


def realise(sentence: Sentence) -> list[Token]:
    """The tokens of a sentence, from the first word to the final punctuation."""
    first = sentence.clause
    ending = _IMPERATIVE if sentence.mood == "command" else _PROPOSAL if sentence.mood == "proposal" else ""
    asked = _word(sentence.asked, "w")
    tokens = _clause(first, "", ending=ending, asked=asked)
    if sentence.conjunction is not None and sentence.second is not None:
        conjunction, second = _word(sentence.conjunction, "x"), _clause(sentence.second, "Z")
        if sentence.conjunction_first:
            tokens = [*tokens, *conjunction, Token(",", ("c0",)), *second]
        elif conjunction[0].text == _ROOTS["because"]:
            tokens = [*second, *conjunction, *tokens]
        else:
            tokens = [*tokens, *conjunction, *second]
    if sentence.polite:
        tokens = [Token(_ROOTS["please"], ("q0",)), *tokens]
    if sentence.mood == "question":
        tokens.append(Token(_QUESTION, ("w9",), ("e0",)))
    return [*tokens, Token(sentence.end, ("e0",))]


def _word(pair: Pair | None, path: str) -> list[Token]:
    """One word for a fixed expression, surely linked to the English word with most sure French links."""
    if pair is None:
        return []
    sure = [i for indexes in pair.sure for i in indexes]
    main = max(range(len(pair.english)), key=lambda i: (sure.count(i), i))
    others = tuple(f"{path}{i}" for i in range(len(pair.english)) if i != main)
    return [Token(_ROOTS[" ".join(pair.english)], (f"{path}{main}",), others)]


def _clause(
    content: Clause, path: str, *, ending: str = "", relative: bool = False, asked: list[Token] | None = None
) -> list[Token]:
    """A clause, without its gap if `relative`, without its subject if it has the `ending` of a command."""
    gap = content.gap if relative else ""
    tokens = _word(content.time, path + "z")
    if not (ending or gap == "subject" or content.subject.head is THERE):
        tokens += _argument(content.subject, path, "S", "subject")
    tokens += asked or []
    if content.place is not None and gap != "place":
        tokens += _place(content.place, path + "L")
    if content.company is not None:
        tokens += _place(content.company, path + "W")
    if content.recipient is not None:
        tokens += _argument(content.recipient, path, "I", "recipient", path + "i0")
    if content.object is not None and gap != "object":
        to = content.verb.preposition == "à" and bool(content.verb.particle)
        case = "subject" if content.subject.head is THERE else "recipient" if to else "object"
        tokens += _argument(content.object, path, "O", case, path + "p0" if to else "")
    tokens += _predicate(content, path)
    if content.content is not None:
        tokens += [*_clause(content.content, path + "C"), Token(_THAT, (path + "k0",))]
    tokens += _word(content.manner, path + "i") + _word(content.adverb, path + "a")
    before, after = _negation(content, path)
    return [*tokens, *before, *_verb(content, path, ending), *after]


def _verb(content: Clause, path: str, ending: str) -> list[Token]:
    """The verb with the suffix of its tense or mood, or its linking form with the governing verb."""
    verb, modal, tense = content.verb, content.modal, content.tense
    suffix = ending or _SUFFIXES[tense]
    there = (path + "Sh0",) if content.subject.head is THERE else ()
    stem, own = _ROOTS[" ".join(("to", verb.english.base, *verb.particle))], (path + "v0",)
    if modal is not None:
        governing, concept = _ROOTS[" ".join(("may", modal.english.base, *modal.words))], path + "m0"
        return [Token(stem + _LINKING, own), Token(governing + suffix, (concept,), (path + "m1",))]
    if tense in ("going", "perfect", "progressive"):
        concept = path + ("u0" if tense == "going" else "t0")
        weak = () if tense == "going" else own
        return [Token(stem + _LINKING, own), Token(_ROOTS["aux " + tense] + suffix, (concept,), weak)]
    return [Token(stem + suffix, own, there)]


def _negation(content: Clause, path: str) -> tuple[list[Token], list[Token]]:
    """The word before the verb, such as `never`, and the particle after it."""
    if content.negation is not None:
        if content.negation.english == ("not",):
            return [], [Token(_NOT, (path + "n0",))]
        return _word(content.negation, path + "n"), [Token(_NOT, (path + "n0",), (path + "n1",))]
    for phrase, letter in ((content.subject, "S"), (content.object, "O")):
        if phrase is not None and isinstance(phrase.head, Name) and phrase.head.kind == "negative":
            return [], [Token(_NOT, (path + letter + "h0",))]
        if phrase is not None and phrase.determiner == "no":
            return [], [Token(_NOT, (path + letter + "d0",))]
    return [], []


def _predicate(content: Clause, path: str) -> list[Token]:
    predicate = content.predicate
    if isinstance(predicate, Quality):
        tokens = _word(predicate.degree, path + "g")
        tokens.append(Token(_ROOTS[predicate.adjective.english], (path + "a9",)))
        if predicate.than is not None:
            tokens = [*_phrase(predicate.than, path + "B"), Token("yu", (path + "b0",)), *tokens]
        return tokens
    if isinstance(predicate, Age):
        return [*_word(predicate.years, path + "y"), Token(_ROOTS["year"], (path + "y9",))]
    if isinstance(predicate, State):
        return [Token(_ROOTS[predicate.english], (path + "s0",))]
    if isinstance(predicate, Phrase):
        return _phrase(predicate, path + "K")
    return _place(predicate, path + "K") if isinstance(predicate, PrepositionalPhrase) else []


def _place(place: PrepositionalPhrase, path: str) -> list[Token]:
    return _phrase(place.phrase, path) + _word(place.preposition, path + "p")


def _argument(content: Phrase, path: str, letter: str, case: str, preposition: str = "") -> list[Token]:
    """A phrase with its case, which is the relation of its head to the verb.

    Args:
        preposition: the concept of an English preposition with the same meaning, if there may be one.
    """
    own = path + letter
    strong = (preposition,) if preposition else ()
    return [*_phrase(content, own), Token(_CASES[case], strong, (_head_concept(content, own), path + "v0"))]


def _head_concept(content: Phrase, path: str) -> str:
    if content.joined is not None:
        return _head_concept(content.joined, path + "J")
    head = content.head
    words = 1 if isinstance(head, Pronoun | Name) else len(head.forms[content.plural].english)
    return f"{path}h{words - 1}"


def _phrase(content: Phrase, path: str) -> list[Token]:
    """A noun phrase: relative clause, owner, determiner, quantity, adjectives, noun."""
    head = content.head
    if isinstance(head, Pronoun):
        tokens = [Token(_ROOTS[" ".join(head.english)], (path + "h0",))]
    elif isinstance(head, Name):
        same = head.kind in _UNCHANGED
        tokens = [Token(head.pair.english[0], (path + "h0",))] if same else _word(head.pair, path + "h")
    else:
        tokens = _determiner(content, path)
        tokens += _word(content.quantity, path + "q")
        tokens += [Token(_ROOTS[a.english], (f"{path}a{i}",)) for i, a in enumerate(content.adjectives)]
        noun = _word(head.forms[0], path + "h")[0]
        suffix = "ra" if noun.text[-1] in _BACK_VOWELS else "re"
        tokens.append(noun._replace(text=noun.text + suffix) if content.plural else noun)
    if content.owner is not None:
        tokens = [*_phrase(content.owner, path + "F"), Token(_CASES["owner"], (path + "f0",)), *tokens]
    if content.relative is not None:
        tokens = _relative(content.relative, path + "R") + tokens
    if content.joined is not None:
        tokens = [*tokens, Token(_ROOTS["and"], (path + "j0",)), *_phrase(content.joined, path + "J")]
    return tokens


def _determiner(content: Phrase, path: str) -> list[Token]:
    name, own = content.determiner.removesuffix("-formal"), path + "d0"
    if name in _OWNERS:
        owner = PRONOUNS[_OWNERS[name]]
        return [Token(_ROOTS[" ".join(owner.english)], (own,)), Token(_CASES["owner"], (), (own,))]
    if name in ("this", "that", "all", "which"):
        return [Token(_ROOTS[name], (own,), (path + "d1",) if name == "all" else ())]
    return []


_OWNERS = {"my": "I", "your": "you", "his": "he", "her": "she", "our": "we", "their": "they"}


def _relative(relative: Relative, path: str) -> list[Token]:
    concept = path + ("Sd0" if relative.kind == "whose" else "r0")
    return [*_clause(relative.clause, path, relative=True), Token(_RELATIVE, (concept,))]
