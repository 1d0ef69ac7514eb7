"""Beam search in batches; a beam of 1 is greedy search.

Shapes: B sentences still searched, W beam, N = B W hypotheses, C candidates a sentence, V vocabulary.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from translate.models import DecodeState, Encoded, Seq2Seq
from translate.search.hypothesis import Hypothesis, SearchConfig
from translate.text.tokenizer import BOS, EOS, PAD

IMPOSSIBLE = float("-inf")


@dataclass(frozen=True)
class _Alive:
    """The hypotheses that go on."""

    sentences: Tensor  # (B,) places in the input
    max_lengths: Tensor  # (B,) pieces, end of sentence counted
    scores: Tensor  # (B, W) log-probabilities; -inf where there is no hypothesis
    ids: Tensor  # (B, W, t) begin of sentence and all pieces so far
    state: DecodeState  # of N hypotheses
    encoded: Encoded  # of B sentences

    def keep(self, rows: Tensor) -> "_Alive":
        """The sentences at ``rows`` alone."""
        width = self.scores.shape[1]
        hypotheses = (rows.unsqueeze(1) * width + torch.arange(width, device=rows.device)).flatten()
        return _Alive(
            self.sentences[rows],
            self.max_lengths[rows],
            self.scores[rows],
            self.ids[rows],
            self.state.select(hypotheses),
            self.encoded.select(rows),
        )


class _Candidates(NamedTuple):
    """Continuations of a sentence's hypotheses, best first."""

    scores: Tensor  # (B, C)
    origins: Tensor  # (B, C) the hypothesis that each continues
    tokens: Tensor  # (B, C)


@torch.inference_mode()
def beam_search(
    model: Seq2Seq, source: Tensor, source_mask: Tensor | None, config: SearchConfig
) -> list[list[Hypothesis]]:
    """The best ``beam_size`` translations of each sentence, best first.

    A sentence is done when as many hypotheses as the beam is wide have ended; it then leaves the batch.

    Args:
        model: in evaluation mode, on the device of ``source``.
        source: (B, S) ids, ending in end of sentence.
        source_mask: (B, S) bool, True = visible, or ``None``.
        config: see :class:`SearchConfig`.
    """
    finished: list[list[Hypothesis]] = [[] for _ in range(len(source))]
    alive = _begin(model, source, source_mask, config)
    while len(alive.sentences):
        hidden, state = model.step(alive.ids[:, :, -1].flatten(), alive.state, alive.encoded)
        candidates = _candidates(model.logits(hidden), alive)
        _collect(candidates, alive, finished, config)
        goes_on = alive.ids.shape[2] < alive.max_lengths
        counts = torch.tensor([len(finished[i]) for i in alive.sentences.tolist()], device=source.device)
        goes_on &= counts < config.beam_size
        alive = _continue(candidates, alive, state)
        if not goes_on.all():
            alive = alive.keep(goes_on.nonzero().squeeze(1))
    return [sorted(found, key=lambda each: -each.score)[: config.beam_size] for found in finished]


def _begin(model: Seq2Seq, source: Tensor, source_mask: Tensor | None, config: SearchConfig) -> _Alive:
    count, device = len(source), source.device
    lengths = [source.shape[1]] * count if source_mask is None else source_mask.sum(1).tolist()
    longest = [config.max_length(length) for length in lengths]
    if model.max_target_length is not None:
        longest = [min(length, model.max_target_length) for length in longest]
    encoded = model.encode(source, source_mask)
    scores = torch.full((count, config.beam_size), IMPOSSIBLE, device=device)
    scores[:, 0] = 0.0  # the first step has one hypothesis a sentence
    return _Alive(
        torch.arange(count, device=device),
        torch.tensor(longest, device=device),
        scores,
        torch.full((count, config.beam_size, 1), BOS, device=device),
        model.start(encoded, config.beam_size),
        encoded,
    )


def _candidates(logits: Tensor, alive: _Alive) -> _Candidates:
    """The best continuations: twice the beam, so that a full beam is left whatever ends."""
    width, vocabulary = alive.scores.shape[1], logits.shape[-1]
    log_probabilities = torch.log_softmax(logits.float() if logits.dtype != torch.float64 else logits, dim=-1)
    log_probabilities[:, [PAD, BOS]] = IMPOSSIBLE
    longest = (alive.ids.shape[2] >= alive.max_lengths).repeat_interleave(width)  # these can only end
    ends = log_probabilities[:, EOS].clone()
    log_probabilities.masked_fill_(longest.unsqueeze(1), IMPOSSIBLE)
    log_probabilities[:, EOS] = ends
    totals = alive.scores.unsqueeze(2) + log_probabilities.unflatten(0, (-1, width))  # (B, W, V)
    scores, places = totals.flatten(1).topk(min(2 * width, width * vocabulary), dim=1)
    return _Candidates(scores, places // vocabulary, places % vocabulary)


def _collect(
    candidates: _Candidates, alive: _Alive, finished: list[list[Hypothesis]], config: SearchConfig
) -> None:
    """Note the candidates that end and are among the best W."""
    width = config.beam_size
    ends = (candidates.tokens[:, :width] == EOS) & (candidates.scores[:, :width] > IMPOSSIBLE)
    rows, ranks = ends.nonzero(as_tuple=True)  # a GPU synchronises here, once a step
    if not len(rows):
        return
    length = alive.ids.shape[2]  # begin of sentence is counted for the end of sentence
    ids = alive.ids[rows, candidates.origins[rows, ranks], 1:].tolist()
    scores = candidates.scores[rows, ranks].tolist()
    for sentence, pieces, score in zip(alive.sentences[rows].tolist(), ids, scores, strict=True):
        finished[sentence].append(Hypothesis(pieces, score, score / length**config.length_penalty))


def _continue(candidates: _Candidates, alive: _Alive, state: DecodeState) -> _Alive:
    """The best W candidates that do not end, with the state of the hypotheses they continue."""
    count, width = alive.scores.shape
    going = candidates.scores.masked_fill(candidates.tokens == EOS, IMPOSSIBLE)
    scores, order = going.topk(min(width, going.shape[1]), dim=1)
    origins, tokens = candidates.origins.gather(1, order), candidates.tokens.gather(1, order)
    ids = torch.cat([alive.ids.gather(1, origins.unsqueeze(2).expand(-1, -1, alive.ids.shape[2])),
                     tokens.unsqueeze(2)], dim=2)  # fmt: skip
    if width > 1:
        rows = torch.arange(count, device=origins.device).unsqueeze(1) * width + origins
        state = state.select(rows.flatten())
    return _Alive(alive.sentences, alive.max_lengths, scores, ids, state, alive.encoded)
