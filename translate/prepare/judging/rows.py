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
        reasons = [self._reason(*pair) for pair in zip(sources, targets, words)]
        found = self._languages(sources, targets, reasons)
        for index, sides in enumerate(found):
            pairs = zip(sides, self._codes)
            if any(is_other_language(each, code, self.recipe.filters) for each, code in pairs):
                reasons[index] = "language"
        reasons = [None if split else reason for reason, split in zip(reasons, splits)]
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

    @property
    def _codes(self) -> tuple[str, str]:
        return self.recipe.source_language, self.recipe.target_language

    def _reason(self, source: str, target: str, words: tuple[int, int]) -> str | None:
        return reason_of(source, target, words, self.recipe.filters, self._codes)

    def _languages(
        self, sources: list[str], targets: list[str], reasons: list[str | None]
    ) -> list[tuple[Identified | None, Identified | None]]:
        """The languages of pairs without another reason; ``None`` for a side too short to tell."""
        filters = self.recipe.filters
        found: list[list[Identified | None]] = []
        for sides, code in zip((sources, targets), self._codes):
            known = filters.language is not None and is_known(code)
            wanted = [
                known and reason is None and to_identify(side, filters)
                for side, reason in zip(sides, reasons)
            ]
            chosen = [side for side, is_wanted in zip(sides, wanted) if is_wanted]
            languages = iter(identify(chosen, self._codes))
            found.append([next(languages) if is_wanted else None for is_wanted in wanted])
        return list(zip(*found, strict=True))
