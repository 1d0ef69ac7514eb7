"""The invented target language: the verb last, and the same promises as French."""

import re
from collections import Counter

import pytest

from tests.grammar.realised import realise
from translate.grammar.generator import Example, generate
from translate.grammar.lexicon import BE, NOUNS, PRONOUNS, RAIN, STATES, TRANSITIVE, WORD, Noun, Verb
from translate.grammar.meaning import Clause, Phrase, Relative, Sentence


@pytest.fixture(scope="module")
def examples() -> list[Example]:
    return [example for split in generate(7001, 307, 293, seed=5, target="sov").values() for example in split]


def noun(english: str, *, plural: bool = False, determiner: str = "the") -> Phrase:
    head: Noun = next(entry for entry in NOUNS if entry.forms[0].english == (english,))
    return Phrase(head, determiner, plural)


def verb(english: str) -> Verb:
    return next(entry for entry in TRANSITIVE if entry.english.base == english and not entry.particle)


ME, YOU, HE, SHE, IT = (Phrase(PRONOUNS[key]) for key in ("I", "you", "he", "she", "it"))
BOOK = noun("book")
READ_BOOK = BOOK._replace(
    relative=Relative("that", Clause(ME, verb("read"), "future", object=BOOK, gap="object"))
)

# fmt: off
BY_HAND = [
    (Sentence(Clause(ME, verb("love"), object=YOU)),
     "I love you .", "deri ta runo lo pelama .", "0-0 0p1 1p1 2-2 2p3 1p3 1-4 3-5"),
    (Sentence(Clause(YOU, verb("love"), object=ME, negation=WORD["not"]), "question", end="?"),
     "do you not love me ?", "runo ta deri lo pelama mu ka ?",
     "1-0 1p1 3p1 4-2 4p3 3p3 3-4 0p4 2-5 0p5 0p6 5p6 5-7"),
    (Sentence(Clause(SHE, verb("buy"), "past", object=noun("book", plural=True, determiner="my"))),
     "she bought my books .", "mupi ta deri su vitire lo vakufeta .",
     "0-0 0p1 1p1 2-2 2p3 3-4 3p5 1p5 1-6 4-7"),
    (Sentence(Clause(HE, verb("buy"), "perfect", object=READ_BOOK)),
     "he has bought the book that I will read .", "mite ta deri ta zodururo yo viti lo vakufi lopara .",
     "0-0 0p1 2p1 6-2 6p3 8p3 8-4 7p4 5-5 4-6 4p7 2p7 2-8 1p8 1-9 2p9 9-10"),
    (Sentence(Clause(SHE, BE, predicate=STATES[0]), conjunction=WORD["because"], second=Clause(IT, RAIN,
    "past")),
     "she is hungry because it rained .", "noru ta ratemeta nuni mupi ta kole vorora .",
     "4-0 4p1 5p1 5-2 3-3 0-4 0p5 1p5 2-6 1-7 6-8"),
]
# fmt: on


@pytest.mark.parametrize(("sentence", "english", "target", "gold"), BY_HAND, ids=[row[1] for row in BY_HAND])
def test_pair_written_by_hand(sentence: Sentence, english: str, target: str, gold: str) -> None:
    example = realise(sentence, "sov")
    assert example[:2] == (english, target)
    assert sorted(example.gold.split()) == sorted(gold.split())


def test_most_sure_links_cross(examples: list[Example]) -> None:
    crossed = 0
    for example in examples:
        sure = [tuple(map(int, link.split("-"))) for link in example.gold.split() if "-" in link]
        crossed += any(i < k and j > m for i, j in sure for k, m in sure)
    assert crossed > 0.75 * len(examples)


def test_every_target_word_is_linked_and_at_most_one_link_is_missed(examples: list[Example]) -> None:
    missed = total = 0
    for example in examples:
        num_target = len(example.target.split())
        reached = {int(re.split("[-p]", link)[1]) for link in example.gold.split()}
        sure = Counter(int(link.split("-")[1]) for link in example.gold.split() if "-" in link)
        assert reached == set(range(num_target)), example
        missed += sum(count - 1 for count in sure.values())
        total += num_target + sum(sure.values())
    assert missed / total < 0.01
