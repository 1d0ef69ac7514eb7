"""What must be exchanged between rows, as SQL that DuckDB and Spark both understand.

Every statement is over keys of fixed size, computed in the row function, so that both engines see the same
ones. It groups by a key with ``min(row)`` before it joins: groups of long values run out of memory.
"""

from translate.prepare.judging.signatures import BANDS

TRAIN = "SELECT * FROM rows WHERE split = 0 AND reason IS NULL"
KEPT = "row, corpus, order_key"


def view_without(view: str, dropped: str) -> str:
    """The rows of a view that a table does not drop."""
    return f"SELECT v.* FROM {view} v ANTI JOIN {dropped} d ON v.row = d.row"


def repeated(view: str, *keys: str) -> str:
    """The rows with the same keys as an earlier row."""
    group = ", ".join(keys)
    same = " AND ".join(f"v.{key} = f.{key}" for key in keys)
    return (
        f"SELECT v.row, v.corpus, v.order_key, f.first FROM {view} v "
        f"JOIN (SELECT {group}, min(row) AS first FROM {view} GROUP BY {group} HAVING count(*) > 1) f "
        f"ON {same} WHERE v.row <> f.first"
    )


def signed(view: str) -> str:
    """The keys of the rows that have a signature."""
    bands = ", ".join(f"band_{band}" for band in range(BANDS))
    return f"SELECT {KEPT}, signature, {bands} FROM {view} WHERE signature IS NOT NULL"


def candidates(table: str) -> str:
    """Rows with an earlier one that has the same band, and the signatures of both."""
    bands = " UNION ".join(
        f"SELECT v.row AS row, f.first AS first FROM {table} v JOIN (SELECT band_{band} AS band, "
        f"min(row) AS first FROM {table} GROUP BY band_{band} HAVING count(*) > 1) f "
        f"ON v.band_{band} = f.band WHERE v.row <> f.first"
        for band in range(BANDS)
    )
    return (
        "SELECT c.row AS row, a.corpus, a.order_key, c.first, a.signature AS mine, b.signature AS other "
        f"FROM ({bands}) c JOIN {table} a ON c.row = a.row JOIN {table} b ON c.first = b.row"
    )


def similar(table: str) -> str:
    """Each row of a table of similar rows once, with the first that it is similar to."""
    return f"SELECT row, corpus, order_key, min(first) AS first FROM {table} GROUP BY {KEPT}"


def many_partners(view: str, limit: int) -> str:
    """The rows of sentences that stand with more than ``limit`` different translations."""
    parts = []
    for side in ("source_key", "target_key"):
        parts.append(
            f"SELECT v.row, v.corpus, v.order_key FROM {view} v JOIN (SELECT {side} FROM "
            f"(SELECT DISTINCT source_key, target_key FROM {view}) p GROUP BY {side} "
            f"HAVING count(*) > {limit}) m ON v.{side} = m.{side}"
        )
    return " UNION ".join(parts)


HELD_KEYS = (
    "SELECT source_key, target_key FROM rows WHERE split > 0 UNION "
    "SELECT source_key, target_key FROM kept WHERE order_key <= {cut}"
)


def overlapping(kind: str) -> str:
    """The rows of train that share both sides (``pair``) or one (``side``) with a held pair, but for form."""
    chosen = "SELECT v.row, v.corpus, v.order_key FROM train v SEMI JOIN held_keys h ON "
    if kind == "pair":
        return chosen + "v.source_key = h.source_key AND v.target_key = h.target_key"
    return f"{chosen}v.source_key = h.source_key UNION {chosen}v.target_key = h.target_key"


def sample(view: str, pairs: int, most_words: int) -> str:
    """The first pairs of the random order, without long ones."""
    return (
        f"SELECT source, target FROM {view} WHERE greatest(source_words, target_words) <= {most_words} "
        f"ORDER BY order_key, row LIMIT {pairs}"
    )


def examples(view: str, each: int) -> str:
    """The first rows of the random order for every reason in a view of fates."""
    return (
        f"SELECT reason, row FROM (SELECT reason, row, row_number() OVER "
        f"(PARTITION BY reason ORDER BY order_key, row) AS place FROM {view}) p WHERE place <= {each}"
    )
