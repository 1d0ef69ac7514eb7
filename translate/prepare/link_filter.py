"""Judges pairs by the links between their words: what a sample teaches, and what it tells of each pair."""

from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow
import pyarrow.compute

from translate.links.correspondence import parts_apart
from translate.links.fixed_aligner import FixedAligner, Numbered, first_pairs, learn_aligner
from translate.links.links import format_pharaoh
from translate.links.translation_probability import Evidence, TranslationRegression, learn_regression
from translate.prepare.executors import SQL_TYPES, Executor, in_processes
from translate.prepare.recipe import LinkConfig
from translate.prepare.rows import ROWS
from translate.text.file_writing import aside
from translate.text.words import split_words

_KEPT = "row corpus source target document line source_words target_words source_key target_key order_key"
LEFT = pyarrow.schema([ROWS.field(name) for name in _KEPT.split()])
_ADDED = {
    "probability": pyarrow.float64(),  # that the sides are translations
    "reason": pyarrow.string(),  # "links" if that is too small
    "links": pyarrow.string(),
}
CLEAN = pyarrow.schema([*LEFT, *_ADDED.items()])
UNJUDGED = ", ".join(f"CAST(NULL AS {SQL_TYPES[kind]}) AS {name}" for name, kind in _ADDED.items())
ALIGNER, REGRESSION = "links.npz", "regression.npz"
MAX_SAMPLE_WORDS = 60  # of a side of a pair from which the translations of words are learnt
HMM_ROUNDS = 3  # of training after model 1
HELD_PAIRS = 4_000  # of the sample, from which the regression learns; at most a fifth
JUDGED_PAIRS = 6_000  # of the sample, that tell whether the lines of a corpus correspond
LINK_BYTES = 24  # that a possible link needs
PROCESS_BYTES = 200 << 20  # that the process needs beside them
LEAST_LINKS = 100_000
SMALL = 1 << 20  # bytes of a sample that needs no process of its own


class Learnt(NamedTuple):
    """A report on the learning from a sample.

    Attributes:
        pairs: number that taught the aligner; 0 if there is none.
        limited: whether memory left out some that the recipe asks for.
        regression: whether there were enough pairs for one.
        apart: for each part of a corpus where a side seems to have slipped its name, first and last line.
    """

    pairs: int
    limited: bool
    regression: bool
    apart: list[tuple[str, int, int]]


