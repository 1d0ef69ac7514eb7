"""Pairs that are dropped from train, with their numbers, and pairs that are held out of it."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest

from tests.corpora.written import write
from translate.config.data import data_config
from translate.corpora import filters
from translate.corpora.columns import Column
from translate.corpora.corpus import Corpus, load_corpus
from translate.corpora.filters import count_words, hashes_of, repeated
from translate.errors import UserError


def load(tmp_path: Path, source: list[str], target: list[str], **values: Any) -> Corpus:
    files = {"source": write(tmp_path / "train.en", source), "target": write(tmp_path / "train.fr", target)}
    return load_corpus(data_config({"name": "files", "kind": "files", "train": files, **values}))


def test_filters_count_every_reason(tmp_path: Path) -> None:
    pairs = [
        ("a b c", "x y z", None),
        ("", "x", "empty"),
        ("a", " \u2028 ", "empty"),
        ("a " * 7, "x " * 6, "too_long"),
        ("a " * 5, "x", "length_ratio"),
        ("a " * 5, "x y", None),
        ("a b c", "x y z", "duplicate"),
        ("same here", "same here", "identical"),
        ("a b c", "x y", None),
        ("d", "v", "beyond_limit"),
    ]
    settings = {"max_length": 6, "max_length_ratio": 4.0, "drop_duplicates": True, "drop_identical": True}
    corpus = load(tmp_path, [p[0] for p in pairs], [p[1] for p in pairs], **settings, max_train_pairs=3)
    kept = [(source, target) for source, target, reason in pairs if reason is None]
    assert list(zip(corpus.train.source, corpus.train.target)) == kept
    reasons = [reason for _, _, reason in pairs if reason is not None]
    assert corpus.dropped == {"train": {reason: reasons.count(reason) for reason in set(reasons)}}
    summary = corpus.summary_lines()
    assert summary[0] == "files en-fr, pairs: train 3, validation none, test none"
    assert summary[1].startswith("dropped from train: 2 with an empty side, 1 with more words than")


@pytest.mark.parametrize(
    ("sentence", "words"),
    [
        ("a b", 2),
        ("été là", 2),
        ("你好世界", 2),
        ("私は x です", 4),
        ("パーティションしきい値", 4),
        ("สวัสดี", 2),
        ("ខ្ញុំស្រឡាញ់អ្នក។", 5),
    ],
)
def test_count_words(sentence: str, words: int) -> None:
    assert count_words(sentence) == words


def test_control_characters_never_shift_gold_links(tmp_path: Path) -> None:
    gold = write(tmp_path / "gold", ["0-0", "1-0", "1-0"])
    files = {
        "source": write(tmp_path / "train.en", ["a b", "a\x00b c", "a\tb"]),
        "target": write(tmp_path / "train.fr", ["x", "y", "z"]),
        "gold": gold,
    }
    corpus = load_corpus(data_config({"name": "files", "kind": "files", "train": files}))
    assert corpus.train.source == ["a b", "a b"]
    assert corpus.train.gold == ["0-0", "1-0"]
    assert corpus.dropped == {"train": {"control_characters": 1}}


def test_held_out_pairs_are_spread_disjoint_and_repeatable(tmp_path: Path) -> None:
    source = [f"s {i}" for i in range(1009)]
    target = [f"t {i}" for i in range(1009)]
    one = load(tmp_path, source, target, validation_pairs=53, test_pairs=31)
    assert one.validation is not None
    assert one.test is not None
    parts = [one.train, one.validation, one.test]
    assert [len(part) for part in parts] == [925, 53, 31]
    everything = [p for part in parts for p in zip(part.source, part.target)]
    assert sorted(everything) == sorted(zip(source, target))
    positions = [int(s.split()[1]) for s in one.validation.source]
    assert positions == sorted(positions)
    assert positions[0] < 200 < 800 < positions[-1]
    same = load(tmp_path, source, target, validation_pairs=53, test_pairs=31)
    other = load(tmp_path, source, target, validation_pairs=53, test_pairs=31, seed=2)
    assert same == one
    assert other.validation != one.validation


@pytest.mark.parametrize(("sources", "dropped"), [(400, True), (20, False)])
def test_other_translations_of_held_out_sources_are_not_trained_on(
    tmp_path: Path, sources: int, dropped: bool
) -> None:
    """Unless they are more than a tenth of the training pairs, which the user is told then."""
    source, target = [f"s {i % sources}" for i in range(600)], [f"t {i}" for i in range(600)]
    corpus = load(tmp_path, source, target, validation_pairs=40)
    assert corpus.validation is not None
    held = set(corpus.validation.source)
    both = sum(source.count(sentence) for sentence in held) - 40  # training pairs of these sources
    assert both > 0
    assert corpus.dropped == {"train": {"held_out": both} if dropped else {}}
    assert len(corpus.train) == 560 - both * dropped
    assert held.isdisjoint(corpus.train.source) == dropped
    assert any("held out, too" in note for note in corpus.notes) != dropped


@pytest.mark.parametrize(("num_pairs", "held"), [(1, 0), (2, 1), (9, 1), (37, 3)])
def test_small_corpora_keep_their_training_data(tmp_path: Path, num_pairs: int, held: int) -> None:
    lines = [str(i) for i in range(num_pairs)]
    corpus = load(tmp_path, lines, lines, validation_pairs=1000)
    assert any("source and target are the same" in note for note in corpus.notes)
    told = any("a tenth, since data.validation_pairs=1000 are too many" in note for note in corpus.notes)
    assert told == (held > 0)
    assert (len(corpus.validation) if corpus.validation else 0) == held
    assert len(corpus.train) == num_pairs - held


def test_given_validation_is_used_and_overlap_is_told(tmp_path: Path) -> None:
    given = {"source": write(tmp_path / "v.en", ["b", "q"]), "target": write(tmp_path / "v.fr", ["y", "q"])}
    corpus = load(tmp_path, ["a", "b", "c"], ["x", "y", "z"], validation=given, validation_pairs=1)
    assert (len(corpus.train), corpus.validation.source) == (3, ["b", "q"])
    assert corpus.notes == (
        "validation pairs that are also in train: 1; data.drop_overlap=true takes them out of train",
    )


def test_held_out_pairs_that_are_all_in_train_flatter(tmp_path: Path) -> None:
    given = {"source": write(tmp_path / "v.en", ["a", "b"]), "target": write(tmp_path / "v.fr", ["x", "y"])}
    corpus = load(tmp_path, ["a", "b"], ["x", "y"], validation=given)
    assert corpus.notes[1].startswith("warning: no validation pair is new, so the scores")
    with pytest.raises(UserError, match=r"data\.drop_overlap: no training pair is left"):
        load(tmp_path, ["a", "b"], ["x", "y"], validation=given, drop_overlap=True)


def test_languages_that_were_taken_for_each_other_are_told(tmp_path: Path) -> None:
    english = [f"The {number} dogs are asleep." for number in range(100)]
    french = [f"Les {number} chiens dorment." for number in range(100)]
    assert load(tmp_path, english, french).notes == ()
    looks = (("source", "French", "English"), ("target", "English", "French"))
    assert load(tmp_path, french, english).notes == tuple(
        f"warning: most {side}s of train look like {seen}, but that language is {given}: are the sides "
        f"exchanged, or is data.{side}_language wrong?"
        for side, seen, given in looks
    )


@pytest.mark.parametrize("at_once", [1 << 20, 13])
def test_repetitions_are_those_that_a_set_finds(monkeypatch: pytest.MonkeyPatch, at_once: int) -> None:
    monkeypatch.setattr(filters, "AT_ONCE", at_once)
    generator = np.random.default_rng(3)
    pairs = [(f"a{n}", f"b{n % 5}") for n in generator.integers(0, 60, 200)]
    pairs += [("ab", "c"), ("a", "bc")]  # not the same
    hashes = [pyarrow.array(hashes_of(pairs[begin : begin + 17])) for begin in range(0, len(pairs), 17)]
    found = repeated(Column(pyarrow.chunked_array(hashes)))
    assert found.tolist() == [pair in pairs[:number] for number, pair in enumerate(pairs)]
