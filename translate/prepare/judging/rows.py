"""The row function: one record batch of raw pairs in, normalised pairs with reasons and keys out.

It is pure, and every engine runs it: a process pool on one machine, ``mapInArrow`` on a cluster.
"""

from dataclasses import dataclass

import pyarrow

from translate.prepare.chunks import SCHEMA as RAW
from translate.prepare.judging.language import Identified, identify, is_known
from translate.prepare.judging.row_filters import counted, is_other_language, reason_of, to_identify
from translate.prepare.judging.row_keys import form, normalised, order_keys, pair_key, text_key
from translate.prepare.judging.signatures import BANDS, signatures
from translate.prepare.recipe import Recipe

SCHEMA = pyarrow.schema(
    [
        *RAW,
        ("reason", pyarrow.string()),  # null for a pair that is kept
        ("source_words", pyarrow.int32()),
        ("target_words", pyarrow.int32()),
        ("source_language", pyarrow.string()),  # identified; null for a short side
        ("target_language", pyarrow.string()),
        ("pair_key", pyarrow.int64()),
        ("source_key", pyarrow.int64()),  # of the side's form
        ("target_key", pyarrow.int64()),
        ("order_key", pyarrow.int64()),
        *((f"band_{number}", pyarrow.int64()) for number in range(BANDS)),
        ("signature", pyarrow.binary()),  # null for a short pair
    ]
)


@dataclass(frozen=True)
class RowFunction:
    """Normalises and judges the pairs of a batch."""

    recipe: Recipe

    def __call__(self, batch: pyarrow.RecordBatch) -> pyarrow.RecordBatch:
        """The batch with the columns of ``SCHEMA``; validation and test pairs are normalised, and kept."""
        sources = [normalised(text or "") for text in batch["source"].to_pylist()]
        targets = [normalised(text or "") for text in batch["target"].to_pylist()]
        words = [(counted(source), counted(target)) for source, target in zip(sources, targets)]
        splits = batch["split"].to_pylist()
        reasons: list[str | None] = []
        found: list[tuple[Identified | None, Identified | None]] = []
        for source, target, counts, split in zip(sources, targets, words, splits):
            reason, languages = self._judge(source, target, counts)
            reasons.append(None if split else reason)
            found.append(languages)
        forms = [(form(source), form(target)) for source, target in zip(sources, targets)]
        bands, made = signatures(forms)
        rows = batch["row"].to_numpy()
        columns = {
            "source": sources,
            "target": targets,
            "reason": reasons,
            "source_words": [there for there, _ in words],
            "target_words": [here for _, here in words],
            "source_language": [None if there is None else there.language for there, _ in found],
            "target_language": [None if here is None else here.language for _, here in found],
            "pair_key": list(map(pair_key, sources, targets)),
            "source_key": [text_key(there) for there, _ in forms],
            "target_key": [text_key(here) for _, here in forms],
            "order_key": order_keys(rows, self.recipe.seed),
            **{f"band_{number}": bands[:, number] for number in range(BANDS)},
            "signature": made,
        }
        arrays = [
            pyarrow.array(columns[field.name], field.type) if field.name in columns else batch[field.name]
            for field in SCHEMA
        ]
        return pyarrow.record_batch(arrays, schema=SCHEMA)

    def _judge(
        self, source: str, target: str, words: tuple[int, int]
    ) -> tuple[str | None, tuple[Identified | None, Identified | None]]:
        recipe, filters = self.recipe, self.recipe.filters
        languages = recipe.source_language, recipe.target_language
        reason = reason_of(source, target, words, filters, languages)
        if reason is not None:
            return reason, (None, None)
        found = tuple(
            identify(side, languages) if to_identify(side, filters) and is_known(code) else None
            for side, code in zip((source, target), languages)
        )
        if any(is_other_language(each, code, filters) for each, code in zip(found, languages)):
            reason = "language"
        return reason, (found[0], found[1])
