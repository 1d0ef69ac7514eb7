"""Translations drawn at random, from all pieces or from the likeliest ones.

Shapes: B sentences still drawn, W samples of each, N = B W, V vocabulary, K pieces that may be drawn,
T pieces so far and begin of sentence.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from translate.config.search import SearchConfig
from translate.models import Encoded, Seq2Seq
from translate.search.batch_search import limits
from translate.search.hypothesis import Hypothesis, Request
from translate.search.progress import Progress, Reader, rows_of
from translate.text.tokenizer import BOS, EOS


@torch.inference_mode()
def sample(
    model: Seq2Seq,
    source: Tensor,
    source_mask: Tensor | None,
    config: SearchConfig,
    count: int,
    *,
    requests: Sequence[Request] | None = None,
    others: Sequence[Reader] = (),
    encoded: Encoded | None = None,
) -> list[list[Hypothesis]]:
    """``count`` translations of each sentence, in the order of their draw; equal ones may occur.

    The random numbers of a sentence depend on the seed and on its pieces alone, not on its batch: the same
    sentence gives the same samples. Scores are those of the model, whatever the temperature.

    Args:
        model, source, source_mask, requests, others, encoded: as :func:`beam_search`.
        config: see :class:`SearchConfig`; the beam is not read.
        count: W.

    Raises:
        ValueError: for a request that samples cannot fulfil: phrases.
    """
    requests = requests or [Request()] * len(source)
    if any(request.phrases for request in requests):
        raise ValueError("phrases that must appear need a beam; samples cannot be made to have them")
    drawing = _Drawing([Reader(model, source, source_mask, encoded), *others], config, requests, count)
    while drawing.sentences:
        drawing.step()
    return drawing.finished


class _Drawing:
    """A batch on its way."""

    def __init__(
        self, readers: Sequence[Reader], config: SearchConfig, requests: Sequence[Request], count: int
    ) -> None:
        batch, device = len(requests), readers[0].source.device
        self.config = config
        self.width = 1
        self.count = count
        self.rules = limits(readers, config, requests)
        self.progress = Progress(readers)
        self.random = self._draw_numbers(readers[0])  # (B, W, longest)
        self.sentences = list(range(batch))  # in the input
        self.ids = torch.full((batch, 1, 1), BOS, device=device)  # (B, W, T)
        self.totals = torch.zeros(batch, count, dtype=torch.float64, device=device)  # log-probabilities
        self.alive = torch.ones(batch, count, dtype=torch.bool, device=device)
        self.finished: list[list[Hypothesis]] = [[Hypothesis([], 0.0, 0.0)] * count for _ in range(batch)]

    def _draw_numbers(self, reader: Reader) -> Tensor:
        """A number in [0, 1) for each sample and place, from the seed and the sentence's pieces."""
        longest = max(self.rules.longest)
        numbers = np.empty((len(reader.source), self.count, longest))
        for row, (ids, length) in enumerate(zip(reader.source.tolist(), reader.lengths, strict=True)):
            for draw in range(self.count):
                key = np.random.SeedSequence([self.config.seed, draw, *ids[:length]])
                numbers[row, draw] = np.random.Generator(np.random.PCG64(key)).random(longest)
        return torch.from_numpy(numbers).to(reader.source.device)

    def step(self) -> None:
        log_probabilities = self.progress.log_probabilities(self.ids[:, :, -1].flatten())
        model = log_probabilities.clone()
        self.rules.apply(log_probabilities, self.ids)
        if self.width < self.count:
            self.progress.widen(self.count)
            log_probabilities, model = (
                each.repeat_interleave(self.count, 0) for each in (log_probabilities, model)
            )
            self.ids = self.ids.expand(-1, self.count, -1)
            self.width = self.count
        place = self.ids.shape[2] - 1
        tokens = draw(log_probabilities, self.random[:, :, place].flatten(), self.config)  # (N,)
        gained = model.gather(1, tokens.unsqueeze(1)).view_as(self.totals)
        tokens = tokens.view_as(self.totals)
        self.totals = self.totals + gained.masked_fill(~self.alive, 0.0)
        self._collect(self.alive & (tokens == EOS))
        self.ids = torch.cat([self.ids, tokens.unsqueeze(2)], dim=2)
        self._shrink()

    def _collect(self, ended: Tensor) -> None:
        rows, draws = ended.nonzero(as_tuple=True)  # a GPU synchronises here, once a step
        length = self.ids.shape[2]
        found = zip(
            rows.tolist(),
            draws.tolist(),
            self.ids[rows, draws, 1:].tolist(),
            self.totals[rows, draws].tolist(),
            strict=True,
        )
        for row, which, pieces, total in found:
            score = self.config.normalise(total, length)
            self.finished[self.sentences[row]][which] = Hypothesis(pieces, total, score)
        self.alive = self.alive & ~ended

    def _shrink(self) -> None:
        going = self.alive.any(1).tolist()
        if all(going):
            return
        kept = [place for place, goes_on in enumerate(going) if goes_on]
        rows = torch.tensor(kept, dtype=torch.int64, device=self.ids.device)
        self.sentences = [self.sentences[place] for place in kept]
        self.ids, self.totals, self.alive, self.random = (
            each[rows] for each in (self.ids, self.totals, self.alive, self.random)
        )
        if kept:
            self.progress.keep(rows, rows_of(rows, self.width))
            self.rules.keep(kept, rows)


def draw(log_probabilities: Tensor, numbers: Tensor, config: SearchConfig) -> Tensor:
    """One piece of each row (N, V), by inverting the cumulated probabilities at ``numbers`` (N,) in [0, 1).

    First the ``top_k`` likeliest are kept, then among them as few of the likeliest as have ``top_p`` together
    (Holtzman et al. 2020, 3.1), at the chosen temperature.
    """
    tokens = None
    size = log_probabilities.shape[1]
    if config.top_k or config.top_p < 1:
        count = min(config.top_k, size) if config.top_k else size
        log_probabilities, tokens = log_probabilities.topk(count, dim=1)  # (N, K), likeliest first
    likely = torch.softmax(log_probabilities.double() / config.temperature, dim=1)
    if config.top_p < 1:
        before = likely.cumsum(1) - likely
        likely = likely.masked_fill(before >= config.top_p, 0.0)
    cumulated = likely.cumsum(1)
    # What has no probability adds nothing to the sum, and is never the first place above a number.
    wanted = numbers.to(cumulated.dtype).unsqueeze(1) * cumulated[:, -1:]
    places = torch.searchsorted(cumulated, wanted, right=True).clamp_max(cumulated.shape[1] - 1)
    return (places if tokens is None else tokens.gather(1, places)).squeeze(1)
