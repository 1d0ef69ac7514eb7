"""The documents of a corpus: the id of each pair's document, as a number that is the same in every split."""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from translate.config.data import DataConfig
from translate.config.names import shorten, shown_path
from translate.corpora.columns.column import Column
from translate.corpora.split import Split, SplitReader
from translate.corpora.tables import Table
from translate.errors import UserError
from translate.text.lines import read_line_blocks
from translate.text.reading import user_path

NO_DOCUMENT = 0  # the number of a pair that is in no document


def document_numbers(ids: Sequence[str]) -> list[int]:
    """The number of each document by its id, a hash of 63 bits; ``NO_DOCUMENT`` for a blank one."""
    found, known = [], {"": NO_DOCUMENT}
    for each in ids:
        name = each.strip()
        if name not in known:
            digest = blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()
            known[name] = (int.from_bytes(digest, "little") >> 1) or 1
        found.append(known[name])
    return found


def with_documents(readers: Mapping[str, SplitReader], data: DataConfig) -> dict[str, SplitReader]:
    """Add the files of ids in the settings to their splits.

    Raises:
        UserError: for a file of a split that does not exist, or if context is wanted and the documents of a
            split are not known; while reading, if there are more or fewer ids than pairs.
    """
    found = dict(readers)
    for name in ("train", "validation", "test"):
        file: str | None = getattr(data, name).documents
        if file is None:
            continue
        if name not in readers:
            raise UserError(
                f"data.{name}.documents={shorten(file, 150)}: the corpus {shorten(data.name, 100)!r} has no "
                f"{name} split"
            )
        found[name] = beside(readers[name], user_path(file))
    for name, reader in found.items():
        if data.context_sentences and not reader.has_documents:
            raise UserError(
                f"data.context_sentences={data.context_sentences}: the documents of the {name} split are not "
                f"known; give data.{name}.documents=FILE with an id for each pair, or data.document_field, "
                "the column of tables, or the ending of files of a folder"
            )
    return found


def context_notes(data: DataConfig) -> list[str]:
    """What is read before a sentence, for the user."""
    if not data.context_sentences:
        return []
    return [
        f"sources stand after up to {data.context_sentences} previous sentences of their documents, "
        f"{data.context_pieces:,} pieces at most"
    ]


def beside(reader: SplitReader, path: Path) -> SplitReader:
    """A reader that also gives the ids of documents, from a file with a line for each pair."""

    def blocks() -> Iterator[Sequence[Sequence[Any]]]:
        lines, pairs = read_line_blocks(path), reader.blocks()
        waiting: list[str] = []
        count = 0
        for source, target, *_ in pairs:
            while len(waiting) < len(source) and (block := next(lines, None)) is not None:
                waiting += block
            ids, waiting = waiting[: len(source)], waiting[len(source) :]
            count += len(source)
            if len(ids) < len(source):
                known = count - len(source) + len(ids)
                raise _other_length(path, known, count + sum(len(block[0]) for block in pairs))
            yield source, target, document_numbers(ids)
        further = len(waiting) + sum(map(len, lines))
        if further:
            raise _other_length(path, count + further, count)

    return replace(reader, blocks=blocks, files=(*reader.files, path), has_documents=True)


def numbered(table: Table, names: Sequence[str]) -> Iterator[Sequence[Sequence[Any]]]:
    """The named columns of a table, in blocks: source, target, and ids of documents, which become numbers."""
    for source, target, *ids in table.read(names):
        yield (source, target, *map(document_numbers, ids))


def _other_length(path: Path, ids: int, pairs: int) -> UserError:
    return UserError(
        f"{shown_path(path)}: {ids:,} ids of documents for {pairs:,} sentence pairs; "
        "expected one line for each pair"
    )


def numbers_of(documents: Sequence[int]) -> np.ndarray:
    """The column of a split as an array, int64."""
    arrays = [array.to_numpy() for array in Column.of(documents, text=False).arrays]
    return np.concatenate(arrays) if arrays else np.empty(0, np.int64)


def draw_documents(documents: np.ndarray, sizes: Mapping[str, int], seed: int) -> dict[str, np.ndarray]:
    """Rows of whole documents drawn at random, at most so many for each split, sorted.

    Args:
        documents: the number of each row's; a row that is ``NO_DOCUMENT`` is a document of its own.
        sizes: name of a split -> most rows.
        seed: the same one draws the same documents.

    Raises:
        UserError: if every document is larger than what is wanted.
    """
    keys = documents.copy()
    alone = np.flatnonzero(documents == NO_DOCUMENT)
    keys[alone] = -1 - alone
    _, group, counts = np.unique(keys, return_inverse=True, return_counts=True)
    order = list(range(len(counts)))
    random.Random(seed).shuffle(order)
    owner = np.full(len(counts), -1)
    for number, (name, size) in enumerate(sizes.items()):
        left = size
        for index in order:
            if owner[index] == -1 and counts[index] <= left:
                owner[index] = number
                left -= int(counts[index])
            if not left:
                break
        if left == size:
            raise UserError(
                f"data.{name}_pairs: every document has more than {size:,} pairs (at most a tenth of train "
                f"is held out), and documents are not divided; give {name} files, or data.{name}_pairs=0"
            )
    return {name: np.flatnonzero(owner[group] == number) for number, name in enumerate(sizes)}


def shared_documents(train: Split, others: Mapping[str, Split]) -> list[str]:
    """How many documents of other splits are also in train, for the user."""
    if train.documents is None:
        return []
    found, known = [], numbers_of(train.documents)
    for name, split in others.items():
        if split.documents is None:
            continue
        numbers = np.unique(numbers_of(split.documents))
        both = int(np.isin(numbers[numbers != NO_DOCUMENT], known).sum())
        if both:
            found.append(f"{name} documents that are also in train: {both:,}")
    return found