def links_within(memory: int) -> int:
    """How many possible links can be learnt from in ``memory`` bytes."""
    return max(LEAST_LINKS, (memory - PROCESS_BYTES) // LINK_BYTES)


def learn_sample(executor: Executor, view: str, links: LinkConfig, folder: Path) -> Learnt:
    """Learn from the first pairs of the random order, and write the aligner and the regression to a folder.

    The aligner's part ends before its possible links exceed ``links.sample_links``, whatever the pairs'
    lengths, or what the executor's memory has room for; the regression learns from the pairs that follow.
    """
    table = executor.table(
        f"SELECT source, target, corpus, line FROM {view} "
        f"WHERE greatest(source_words, target_words) <= {MAX_SAMPLE_WORDS} "
        f"ORDER BY order_key, row LIMIT {links.sample_pairs + HELD_PAIRS}"
    )
    job = table, links, links_within(executor.memory), folder
    if table.nbytes < SMALL:
        return learn(*job)
    # In a process of its own: this one holds what DuckDB has read.
    killed = (
        "the process that learns the translations of words was killed, perhaps for lack of memory; "
        "start again with a smaller links.sample_links: whole parts are kept"
    )
    return in_processes(1, learn, [job], killed)[0]


def learn(table: pyarrow.Table, links: LinkConfig, most_links: int, folder: Path) -> Learnt:
    """Learn from a table of pairs; the aligner is written last, so that it stands for everything."""
    texts = zip(*(table[side].to_pylist() for side in ("source", "target")))
    pairs = ((link_words(source), link_words(target)) for source, target in texts)
    count = min(links.sample_pairs, len(table) - min(HELD_PAIRS, len(table) // 5))
    sources, targets = first_pairs(islice(pairs, count), min(links.sample_links, most_links))
    if not any(source and target for source, target in zip(sources, targets)):
        return Learnt(0, limited=False, regression=False, apart=[])
    aligner = learn_aligner(sources, targets, hmm_rounds=HMM_ROUNDS)
    limited, learnt = len(sources) < count and most_links < links.sample_links, len(sources)
    held = list(islice(pairs, HELD_PAIRS))
    sides = [source for source, _ in held], [target for _, target in held]
    found = learn_regression(Evidence(aligner), *sides)
    if found is not None:
        with aside(folder / REGRESSION) as new:
            found.save(new)
    with aside(folder / ALIGNER) as new:
        aligner.save(new)
    apart = lines_apart(table.slice(0, min(JUDGED_PAIRS, learnt)))
    return Learnt(learnt, limited=limited, regression=found is not None, apart=apart)


def lines_apart(table: pyarrow.Table) -> list[tuple[str, int, int]]:
    """The parts of each corpus, by name and lines, whose pairs fit no better than their neighbours."""
    found = list[tuple[str, int, int]]()
    for corpus in sorted(table["corpus"].unique().to_pylist()):
        own = table.filter(pyarrow.compute.equal(table["corpus"], corpus)).sort_by("line")
        sides = (list(map(link_words, own[side].to_pylist())) for side in ("source", "target"))
        lines = own["line"].to_pylist()
        found += [(corpus, lines[begin], lines[end - 1]) for begin, end in parts_apart(*sides)]
    return found


@dataclass(frozen=True)
class LinkFunction:
    """Judges the pairs of a batch by the links between their words.

    Attributes:
        links: the settings.
        folder: of the aligner, and of the regression if there is one.
    """

    links: LinkConfig
    folder: Path

    def __call__(self, batch: pyarrow.RecordBatch) -> pyarrow.RecordBatch:
        """The pairs, of ``LEFT``, with the columns of ``CLEAN``."""
        evidence = _evidence(self.folder / ALIGNER)
        aligner = evidence.aligner
        sides = [_numbered(aligner, number, batch[side]) for number, side in enumerate(("source", "target"))]
        probability = reasons = lines = None
        if (regression := self.folder / REGRESSION).exists():
            lengths = sides[0].lengths, sides[1].lengths
            probability = _regression(regression).probabilities(evidence(*sides), lengths)
            probability = probability.round(6)  # whatever the order in which numbers were added
            least = self.links.min_probability or 0.0
            reasons = ["links" if value < least else None for value in probability]
        if self.links.write:
            words = (list(map(link_words, batch[side].to_pylist())) for side in ("source", "target"))
            lines = [format_pharaoh(links) for links in aligner.links(*words)]
        added = probability, reasons, lines
        arrays = [
            pyarrow.nulls(len(batch), kind) if values is None else pyarrow.array(values, kind)
            for values, kind in zip(added, _ADDED.values())
        ]
        return pyarrow.record_batch([*(batch[name] for name in LEFT.names), *arrays], schema=CLEAN)


def link_words(text: str) -> list[str]:
    """The words of a side as the aligner knows them: those that links of a run index, in lower case."""
    return [word for part in text.split() for word in _words_of(part)]


def _numbered(aligner: FixedAligner, side: int, texts: pyarrow.Array) -> Numbered:
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
    """The words of a text without white space."""
    return tuple(word.text.casefold() for word in split_words(part))


@lru_cache(maxsize=1)
def _regression(path: Path) -> TranslationRegression:
    return TranslationRegression.load(path)


@lru_cache(maxsize=1)
def _evidence(path: Path) -> Evidence:
    return Evidence(FixedAligner.load(path))
