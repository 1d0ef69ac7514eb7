"""Batches of sentences for CTranslate2: whoever waits when a worker is free enters its next batch.

Its workers compute without Python's lock, so they need no process of their own. It answers a batch at its
end, so batches are small.
"""

from collections.abc import Callable, Iterator

from translate.search import Finished
from translate.serve.batch.calls import LaneKey, QueuedSentence
from translate.serve.batch.lanes import Feed


def search_elsewhere(feed: Feed, leave: Callable[[QueuedSentence, LaneKey], None]) -> Iterator[Finished]:
    """Search the sentences of a lane, batch by batch, until nobody waits.

    Args:
        feed: of the lane.
        leave: takes a sentence that CTranslate2 would break off.
    """
    key = feed.lane.key
    while jobs := feed.take():
        engine = jobs[0].call.work.engine
        assert engine is not None
        most = max(job.call.work.options.n_best for job in jobs)
        sources = [job.ids()[0] for job in jobs]
        left: list[int] = []
        attention = key.record is not None
        for found in engine.search([range(len(jobs))], sources, key.config, n_best=most, attention=attention):
            if found.hypotheses:
                yield found._replace(key=jobs[found.key])
            else:
                left.append(found.key)
        feed.leave([jobs[index] for index in left])
        for index in left:
            if not jobs[index].call.cancelled:
                leave(jobs[index], key)
        feed.after(len(jobs))
