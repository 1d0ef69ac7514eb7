"""Ids of documents beside the pairs: read from files and columns, kept by filters, never divided."""

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.corpora.written import message, write
from translate.config.data import data_config
from translate.corpora.batching import POSITION_BITS, collate
from translate.corpora.corpus import Corpus, load_corpus
from translate.corpora.document_rows import draw_documents, split_context, with_context
from translate.corpora.encoded import EncodedCorpus, Ragged
from translate.corpora.split import Split, document_numbers
from translate.errors import UserError
from translate.text.documents import ContextSize
from translate.text.tokenizer import BOS, EOS

SOURCE = [f"a dog number {i}" for i in range(12)]
TARGET = [f"un chien numéro {i}" for i in range(12)]
IDS = ["x"] * 5 + [""] + ["y"] * 4 + ["x"] * 2


def values(tmp_path: Path, ids: list[str] = IDS, **changes: Any) -> dict[str, Any]:
    train = {
        "source": write(tmp_path / "train.en", SOURCE),
        "target": write(tmp_path / "train.fr", TARGET),
        "documents": write(tmp_path / "ids.txt", ids),
    }
    return {"name": "mine", "kind": "files", "train": train, **changes}


def load(given: dict[str, Any]) -> Corpus:
    return load_corpus(data_config(given))


def numbers(split: Split | None) -> list[int]:
    assert split is not None
    assert split.documents is not None
    return list(split.documents)


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_ids_of_a_file_stay_with_their_pairs_through_the_filters(tmp_path: Path, ending: str) -> None:
    given = values(tmp_path, max_length=4)
    lines = [*SOURCE]
    lines[2] = "a dog number two that barks"  # too long
    given["train"]["source"] = write(tmp_path / "train.en", lines)
    given["train"]["documents"] = write(tmp_path / f"ids{ending}", IDS)
    corpus = load(given)
    assert corpus.dropped["train"] == {"too_long": 1}
    assert numbers(corpus.train) == document_numbers(IDS[:2] + IDS[3:])
    assert load(values(tmp_path)).train.documents == document_numbers(IDS)


def test_ids_of_a_table_and_of_a_folder(tmp_path: Path) -> None:
    table = tmp_path / "pairs.jsonl"
    rows = zip(SOURCE, TARGET, IDS, strict=True)
    table.write_text("".join(json.dumps({"en": s, "fr": t, "doc": {"id": d}}) + "\n" for s, t, d in rows))
    languages = {"source_language": "en", "target_language": "fr"}
    named = {"name": "t", "kind": "files", "train": {"source": str(table)}, "document_field": "doc.id"}
    corpus = load({**named, **languages})
    assert numbers(corpus.train) == document_numbers(IDS)
    for stem, ids in (("train", IDS), ("val", ["y"] * 12)):
        for suffix, lines in (("en", SOURCE), ("fr", TARGET), ("doc", ids)):
            write(tmp_path / "folder" / f"{stem}.{suffix}", lines)
    folder = {"name": "f", "kind": "files", "path": str(tmp_path / "folder"), **languages}
    corpus = load({**folder, "document_field": "doc"})
    assert numbers(corpus.train) == document_numbers(IDS)
    assert numbers(corpus.validation) == document_numbers(["y"] * 12)
    assert "validation documents that are also in train: 1" in corpus.notes
    assert load(folder).train.documents is None
    assert message({**folder, "document_field": "ids"}) == (
        f"{tmp_path / 'folder'}: no file train.ids with the ids of documents (data.document_field=ids)"
    )


def test_held_out_pairs_are_whole_documents(tmp_path: Path) -> None:
    given = values(tmp_path)
    for name in ("source", "target"):
        lines = [f"{name} {i}" for i in range(300)]
        given["train"][name] = write(tmp_path / f"many.{name[:2]}", lines)
    given["train"]["documents"] = write(tmp_path / "many.ids", [f"d{i // 7}" for i in range(300)])
    given |= {"validation_pairs": 20, "test_pairs": 15}
    corpus = load(given)
    train, validation, test = (set(numbers(s)) for s in (corpus.train, corpus.validation, corpus.test))
    assert not train & validation
    assert not train & test
    assert not validation & test
    assert corpus.validation is not None
    assert 14 <= len(corpus.validation) <= 20
    assert corpus.test is not None
    assert len(corpus.test) == 14
    assert len(corpus.train) + len(corpus.validation) + len(corpus.test) == 300
    assert any("held out of train" in note and "whole documents" in note for note in corpus.notes)
    again = load(given)
    assert again.validation == corpus.validation
    assert load({**given, "seed": 2}).validation != corpus.validation


