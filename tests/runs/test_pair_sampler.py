"""Augmented and sampled pairs of a run: the same for the same key, and with their links right."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.tiny_runs import overrides_of
from translate.config.composer import compose
from translate.config.settings import Settings, check_config
from translate.corpora.batching import POSITION_BITS
from translate.corpora.corpus import Corpus, load_corpus
from translate.corpora.encoded import EncodedCorpus
from translate.errors import UserError
from translate.runs.encoding import encode_training, pair_sampler
from translate.runs.start import make_tokenizers
from translate.text.tokenizer import TokenizerPair

MIXED = [
    "training.augment.uppercase=0.1", "training.augment.typos=0.02", "training.augment.merge=0.2",
    "training.augment.placeholders=0.2", "training.augment.tags=0.2", "training.augment.terms=0.2",
]  # fmt: skip


class Prepared:
    def __init__(self, folder: Path, *overrides: str) -> None:
        given = overrides_of(folder / "run", "transformer", "runtime.cache=null", *overrides)
        self.settings: Settings = check_config(compose(given, check=check_config))
        self.corpus: Corpus = load_corpus(self.settings.data)
        self.tokenizers: TokenizerPair = make_tokenizers(self.settings, self.corpus)
        self.encoded: EncodedCorpus = encode_training(self.settings, self.corpus, self.tokenizers)
        self.sampler: Any = pair_sampler(self.settings, self.corpus.train, self.tokenizers, self.encoded)

    @property
    def rows(self) -> np.ndarray:
        return np.arange(len(self.corpus.train))


def lists(corpus: EncodedCorpus) -> list[tuple[list[int], ...]]:
    sides = [side for side in (corpus.source, corpus.target, corpus.links) if side is not None]
    return [tuple(side.row(row).tolist() for side in sides) for row in range(len(corpus))]


def test_the_same_key_gives_the_same_pairs(tmp_path: Path) -> None:
    prepared = Prepared(tmp_path, *MIXED)
    first, again = (lists(prepared.sampler([1, 0], prepared.rows)) for _ in range(2))
    assert first == again
    other = lists(prepared.sampler([1, 1], prepared.rows))
    unchanged = lists(prepared.encoded)
    plain = [(source, target) for source, target, _ in unchanged]
    assert first != other
    assert 0.2 < np.mean([one == two for one, two in zip(first, plain, strict=True)]) < 0.8


@pytest.mark.parametrize("sampling", [[], ["training.subword_sampling=0.2"]], ids=["likeliest", "sampled"])
def test_guided_links_join_the_pieces_of_linked_words(sampling: list[str], tmp_path: Path) -> None:
    """Tags and placeholders are the same on both sides, so their links can be told from the text alone."""
    options = ["training.guided_alignment=0.1", "training.augment.tags=1", "training.augment.merge=0.5"]
    prepared = Prepared(tmp_path, *options, *sampling)
    found = prepared.sampler([1, 3], prepared.rows)
    source, target = prepared.tokenizers.source, prepared.tokenizers.target
    judged = 0
    for ids, others, links in lists(found):
        pieces = source.pieces(ids), target.pieces(others)
        linked: dict[int, set[int]] = {}
        for link in links:
            linked.setdefault(link >> POSITION_BITS, set()).add(link & (1 << POSITION_BITS) - 1)
        places = [tagged(side) for side in pieces]
        for mark in places[1].keys() & places[0].keys():
            for place in places[1][mark]:
                assert linked[place] == places[0][mark], (mark, pieces)
                judged += 1
    assert judged > 100


def tagged(pieces: list[str]) -> dict[str, set[int]]:
    """The places of the pieces of each tag."""
    found: dict[str, set[int]] = {}
    spelt = "".join(pieces)
    owner = [number for number, piece in enumerate(pieces) for _ in piece]
    for name in "biga":
        for mark in (f"<{name}>", f"</{name}>"):
            begin = spelt.find(f"▁{mark}")  # the space belongs to the word after it
            if begin >= 0 and spelt.count(mark) == 1:
                found[mark] = {owner[place] for place in range(begin, begin + len(mark) + 1)}
    return found


def test_unchanged_pairs_keep_their_guided_links(tmp_path: Path) -> None:
    prepared = Prepared(tmp_path, "training.guided_alignment=0.1", "training.augment.merge=0.3")
    found, before = lists(prepared.sampler([1, 0], prepared.rows)), lists(prepared.encoded)
    same = [one == two for one, two in zip(found, before, strict=True)]
    assert 0.5 < np.mean(same) < 0.9
    for one, two, is_same in zip(found, before, same, strict=True):
        if not is_same:  # the links of the first pair stay, the others are beyond its words
            inside = {link for link in one[2] if link >> POSITION_BITS < len(two[1])}
            assert inside >= set(two[2])


def test_unguided_runs_use_links_without_keeping_them(tmp_path: Path) -> None:
    prepared = Prepared(tmp_path, "training.augment.terms=0.5")
    assert prepared.encoded.links is not None
    found = prepared.sampler([1, 0], prepared.rows)
    assert found.links is None
    texts = [prepared.tokenizers.source.decode(source) for source, _ in lists(found)]
    assert 0.3 < np.mean(["<term>" in text and "</term>" in text for text in texts]) < 0.7


def test_a_tokenizer_without_the_marks_is_refused(tmp_path: Path) -> None:
    plain = Prepared(tmp_path)
    given = overrides_of(tmp_path / "run", "transformer", "training.augment.tags=0.1")
    settings = check_config(compose(given, check=check_config))
    with pytest.raises(UserError, match=r"training\.augment\.tags: the tokenizer does not know <b>"):
        pair_sampler(settings, plain.corpus.train, plain.tokenizers, plain.encoded)
