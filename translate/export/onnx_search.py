"""Greedy and beam search over the two ONNX graphs in numpy, complete, as an example for other programs.

Shapes: B unfinished sentences, W hypotheses of each, S source pieces, T target pieces so far, V vocabulary.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from translate.config.search import SearchConfig
from translate.text.tokenizer import BOS, EOS, PAD

IMPOSSIBLE = -np.inf
Array = np.ndarray


class OnnxHypothesis(NamedTuple):
    """A hypothesis that has ended, with its score."""

    ids: list[int]
    score: float  # log-probability / length ** length_penalty, with the length including end of sentence


class Graphs(NamedTuple):
    """The sessions of onnxruntime, and the number of memories; the encoder's other outputs are states."""

    reading: Any
    step: Any
    num_memories: int

    def read(self, sources: Sequence[Sequence[int]]) -> tuple[Array, list[Array], list[Array]]:
        """Mask (B, S), memories and first states (B, 1, ...) of source ids."""
        lengths = np.array([len(source) for source in sources])
        ids = np.full((len(sources), lengths.max()), PAD, dtype=np.int64)
        for row, source in enumerate(sources):
            ids[row, : len(source)] = source
        mask = np.arange(ids.shape[1]) < lengths[:, None]
        found = self.reading.run(None, {"source": ids, "mask": mask})
        return mask, found[: self.num_memories], found[self.num_memories :]

    def advance(
        self, ids: Array, mask: Array, memories: list[Array], states: list[Array]
    ) -> tuple[Array, list[Array]]:
        """Log-probabilities (B, W, V) of the next pieces after ids (B, W, T), and the next states."""
        inputs = {"ids": ids, "mask": mask}
        inputs |= {f"memory_{i}": memory for i, memory in enumerate(memories)}
        inputs |= {f"state_{i}": state for i, state in enumerate(states)}
        # The exporter drops inputs that a graph does not read, such as the mask of some backends.
        known = {value.name for value in self.step.get_inputs()}
        found = self.step.run(None, {name: value for name, value in inputs.items() if name in known})
        return found[0], found[1:]


def search(
    graphs: Graphs, sources: Sequence[Sequence[int]], longest: Sequence[int], config: SearchConfig
) -> list[OnnxHypothesis]:
    """The best translation of each sentence; a sentence is done when W of its hypotheses have ended.

    Args:
        graphs: the encoder and the step.
        sources: ids of each sentence with end of sentence.
        longest: largest number of pieces of each translation, including end of sentence.
        config: its ``beam_size`` and ``length_penalty`` are read.
    """
    width = config.beam_size
    mask, memories, states = graphs.read(sources)
    states = [np.repeat(state, width, axis=1) for state in states]
    active, limits = np.arange(len(sources)), np.array(longest)
    scores = np.full((len(sources), width), IMPOSSIBLE)
    scores[:, 0] = 0.0  # the first step has one hypothesis for each sentence
    ids = np.full((len(sources), width, 1), BOS, dtype=np.int64)
    finished: list[list[OnnxHypothesis]] = [[] for _ in sources]
    while len(active):
        length = ids.shape[2]  # with begin of sentence, without end of sentence
        log_probabilities, states = graphs.advance(ids, mask, memories, states)
        log_probabilities[:, :, [PAD, BOS]] = IMPOSSIBLE
        others = np.arange(log_probabilities.shape[2]) != EOS
        log_probabilities[np.ix_(length >= limits, np.arange(width), others)] = IMPOSSIBLE
        totals = scores[:, :, None] + log_probabilities
        order = np.argsort(-totals.reshape(len(active), -1), axis=1, kind="stable")[:, : 2 * width]
        best = np.take_along_axis(totals.reshape(len(active), -1), order, axis=1)
        origins, tokens = np.divmod(order, totals.shape[2])
        for row, rank in zip(*np.nonzero((tokens[:, :width] == EOS) & (best[:, :width] > IMPOSSIBLE))):
            path = ids[row, origins[row, rank], 1:].tolist()
            score = float(best[row, rank]) / length**config.length_penalty
            finished[active[row]].append(OnnxHypothesis(path, score))
        best[tokens == EOS] = IMPOSSIBLE
        going = np.argsort(-best, axis=1, kind="stable")[:, :width]
        origins, tokens, scores = (np.take_along_axis(x, going, axis=1) for x in (origins, tokens, best))
        rows = np.arange(len(active))[:, None]
        ids = np.concatenate([ids[rows, origins], tokens[:, :, None]], axis=2)
        states = [state[rows, origins] for state in states]

        kept = (length < limits) & (np.array([len(finished[index]) for index in active]) < width)
        mask, active, limits, scores, ids = mask[kept], active[kept], limits[kept], scores[kept], ids[kept]
        memories, states = [array[kept] for array in memories], [array[kept] for array in states]
    return [max(hypotheses, key=lambda hypothesis: hypothesis.score) for hypotheses in finished]
