"""Which rows repeat an earlier one, found in little memory whatever the number of rows."""

import hashlib
from collections.abc import Iterable

import numpy as np
import pyarrow

from translate.corpora.columns.column import Column
from translate.corpora.columns.spill import Spill, StoredTable
from translate.text.aside import told

AT_ONCE = 1 << 21  # rows that are compared at a time
DIGESTS = pyarrow.schema([("first", pyarrow.uint64()), ("second", pyarrow.uint64())])


def digests_of(pairs: Iterable[tuple[str, str]]) -> pyarrow.RecordBatch:
    """128 bits of each pair; among 10^9 pairs, two different ones share them with a probability of 10^-20."""
    found = b"".join(
        hashlib.blake2b(f"{len(source)} {source}{target}".encode(), digest_size=16).digest()
        for source, target in pairs
    )
    halves = np.frombuffer(found, np.uint64).reshape(-1, 2)
    return pyarrow.RecordBatch.from_arrays(
        [pyarrow.array(halves[:, side]) for side in (0, 1)], schema=DIGESTS
    )


def repeated_texts(texts: Column[str]) -> np.ndarray:
    """For each text, whether an earlier one is equal but for white space around it; bool.

    Raises:
        UserError: if the folder of temporary files is full.
    """
    with told("the system's folder of temporary files (TMPDIR)"), Spill(DIGESTS) as digests:
        for block in texts.blocks():
            digests.add_batch(digests_of((text.strip(), "") for text in block))
        return repeated(digests.finish())


def repeated(digests: StoredTable) -> np.ndarray:
    """For each row of a table of ``DIGESTS``, whether an earlier row is equal; bool, in the order of rows."""
    count = len(digests.table)
    parts = max(1, -(-count // AT_ONCE))
    found = np.zeros(count, bool)
    for part in range(parts):
        rows, begin = [], 0
        halves: tuple[list[np.ndarray], list[np.ndarray]] = ([], [])
        for batch in digests.table.to_batches():
            first, second = (column.to_numpy() for column in batch.columns)
            chosen = np.flatnonzero(first % np.uint64(parts) == part)
            rows.append(chosen + begin)
            halves[0].append(first[chosen])
            halves[1].append(second[chosen])
            begin += len(batch)
        for mapped in digests.mapped:
            mapped.release()
        if not rows:
            break
        first, second, places = (np.concatenate(each) for each in (*halves, rows))
        order = np.lexsort((second, first))  # stable: of equal rows the earlier comes first
        first, second, places = first[order], second[order], places[order]
        found[places[1:][(first[1:] == first[:-1]) & (second[1:] == second[:-1])]] = True
    return found
