"""Finds where the lines of two files no longer correspond, because one side has slipped."""

from translate.links.fixed_aligner import learn_aligner
from translate.links.statistical import Words
from translate.links.translation_probability import Evidence

PARTS, LEAST_JUDGED = 5, 100  # of a corpus; pairs of a part
FITTING = 0.72  # the least share of the pairs of a part that fit at least as well as their neighbours


def parts_apart(sources: Words, targets: Words) -> list[tuple[int, int]]:
    """The ranges of pairs that fit the translation of the next pair as well as their own.

    Half of the pairs teach the translations of words, by model 1; the others are judged by the log-ratios of
    :class:`Evidence`. In five corpora, in their order or sorted, 87 to 100 % of the pairs of each part fitted
    at least as well as their neighbours, and 76 to 100 % of an interface's strings in ten languages. Where a
    side had slipped by a line, 43 to 71 % did, up to 83 % of a sorted corpus, whose neighbours are alike.
    """
    judged = len(sources) // 2
    count = min(PARTS, judged // LEAST_JUDGED)
    if not count or not any(map(all, zip(sources[::2], targets[::2]))):
        return []
    evidence = Evidence(learn_aligner(sources[::2], targets[::2], hmm_rounds=0))
    source, target = sources[1::2], targets[1::2]
    own, next_one = (
        evidence.of_words(source, side)[:, 2:4].sum(1) for side in (target, [*target[1:], target[0]])
    )
    fitting = own >= next_one  # a repeated line does not tell
    found: list[tuple[int, int]] = []
    for number in range(count):
        begin, end = number * judged // count, (number + 1) * judged // count
        if fitting[begin:end].mean() >= FITTING:
            continue
        if found and found[-1][1] == 2 * begin:
            begin = found.pop()[0] // 2
        found.append((2 * begin, len(sources) if end == judged else 2 * end))
    return found
