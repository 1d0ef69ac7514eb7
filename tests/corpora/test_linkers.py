"""Links of training pairs: written ones, and those that a sample teaches."""

import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from translate.config.data import TokenizerConfig, data_config
from translate.corpora import linkers
from translate.corpora.columns import Column
from translate.corpora.corpus import Corpus
from translate.corpora.linkers import (
    WrittenLinks,
    check_links,
    correspondence_notes,
    estimated,
    has_gaps,
    sample_of,
)
from translate.corpora.mixture import joined_train
from translate.corpora.split import Split
from translate.errors import UserError
from translate.grammar.generator import generate
from translate.links.fixed_aligner import Words
from translate.links.links import Links, parse_gold, score
from translate.links.statistical import KnownLinks
from translate.text.tokenizer import train_tokenizer


def words_of(lines: Iterable[str]) -> list[list[str]]:
    return [line.split() for line in lines]


@pytest.fixture(scope="module")
def grammar() -> tuple[Split, list[str]]:
    found = generate(1500, 0, 0, 1, target="fr")["train"]
    sources, targets, gold = (list(side) for side in zip(*found, strict=True))
    return Split(sources, targets), gold


def test_a_sample_is_of_pairs_at_equal_distances(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linkers, "ROWS", 7)
    lines = [f"A{number} b" for number in range(100)]
    lines[95] = "c " * (linkers.LONGEST + 1)  # no pair to learn from
    sample = sample_of(Split(lines, lines), 4 * 10, whitespace=True)
    assert not sample.whole
    taken = [int(words[0].removeprefix("a")) for words in sample.sources]
    assert sample.sources == sample.targets == [[f"a{number}", "b"] for number in taken]
    assert taken == [*range(0, 100, 10)]


def test_links_that_a_sample_teaches_are_those_of_the_corpus(grammar: tuple[Split, list[str]]) -> None:
    split, gold = grammar
    sample = sample_of(split, 20_000, whitespace=True)
    assert len(sample.sources) < 700
    linker = estimated(sample, None)
    sides = words_of(split.source), words_of(split.target)
    found = linker(0, *sides)
    assert score(found, [parse_gold(line, where="gold") for line in gold]).aer < 0.2
    parts = [linker(begin, *(side[begin : begin + 400] for side in sides)) for begin in range(0, 1500, 400)]
    assert [links for part in parts for links in part] == found


def test_known_links_join_the_estimate_of_a_sample() -> None:
    """Nothing but the known pairs says which of two words that always stand together is which."""
    lines = ["a B", "b a"] * 30
    targets = ["X y", "y x"] * 30
    known = KnownLinks([["A", "b"]] * 20, [["Y", "X"]] * 20, [frozenset({(0, 1), (1, 0)})] * 20)
    sample = sample_of(Split(lines, targets), 200, whitespace=True)
    assert not sample.whole
    crossed = frozenset({(0, 0), (1, 1)})
    assert estimated(sample, known)(0, words_of(["a b"]), words_of(["x y"])) == [crossed]


def test_a_tag_is_one_word_as_where_sentences_are_encoded() -> None:
    lines = [f"<2de> I see {number} dogs, Tom's." for number in range(9)]
    tokenizer = train_tokenizer(lines, TokenizerConfig(vocabulary_size=60), symbols=("<2de>",))
    words = [[word.text for word in tokenizer.encode_words(line).words] for line in lines]
    assert words[0][:2] == ["<2de>", "I"]
    sample = sample_of(Split(lines, lines), tags=tokenizer.tags, whitespace=False)
    assert sample.sources == words


def test_links_of_a_corpus_with_a_tag_move_by_one_word() -> None:
    split = Split(["the cat sleeps ."] * 2, ["le chat dort ."] * 2, links=["0-0 1-1", ""])
    joined = joined_train({"law": split, "own": split}, {"law": "<law>", "own": None})
    assert joined.source == ["<law> the cat sleeps ."] * 2 + ["the cat sleeps ."] * 2
    assert joined.links == ["1-0 2-1", "", "0-0 1-1", ""]


def test_a_corpus_without_short_pairs_is_told() -> None:
    long = "word " * (linkers.LONGEST + 1)
    sample = sample_of(Split([long] * 9, [long] * 9), 10_000, whitespace=True)
    with pytest.raises(UserError, match=r"links cannot be estimated: no training pair .* 1 to 60 words"):
        estimated(sample, None)


def test_pairs_without_written_links_are_left_to_others() -> None:
    lines: Column[str | None] = Column.of(["0-0", None, "", None, "1p0"])
    assert has_gaps(Split(["a"] * 5, ["b"] * 5, links=lines))
    assert not has_gaps(Split(["a"], ["b"], links=[""]))
    sides = words_of(["a b"] * 3), words_of(["x"] * 3)
    asked = []

    def others(begin: int, sources: Words, targets: Words) -> list[Links]:
        asked.append(begin)
        return [frozenset({(begin, number)}) for number in range(3)]

    linker = WrittenLinks(lines, "links of pair ", others=others)
    assert linker(1, *sides) == [{(1, 0)}, frozenset(), {(1, 2)}]
    assert linker(2, *sides) == [frozenset(), {(2, 1)}, {(1, 0)}]
    assert asked == [1, 2]
    assert WrittenLinks(lines, "links of pair ")(1, *sides) == [frozenset()] * 3
    with pytest.raises(UserError, match="links of pair 5: link '1p0' points to source word 1"):
        linker(2, words_of(["a"] * 3), sides[1])


def test_links_between_white_space_are_found_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`(it` is two words here, and the full stop another one."""
    split = Split(["(it red."] * 30, ["c' est rouge."] * 30)
    corpus, path = Corpus("own", "en", "fr", split, None, None, {}), tmp_path / "links"
    path.write_text("0-0 0-1 1-2\n" * 30)
    check_links(path, corpus, whitespace=True)
    assert capsys.readouterr().out == ""
    check_links(path, corpus, whitespace=False)
    assert (
        "links: no link reaches the last words of a pair; if the file counts words" in capsys.readouterr().out
    )
    path.write_text("0-0 1-1 2-2\n" * 29 + "0-0 3-3\n")
    check_links(path, corpus, whitespace=False)
    assert capsys.readouterr().out == ""
    with pytest.raises(UserError, match=r"line 1: link '2-2' points to source word 2, .*split otherwise, as"):
        check_links(path, corpus, whitespace=True)
    path.write_text("0-0\n" * 31)
    with pytest.raises(UserError, match="31 lines of links, but the training split has 30 pairs"):
        check_links(path, corpus, whitespace=False)


def test_lines_that_have_slipped_are_found() -> None:
    data = data_config({"name": "own", "kind": "files", "train": {"source": "a", "target": "b"}})
    pairs = generate(1100, 0, 0, 1, target="fr")["train"]
    sources, targets = [pair.source for pair in pairs], [pair.target for pair in pairs]
    assert correspondence_notes(Split(sources, targets), data) == []
    (told,) = correspondence_notes(Split(sources[1:], targets[:-1]), data)
    assert told.startswith("warning: between 0 and 100 % of the corpus pairs fit the translations of their ")
    (told,) = correspondence_notes(Split([*sources[:550], *sources[551:]], targets[:-1]), data)
    assert re.match("warning: between (40|60) and 100 % of the corpus", told)
    assert correspondence_notes(Split(sources[1:900], targets[:899]), data) == []  # so few do not tell
    assert correspondence_notes(Split(["a " * 61] * 1000, ["b " * 61] * 1000), data) == []  # nor so long ones
