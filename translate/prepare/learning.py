"""What a sample teaches of the translations of words, within a limit of memory."""

from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import pyarrow

from translate.errors import UserError
from translate.links.frozen import first_pairs, learn_frozen
from translate.links.judge import learn_judge
from translate.prepare.engines import statements
from translate.prepare.engines.tables_and_views import DataEngine
from translate.prepare.judging.scoring import link_words
from translate.prepare.recipe import LinkConfig
from translate.prepare.worker_pool import uninterrupted, worker_processes
from translate.text.aside import aside

MAX_SAMPLE_WORDS = 60  # of a side of a pair from which the translations of words are learnt
HMM_ROUNDS = 3  # of training after model 1
HELD_PAIRS = 4_000  # of the sample, from which the judge learns what good pairs look like; at most a fifth
LINK_BYTES = 24  # that a possible link needs
PROCESS_BYTES = 200 << 20  # that the process needs beside them
LEAST_LINKS = 100_000
SMALL = 1 << 20  # bytes of a sample that needs no process of its own


class Learnt(NamedTuple):
    """What was written of a sample.

    Attributes:
        pairs: that taught the aligner; 0 if there is none.
        limited: whether memory left out some that the recipe asks for.
        judge: whether there were enough for one.
    """

    pairs: int
    limited: bool
    judge: bool


def links_within(memory: int) -> int:
    """How many possible links can be learnt from in so much memory, in bytes."""
    return max(LEAST_LINKS, (memory - PROCESS_BYTES) // LINK_BYTES)


def learn_sample(engine: DataEngine, view: str, links: LinkConfig, parameters: Path, judge: Path) -> Learnt:
    """Learn from the first pairs of the random order, and write the aligner and its judge.

    The aligner's part ends before its possible links exceed ``links.sample_links``, whatever the pairs'
    lengths, or what the engine's memory has room for; the judge learns from the pairs that follow.
    """
    table = engine.query(statements.sample(view, links.sample_pairs + HELD_PAIRS, MAX_SAMPLE_WORDS))
    job = table, links, links_within(engine.memory), parameters, judge
    if table.nbytes < SMALL:
        return learn(*job)
    # In a process of its own: this one holds what DuckDB has read.
    try:
        with worker_processes(1) as pool:
            with uninterrupted():
                result = pool.submit(learn, *job)
            return result.result()
    except BrokenProcessPool as error:
        raise UserError(
            "the process that learns the translations of words was killed, perhaps for lack of memory; "
            "start again with a smaller links.sample_links: whole parts are kept"
        ) from error


def learn(table: pyarrow.Table, links: LinkConfig, most_links: int, parameters: Path, judge: Path) -> Learnt:
    """Learn from a table of pairs; the parameters are written last: with them there is all."""
    texts = zip(*(table[side].to_pylist() for side in ("source", "target")))
    pairs = ((link_words(source), link_words(target)) for source, target in texts)
    count = min(links.sample_pairs, len(table) - min(HELD_PAIRS, len(table) // 5))
    sources, targets = first_pairs(islice(pairs, count), min(links.sample_links, most_links))
    if not any(source and target for source, target in zip(sources, targets)):
        return Learnt(0, limited=False, judge=False)
    aligner = learn_frozen(sources, targets, hmm_rounds=HMM_ROUNDS)
    limited = len(sources) < count and most_links < links.sample_links
    learnt = len(sources)
    held = list(islice(pairs, HELD_PAIRS))
    found = learn_judge(aligner, [source for source, _ in held], [target for _, target in held])
    if found is not None:
        with aside(judge) as new:
            found.save(new)
    with aside(parameters) as new:
        aligner.save(new)
    return Learnt(learnt, limited=limited, judge=found is not None)
