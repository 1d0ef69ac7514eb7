"""Functions over record batches after the first exchange: similar pairs, links between words."""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.compute

from translate.links.frozen import FrozenAligner
from translate.links.judge import TranslationJudge
from translate.links.links import format_pharaoh
from translate.links.partners import Numbered
from translate.prepare.judging.signatures import similarity
from translate.prepare.recipe import LinkConfig
from translate.text.words import split_words

SIMILAR = pyarrow.schema(
    [
        ("row", pyarrow.int64()),
        ("corpus", pyarrow.string()),
        ("order_key", pyarrow.int64()),
        ("first", pyarrow.int64()),
        ("similarity", pyarrow.float64()),
    ]
)
CLEAN = pyarrow.schema(
    [
        ("row", pyarrow.int64()),
        ("corpus", pyarrow.string()),
        ("source", pyarrow.string()),
        ("target", pyarrow.string()),
        ("document", pyarrow.int64()),
        ("line", pyarrow.int64()),
        ("source_words", pyarrow.int32()),
        ("target_words", pyarrow.int32()),
        ("source_key", pyarrow.int64()),
        ("target_key", pyarrow.int64()),
        ("order_key", pyarrow.int64()),
        ("reason", pyarrow.string()),  # "links" for too few of them
        ("coverage", pyarrow.float64()),  # of the side with fewer linked words
        ("probability", pyarrow.float64()),  # that the sides are translations
        ("links", pyarrow.string()),
    ]
)


@dataclass(frozen=True)
class SimilarFunction:
    """Of pairs and their candidates for a near-duplicate, those that are similar enough."""

    at_least: float

    def __call__(self, batch: pyarrow.RecordBatch) -> pyarrow.RecordBatch:
        """The rows with their estimated similarity to an earlier one, of ``SIMILAR``."""
        found = similarity(batch["mine"].to_pylist(), batch["other"].to_pylist())
        columns = [batch[name] for name in ("row", "corpus", "order_key", "first")]
        judged = pyarrow.record_batch([*columns, pyarrow.array(found)], schema=SIMILAR)
        return judged.filter(pyarrow.array(found >= self.at_least))


@dataclass(frozen=True)
class LinkFunction:
    """Judges pairs by the links between their words; without a file of parameters it lets them pass.

    Attributes:
        links: what is wanted.
        parameters: file of the aligner.
        judge: file of the judge.
    """

    links: LinkConfig
    parameters: Path | None
    judge: Path | None = None

    def __call__(self, batch: pyarrow.RecordBatch) -> pyarrow.RecordBatch:
        """The kept pairs of train, of ``CLEAN``."""
        kept = pyarrow.array(
            [
                split == 0 and reason is None
                for split, reason in zip(*(_list(batch, n) for n in ("split", "reason")))
            ],
            pyarrow.bool_(),
        )
        batch = batch.filter(kept)
        count = len(batch)
        reasons: list[str | None] = [None] * count
        lines: list[str | None] = [None] * count
        coverage: list[float | None] = [None] * count
        probability: list[float | None] = [None] * count
        if self.parameters is not None and count:
            aligner = _aligner(self.parameters)
            sides = [_numbered(aligner, side, batch[name]) for side, name in enumerate(("source", "target"))]
            evidence = aligner.evidence_of(*sides)
            coverage = _rounded(evidence[:, :2].min(1))
            if self.judge is not None:
                lengths = sides[0].lengths, sides[1].lengths
                probability = _rounded(_judge(self.judge).probabilities(evidence, lengths))
            for values, least in (
                (coverage, self.links.min_coverage),
                (probability, self.links.min_probability),
            ):
                if least is not None:
                    few = [value is not None and value < least for value in values]
                    reasons = ["links" if wrong else reason for reason, wrong in zip(reasons, few)]
            if self.links.write:
                words = (list(map(link_words, _list(batch, side))) for side in ("source", "target"))
                lines = [format_pharaoh(links) for links in aligner.links(*words)]
        made = {
            "reason": pyarrow.array(reasons, pyarrow.string()),
            "coverage": pyarrow.array(coverage, pyarrow.float64()),
            "probability": pyarrow.array(probability, pyarrow.float64()),
            "links": pyarrow.array(lines, pyarrow.string()),
        }
        return pyarrow.record_batch(
            [made[name] if name in made else batch[name] for name in CLEAN.names], schema=CLEAN
        )


def link_words(text: str) -> list[str]:
    """The words of a side as the aligner knows them: those that links of a run index, in lower case."""
    return [word for part in text.split() for word in _words_of(part)]


def _numbered(aligner: FrozenAligner, side: int, texts: pyarrow.Array) -> Numbered:
    """The words of normalised texts, by the aligner's numbers; what spaces divide is split once a batch."""
    parts = pyarrow.compute.split_pattern(texts, " ")
    found = parts.flatten().dictionary_encode()
    different = aligner.numbered(side, list(map(_words_of, found.dictionary.to_pylist())))
    chosen = found.indices.to_numpy()
    lengths = different.lengths[chosen]
    begins = (np.cumsum(different.lengths) - different.lengths)[chosen]
    within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    ends = np.cumsum(pyarrow.compute.list_value_length(parts).to_numpy())
    sums = np.append(0, np.cumsum(lengths))[np.append(0, ends)]
    return Numbered(different.numbers[np.repeat(begins, lengths) + within], np.diff(sums))


@lru_cache(maxsize=1 << 16)
def _words_of(part: str) -> tuple[str, ...]:
    """The words of what stands between white space, which no word contains."""
    return tuple(word.text.casefold() for word in split_words(part))


def _list(batch: pyarrow.RecordBatch, name: str) -> list[Any]:
    values: list[Any] = batch[name].to_pylist()
    return values


def _rounded(values: np.ndarray) -> list[float | None]:
    """Numbers that are the same however sums were rounded."""
    return [round(float(value), 6) for value in values]


@lru_cache(maxsize=1)
def _judge(path: Path) -> TranslationJudge:
    return TranslationJudge.load(path)


@lru_cache(maxsize=1)
def _aligner(path: Path) -> FrozenAligner:
    return FrozenAligner.load(path)
