"""English-French pairs with their links, written by hand."""

from typing import Any

import pytest

from tests.grammar.realised import realise
from translate.grammar import lexicon
from translate.grammar.lexicon import (
    BE,
    INTRANSITIVE,
    MISS,
    MODALS,
    PRONOUNS,
    QUANTITIES,
    RAIN,
    STATES,
    TIMES,
    TRANSITIVE,
    WORD,
    english_of,
)
from translate.grammar.meaning import Clause, Phrase, PrepositionalPhrase, Quality, Relative, Sentence

HEADS: dict[str, Any] = {english_of(name): name for name in lexicon.NAMES}
HEADS |= {english_of(noun): noun for noun in lexicon.NOUNS}
ADJECTIVES: dict[str, Any] = {entry.english: entry for entry in lexicon.ADJECTIVES}
VERBS: dict[str, Any] = {
    " ".join((verb.english.base, *verb.particle)): verb
    for verb in (*TRANSITIVE, *lexicon.DITRANSITIVE, *INTRANSITIVE)
}
FIXED: dict[str, Any] = {english_of(entry): entry for entry in (*lexicon.ADVERBS, *TIMES, *QUANTITIES)}


def the(english: str, *adjectives: str, determiner: str = "the", plural: bool = False, **more: Any) -> Phrase:
    chosen = tuple(ADJECTIVES[adjective] for adjective in adjectives)
    return Phrase(HEADS[english], determiner, plural, chosen)._replace(**more)


ME, YOU, HE, SHE, IT, WE, THEY, THERE = (
    Phrase(PRONOUNS[key]) for key in ("I", "you", "he", "she", "it", "we", "they", "there")
)
CAN, WOULD_LIKE = (next(m for m in MODALS if m.english.base == base) for base in ("can", "like"))
WHERE = next(word for word in lexicon.WORDS if word.english == ("where",) and "ask" in word.flags)
APPLES, GIRL = the("apple", plural=True), the("girl")
EATEN = Relative("that", Clause(ME, VERBS["eat"], "past", object=APPLES, gap="object"))
WHOSE = Relative("whose", Clause(the("dress", determiner="whose"), BE, predicate=Quality(ADJECTIVES["red"])))