def test_documents_are_not_divided() -> None:
    with pytest.raises(UserError, match="every document has more than 1 pair "):
        draw_documents(np.array([3, 3, 4, 4]), {"validation": 1}, 1)


def test_bad_documents_are_told_in_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "ids.txt"
    for ids, count in ((IDS[:-1], 11), ([*IDS, "z", "z"], 14), ([], 0)):
        assert message(values(tmp_path, ids)) == (
            f"{path}: {count} ids of documents for 12 sentence pairs; expected one line a pair"
        )
    given = values(tmp_path)
    given["train"]["documents"] = str(tmp_path / "none.txt")
    assert "data.train.documents" in message(given)
    given = values(tmp_path)
    del given["train"]["documents"]
    assert "the documents of the train split are not known" in message({**given, "context_sentences": 1})
    assert "two files have no columns" in message({**given, "document_field": "doc"})
    files = {"source": given["train"]["source"], "target": given["train"]["target"]}
    assert "the documents of the validation split are not known" in message(
        {**values(tmp_path), "validation": files, "context_sentences": 1}
    )
    both = {**values(tmp_path), "document_field": "doc"}
    assert "give one of both" in message(both)
    assert "has no test split" in message({**values(tmp_path), "test": {"documents": str(path)}})
    table = tmp_path / "pairs.tsv"
    table.write_text("en\tfr\tdocs\na\tb\tc\n")
    named = {"source_language": "en", "target_language": "fr", "train": {"source": str(table)}}
    told = message({"name": "t", "kind": "files", "document_field": "doc", **named})
    assert "no field 'doc'; did you mean docs?" in told
    assert "20" in message({**values(tmp_path), "context_sentences": 1000})


DOCUMENTS = [4, 4, 4, 4, 0, 0, 9, 9, 4, 4, 9, 4]


def expected(ids: list[list[int]], documents: list[int], row: int, size: ContextSize) -> list[int]:
    """The source of a row, by going back sentence by sentence."""
    found, total = list(ids[row]), 0
    for back in range(1, size.sentences + 1):
        before = row - back
        if before < 0 or documents[row] == 0 or documents[before] != documents[row]:
            break
        total += len(ids[before]) + 1
        if total > size.pieces:
            break
        found = [*ids[before], BOS, *found]
    return found


@pytest.mark.parametrize("size", [ContextSize(1, 100), ContextSize(3, 100), ContextSize(20, 9)])
def test_rows_and_lengths_are_those_of_plain_loops(size: ContextSize) -> None:
    draw = random.Random(7)
    ids = [[draw.randrange(4, 40) for _ in range(draw.randrange(1, 6))] for _ in DOCUMENTS]
    sides = Ragged.of(ids), Ragged.of([[5]] * len(ids))
    split = Split(["x"] * len(ids), ["y"] * len(ids), documents=DOCUMENTS)
    rows = with_context(EncodedCorpus(*sides), split, size).source
    wanted = [expected(ids, DOCUMENTS, row, size) for row in range(len(ids))]
    assert [rows.row(row).tolist() for row in range(len(ids))] == wanted
    assert rows.lengths_of(np.arange(len(ids))).tolist() == [len(source) for source in wanted]
    chosen = np.array([11, 2, 2, 7, 0])
    assert rows.lengths_of(chosen).tolist() == [len(wanted[row]) for row in chosen]
    assert rows.num_rows == len(ids)


def test_links_count_from_the_sentence_itself() -> None:
    ids = [[10, 11, 12], [13, 14]]
    links = Ragged.of([[], [0 << POSITION_BITS | 0, 1 << POSITION_BITS | 1]])
    corpus = EncodedCorpus(Ragged.of(ids), Ragged.of([[5], [6, 7]]), links)
    split = Split(["x"] * 2, ["y"] * 2, documents=[1, 1])
    batch = collate(with_context(corpus, split, ContextSize(1, 100)), [1, 0])
    assert batch.source[0].tolist() == [10, 11, 12, BOS, 13, 14, EOS]
    assert batch.guide is not None
    wanted = torch.zeros(2, 3, 7)
    wanted[0, 0, 4] = wanted[0, 1, 5] = 1
    assert torch.equal(batch.guide, wanted)


def test_the_previous_sentences_of_a_split() -> None:
    split = Split(list("abcdefghijkl"), ["y"] * 12, documents=DOCUMENTS)
    found = split_context(split, 2)
    assert found[:5] == [[], ["a"], ["a", "b"], ["b", "c"], []]
    assert found[9] == ["i"]
    assert split_context(split, 2, 3) == found[:3]
    assert split_context(split, 0) is None
