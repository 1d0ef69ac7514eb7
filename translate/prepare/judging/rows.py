"""The row function: one record batch of raw pairs in, normalised pairs with reasons and keys out.

It is pure, and every engine runs it: a process pool on one machine, ``mapInArrow`` on a cluster.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow
import pyarrow.compute

from translate.prepare.chunks import SCHEMA as RAW
from translate.prepare.judging.characters import parts_of
from translate.prepare.judging.language import base, identify, is_known
from translate.prepare.judging.row_filters import judged
from translate.prepare.judging.row_keys import all_forms, all_normalised, order_keys, pair_keys, text_keys
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


PART_CHARACTERS = 1 << 18  # that are judged together, about: tables of them stay small


@dataclass(frozen=True)
class RowFunction:
    """Normalises and judges the pairs of a batch."""

    recipe: Recipe

    def __call__(self, batch: pyarrow.RecordBatch) -> pyarrow.RecordBatch:
        """The batch with the columns of ``SCHEMA``; validation and test pairs are normalised, and kept."""
        lengths = [pyarrow.compute.binary_length(batch[side]).fill_null(0) for side in ("source", "target")]
        begins = np.cumsum(np.concatenate([[0], np.add(*map(np.asarray, lengths))]))
        parts = [
            self._judged(batch.slice(part.start, part.stop - part.start))
            for part in parts_of(begins, PART_CHARACTERS)
        ]
        return pyarrow.Table.from_batches(parts, SCHEMA).combine_chunks().to_batches()[0]

    def _judged(self, batch: pyarrow.RecordBatch) -> pyarrow.RecordBatch:
        sources, targets = (
            all_normalised([text or "" for text in batch[side].to_pylist()]) for side in ("source", "target")
        )
        reasons, words, can_tell = judged(sources, targets, self.recipe.filters, self._codes)
        texts = zip((sources, targets), self._codes, can_tell)
        languages = [self._languages(side, code, reasons, enough) for side, code, enough in texts]
        for index, found in enumerate(zip(*(others for _, others in languages))):
            if any(found):
                reasons[index] = "language"
        for index in np.flatnonzero(batch["split"].to_numpy()).tolist():
            reasons[index] = None
        forms = [all_forms(side) for side in (sources, targets)]
        bands, made = signatures(list(zip(*forms)))
        columns = {
            "source": sources,
            "target": targets,
            "reason": reasons,
            "source_words": words[0],
            "target_words": words[1],
            "source_language": languages[0][0],
            "target_language": languages[1][0],
            "pair_key": pair_keys(sources, targets),
            "source_key": text_keys(forms[0]),
            "target_key": text_keys(forms[1]),
            "order_key": order_keys(batch["row"].to_numpy(), self.recipe.seed),
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

    def _languages(
        self, texts: list[str], code: str, reasons: list[str | None], can_tell: np.ndarray
    ) -> tuple[list[str | None], list[bool]]:
        """The languages of sides of pairs without a reason, and whether they are surely another one.

        The language is ``None`` for a side too short to tell.
        """
        names: list[str | None] = [None] * len(texts)
        is_other = [False] * len(texts)
        least = self.recipe.filters.language
        if least is not None and is_known(code):
            chosen = [index for index in np.flatnonzero(can_tell).tolist() if reasons[index] is None]
            found = identify([texts[index] for index in chosen], self._codes)
            expected = base(code)
            for index, (name, probability) in zip(chosen, found):
                names[index] = name
                is_other[index] = name != expected and probability >= least
        return names, is_other
