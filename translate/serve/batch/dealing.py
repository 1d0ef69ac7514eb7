"""Which process has what to do: least loaded first, and documents leave room."""

from collections.abc import Sequence
from dataclasses import replace

from translate.serve.batch.calls import LaneKey, QueuedSentence
from translate.serve.batch.channel import Part, Shape
from translate.serve.batch.worker import Worker

# Batches of a lane that a process has at most: the one that runs, and one that enters as sentences leave.
# Others wait in the server, for whichever process is the first to have room.
AHEAD = 2


def room(worker: Worker, key: LaneKey) -> int:
    """How many sentences of a lane a process may have more."""
    return AHEAD * key.config.batch_size - worker.sentences[key]


def able(crew: Sequence[Worker], key: LaneKey | None = None, *, urgent: bool = False) -> list[Worker]:
    """The processes that may have more to do, the least loaded first.

    Args:
        crew: all processes.
        key: the lane, if sentences are to be given.
        urgent: whether documents leave one process free, if there are several.
    """
    found = [worker for worker in crew if worker.ready]
    if key is not None:
        if key.bulk and urgent and len(found) > 1:
            found = sorted(found, key=lambda worker: -worker.bulk)[:-1]  # where they are already
        found = [worker for worker in found if room(worker, key) > 0]
    return sorted(found, key=lambda worker: worker.cost)


def part_of(number: int, key: LaneKey, jobs: Sequence[QueuedSentence]) -> Part:
    """The message that gives sentences of one call to a process."""
    call, indexes = jobs[0].call, [job.index for job in jobs]
    work = call.work
    options = replace(work.options, prefix=None, constraints=None, context=None)
    completed = options.markup or options.replace_unknown
    shape = Shape(call.model, work.config, options, key.bulk, call.growing)
    return Part(
        number,
        shape,
        [work.pieces[index] for index in indexes],
        [[other[index] for index in indexes] for other in work.others],
        [work.requests[index] for index in indexes],
        [work.marked[index] for index in indexes] if completed else (),
        [job.arrived for job in jobs],
    )
