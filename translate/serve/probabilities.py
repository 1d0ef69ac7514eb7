"""How probable the pieces of a translation are, and which others could stand in their place."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from translate.alignment.pairs import EncodedPair
from translate.corpora.batching import pad
from translate.models import Seq2Seq
from translate.search.sources import read_sources
from translate.text.tokenizer import BOS, EOS, PAD, UNK

TOGETHER = 16  # translations of a batch


class Scored(NamedTuple):
    """A translation by teacher forcing."""

    pieces: list[float]  # the probability of each piece, given those before it
    end: float  # the probability that it ends there


def piece_probabilities(
    models: Sequence[Seq2Seq], sources: Sequence[Sequence[Sequence[int]]], targets: Sequence[Sequence[int]]
) -> list[Scored]:
    """The probabilities of the pieces of translations, by teacher forcing.

    Args:
        models: one or an ensemble, whose mean probability it is.
        sources: for each model, ids of each sentence without the end of sentence.
        targets: ids of each translation without begin and end of sentence.
    """
    found: list[Scored] = []
    for first in range(0, len(targets), TOGETHER):
        chosen = targets[first : first + TOGETHER]
        logs = _log_probabilities(models, [side[first : first + TOGETHER] for side in sources], chosen)
        for row, ids in enumerate(chosen):
            wanted = torch.tensor([*ids, EOS], device=logs.device)
            values = logs[row, : len(wanted)].gather(1, wanted.unsqueeze(1)).squeeze(1).exp().tolist()
            found.append(Scored(values[:-1], values[-1]))
    return found


def next_pieces(
    models: Sequence[Seq2Seq], source: Sequence[Sequence[int]], prefix: Sequence[int], count: int
) -> list[int]:
    """The most probable pieces after a prefix of the translation, without those that are no text."""
    last = _log_probabilities(models, [[side] for side in source], [prefix])[0, len(prefix)]
    last[[PAD, UNK, BOS, EOS]] = -math.inf
    values, ids = last.topk(min(count, len(last)))
    return [
        int(piece) for piece, value in zip(ids.tolist(), values.tolist(), strict=True) if value > -math.inf
    ]


def word_probabilities(pair: EncodedPair, pieces: Sequence[float]) -> list[float]:
    """The probability of each target word: the product over its pieces, also those that it shares."""
    words = [1.0] * len(pair.target_words)
    for word, probability in zip(pair.target_piece_words, pieces, strict=True):
        if word >= 0:
            words[word] *= probability
    for piece, word in pair.target_further:
        words[word] *= pieces[piece]
    return words


def _log_probabilities(
    models: Sequence[Seq2Seq], sources: Sequence[Sequence[Sequence[int]]], targets: Sequence[Sequence[int]]
) -> Tensor:
    """Log-probabilities (B, T + 1, V) of the next piece after each of ``targets``."""
    target_in, _ = pad([[BOS, *ids] for ids in targets])
    logs = []
    for reader in read_sources(models, sources):
        hidden = reader.model.read_target(reader.encode(), target_in.to(reader.source.device))
        logs.append(torch.log_softmax(reader.model.logits(hidden).float(), dim=-1))
    return logs[0] if len(logs) == 1 else torch.stack(logs).logsumexp(0) - math.log(len(logs))