# fmt: off
BY_HAND = [
    (Sentence(Clause(ME, VERBS["love"], object=YOU)),
     "I love you .", "je t' aime .", "0-0 1-2 2-1 3-3"),
    (Sentence(Clause(YOU, VERBS["look up"], object=IT), "command"),
     "look it up .", "cherchez -le .", "0-0 1-1 2p0 3-2"),
    (Sentence(Clause(SHE, VERBS["love"], negation=WORD["not"], object=the("tree", "old", plural=True))),
     "she does not love the old trees .", "elle n' aime pas les vieux arbres .",
     "0-0 1p1 1p2 1p3 2-1 2-3 3-2 4-4 5-5 6-6 7-7"),
    (Sentence(Clause(ME, VERBS["need"], object=the("water", determiner="some"))),
     "I need some water .", "j' ai besoin d' eau .", "0-0 1-1 1-2 1p3 2-3 3-4 4-5"),
    (Sentence(Clause(ME, VERBS["talk to"], object=HE)),
     "I talk to him .", "je lui parle .", "0-0 1-2 2p1 3-1 4-3"),
    (Sentence(Clause(WE, VERBS["buy"], "past", object=the("flower", "white", determiner="some",
    plural=True))),
     "we bought some white flowers .", "nous avons acheté des fleurs blanches .",
     "0-0 1p1 1-2 2-3 3-5 4-4 5-6"),
    (Sentence(Clause(APPLES._replace(relative=EATEN), BE, "past", predicate=Quality(ADJECTIVES["good"]))),
     "the apples that I ate were good .", "les pommes que j' ai mangées étaient bonnes .",
     "0-0 1-1 2-2 3-3 4p4 4-5 5-6 6-7 7-8"),
    (Sentence(Clause(HE, VERBS["talk to"], "progressive", object=the("child", plural=True,
    owner=the("doctor")))),
     "he is talking to the children of the doctor .", "il parle aux enfants du médecin .",
     "0-0 1p1 2-1 3-2 4p2 5-3 6-4 7p4 8-5 9-6"),
    (Sentence(Clause(Phrase(HEADS["Paul"]), VERBS["need"], object=the("potato", plural=True)), "question",
    end="?"),
     "does Paul need the potatoes ?", "est -ce que Paul a besoin des pommes de terre ?",
     "0p0 0p1 0p2 0p4 0p5 1-3 2-4 2-5 2p6 3-6 4-7 4-8 4-9 5p0 5p1 5p2 5-10"),
    (Sentence(Clause(YOU, VERBS["see"], object=SHE), "question", end="?"),
     "do you see her ?", "la vois -tu ?", "0p1 1-2 2-1 3-0 4-3"),
    (Sentence(Clause(ME, VERBS["give"], "future", object=IT, recipient=THEY, time=FIXED["tomorrow"])),
     "I will give it to them tomorrow .", "demain je le leur donnerai .",
     "0-1 1p4 2-4 3-2 4p3 5-3 6-0 7-5"),
    (Sentence(Clause(HE, MISS, object=ME)),
     "he misses me .", "je lui manque .", "0-1 1-2 2-0 3-3"),
    (Sentence(Clause(HE, BE, predicate=STATES[0]), "question", end="?"),
     "is he hungry ?", "a -t-il faim ?", "0-0 1-1 2-2 3-3"),
    (Sentence(Clause(THERE, BE, object=the("bread", determiner="no"), place=PrepositionalPhrase(WORD["on"],
    the("table")))),
     "there is no bread on the table .", "il n' y a pas de pain sur la table .",
     "0-0 0-2 1-3 2-1 2-4 2p5 3-6 4-7 5-8 6-9 7-10"),
    (Sentence(Clause(Phrase(HEADS["Marie"]), BE, predicate=Quality(ADJECTIVES["tall"], WORD["more"],
    the("brother", determiner="her")))),
     "Marie is taller than her brother .", "Marie est plus grande que son frère .",
     "0-0 1-1 2-2 2-3 3-4 4-5 5-6 6-7"),
    (Sentence(Clause(ME, VERBS["lose"], "past", object=the("key")), conjunction=WORD["and"],
    second=Clause(SHE, VERBS["find"], "past", object=Phrase(PRONOUNS["it-f"]))),
     "I lost the key and she found it .", "j' ai perdu la clé et elle l' a trouvée .",
     "0-0 1p1 1-2 2-3 3-4 4-5 5-6 6p8 6-9 7-7 8-10"),
    (Sentence(Clause(YOU, VERBS["write"], "past", object=Phrase(HEADS["letter"], plural=True,
    quantity=FIXED["how many"]), gap="object"), "question", end="?"),
     "how many letters did you write ?", "combien de lettres as -tu écrites ?",
     "0p0 1-0 1p1 2-2 3p3 3p5 4-4 5p3 5-5 6-6"),
    (Sentence(Clause(YOU, VERBS["hurry"], negation=WORD["not"]), "command", end="!"),
     "do not hurry !", "ne vous dépêchez pas !", "0p0 0p2 0p3 1-0 1-3 2p1 2-2 3-4"),
    (Sentence(Clause(the("nurse", plural=True), VERBS["get up"], "past")),
     "the nurses got up .", "les infirmières se sont levées .", "0-0 1-1 2p2 2p3 2-4 3p4 4-5"),
    (Sentence(Clause(IT, RAIN), conjunction=WORD["if"], second=Clause(HE, VERBS["rest"], "future"),
    conjunction_first=True),
     "if it rains , he will rest .", "s' il pleut , il se reposera .",
     "0-0 1-1 2-2 3-3 4-4 5p6 6p5 6-6 7-7"),
    (Sentence(Clause(the("man", "old", determiner="this"), VERBS["live"],
    place=PrepositionalPhrase(WORD["in"], Phrase(HEADS["Japan"])))),
     "this old man lives in Japan .", "ce vieil homme habite au Japon .", "0-0 1-1 2-2 3-3 4-4 5-5 6-6"),
    (Sentence(Clause(ME, VERBS["drink"], negation=WORD["no longer"], object=the("coffee",
    determiner="bare"))),
     "I no longer drink coffee .", "je ne bois plus de café .", "0-0 1-1 1p3 2p1 2-3 2p4 3-2 4p4 4-5 5-6"),
    (Sentence(Clause(HE, VERBS["open"], modal=CAN, negation=WORD["not"], object=IT)),
     "he cannot open it .", "il ne peut pas l' ouvrir .", "0-0 1-1 1-2 1-3 2-5 3-4 4-6"),
    (Sentence(Clause(THEY, VERBS["leave"], modal=WOULD_LIKE)),
     "they would like to leave .", "ils voudraient partir .", "0-0 1p1 2-1 3p2 4-2 5-3"),
    (Sentence(Clause(YOU, VERBS["give"], object=the("book"), recipient=ME), "command", polite=True),
     "give me the book , please .", "donnez -moi le livre , s' il vous plaît .",
     "0-0 1-1 2-2 3-3 4-4 5-5 5-6 5-7 5-8 6-9"),
    (Sentence(Clause(Phrase(HEADS["nobody"]), VERBS["see"], "perfect", object=GIRL._replace(relative=WHOSE))),
     "nobody has seen the girl whose dress is red .", "personne n' a vu la fille dont la robe est rouge .",
     "0-0 0-1 1-2 1p3 2p2 2-3 3-4 4-5 5-6 5p7 6-8 7-9 8-10 9-11"),
    (Sentence(Clause(the("mother", determiner="our"), VERBS["listen to"], "going", object=the("song",
    plural=True))),
     "our mother is going to listen to the songs .", "notre mère va écouter les chansons .",
     "0-0 1-1 2p2 3-2 4p3 5-3 6p3 7-4 8-5 9-6"),
    (Sentence(Clause(WE, VERBS["go"], place=PrepositionalPhrase(WORD["to"], the("market"))), "proposal"),
     "let us go to the market .", "allons au marché .", "0p0 1p0 2-0 3-1 4p1 5-2 6-3"),
    (Sentence(Clause(ME, VERBS["like"], object=the("cat", determiner="generic", plural=True))),
     "I like cats .", "j' aime bien les chats .", "0-0 1-1 1-2 2p3 2-4 3-5"),
    (Sentence(Clause(SHE, VERBS["drink"], object=the("orange juice", determiner="some"),
    time=FIXED["at night"])),
     "she drinks some orange juice at night .", "la nuit elle boit du jus d' orange .",
     "0-2 1-3 2-4 3p6 3-7 4-5 4p6 5p0 6p0 6-1 7-8"),
    (Sentence(Clause(WE, VERBS["close"], "perfect", object=the("box"), manner=FIXED["carefully"])),
     "we have closed the box carefully .", "nous avons fermé la boîte avec soin .",
     "0-0 1-1 1p2 2p1 2-2 3-3 4-4 5-5 5-6 6-7"),
    (Sentence(Clause(the("dog", "small", "black", determiner="my", plural=True), BE), "question",
    asked=WHERE, end="?"),
     "where are my small black dogs ?", "où est -ce que mes petits chiens noirs sont ?",
     "0-0 0p1 0p2 0p3 1p1 1p2 1p3 1-8 2-4 3-5 4-7 5-6 6p1 6p2 6p3 6-9"),
]
# fmt: on


@pytest.mark.parametrize(("sentence", "english", "french", "gold"), BY_HAND, ids=[row[1] for row in BY_HAND])
def test_pair_written_by_hand(sentence: Sentence, english: str, french: str, gold: str) -> None:
    source, target, written = realise(sentence)
    assert (source, target) == (english, french)
    assert sorted(written.split()) == sorted(gold.split())
