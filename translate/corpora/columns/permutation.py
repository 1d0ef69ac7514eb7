"""Random orders of any number of rows that take no memory: each place is computed when it is wanted."""

import numpy as np

ROUNDS = 6
_STEPS = (np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53))


def permuted(places: np.ndarray, count: int, key: list[int]) -> np.ndarray:
    """The rows at some places of a random order of ``count`` rows.

    A Feistel network permutes the numbers below a power of four (Luby and Rackoff 1988); a result of
    ``count`` or more goes through it again until it is a row (cycle walking, Black and Rogaway 2002). The
    round function is the finaliser of MurmurHash3.

    Args:
        places: int64, from 0 to ``count - 1``.
        count: of all rows.
        key: numbers that name the order; other numbers give another order.
    Returns:
        int64, of the same shape; all places together give each row once.
    """
    half = np.uint64(max(1, (max(count - 1, 1).bit_length() + 1) // 2))
    low = (np.uint64(1) << half) - np.uint64(1)
    keys = np.random.SeedSequence([len(key), *key]).generate_state(ROUNDS, np.uint64)
    rows = places.astype(np.uint64)
    outside = np.arange(len(rows))
    while len(outside):
        left, right = rows[outside] >> half, rows[outside] & low
        for each in keys:
            left, right = right, left ^ (_mixed(right ^ each) & low)
        rows[outside] = left << half | right
        outside = outside[rows[outside] >= np.uint64(count)]
    return rows.astype(np.int64)


def _mixed(values: np.ndarray) -> np.ndarray:
    shift = np.uint64(33)
    for step in _STEPS:
        values = (values ^ (values >> shift)) * step
    return values ^ (values >> shift)
