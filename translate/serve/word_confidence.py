"""The probabilities of words, and how often words are right by them: counted, and stored with a run."""

import hashlib
import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, NamedTuple

import torch
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass
from torch import Tensor

from translate.alignment.pairs import EncodedPair
from translate.config.names import shorten
from translate.corpora.batching import pad
from translate.errors import UserError
from translate.models import Seq2Seq
from translate.search import read_sources
from translate.text.bounded import read_json
from translate.text.file_writing import write_text
from translate.text.tokenizer import BOS, EOS, PAD, UNK
from translate.translator import Translator

FILE = "confidence.json"
EDGES = (0.0, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)  # of the bands of probability
TOGETHER = 16  # translations of a batch
SAMPLED = 8  # values of each parameter by which a model is known again


Count = Annotated[int, Field(ge=0, le=10**12)]
Share = Annotated[float, Field(ge=0, le=1)]


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Band:
    """Words to which the model gave a probability from ``start`` to ``end``.

    Attributes:
        words: how many there were.
        right: how many of them stand in the reference.
    """

    start: Share
    end: Share
    words: Count
    right: Count


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Confidence:
    """The counts on sentence pairs.

    Attributes:
        split: where the pairs come from.
        pairs: how many they are.
        bands: by probability, from 0 to 1 without gaps.
        model: a sum by which the same weights are known again.
    """

    split: Annotated[str, Field(max_length=1000)]
    pairs: Count
    bands: Annotated[tuple[Band, ...], Field(min_length=1, max_length=100)]
    model: Annotated[str, Field(max_length=64)] = ""

    def described(self) -> dict[str, object]:
        """The description for clients."""
        return {name: value for name, value in asdict(self).items() if name != "model"}


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
        sources: for every model, the ids of all sentences without their ends.
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


def count(
    translator: Translator, sources: Sequence[str], references: Sequence[str], split: str
) -> Confidence:
    """Translate the sources and count which words stand in the references.

    A word is right if the reference has it, too; each word of the reference makes one word right. So a good
    word that the reference does not have counts as wrong.
    """
    words, right = [0] * (len(EDGES) - 1), [0] * (len(EDGES) - 1)
    for probabilities, found, reference in _translated(translator, sources, references):
        left = Counter(reference)
        for word, probability in zip(found, probabilities, strict=True):
            band = _band(probability)
            words[band] += 1
            if left[word]:
                left[word] -= 1
                right[band] += 1
    bands = (Band(*band) for band in zip(EDGES[:-1], EDGES[1:], words, right, strict=True))
    return Confidence(split, len(sources), tuple(bands))


def store(run: Path, confidence: Confidence, model: Seq2Seq) -> Path:
    """Write what was counted beside the run's other files."""
    place = run / FILE
    write_text(place, json.dumps({**asdict(confidence), "model": _fingerprint(model)}, indent=2) + "\n")
    return place


def stored(run: Path, model: Seq2Seq) -> Confidence | None:
    """The counts for this model; ``None`` without any, or if the run has been trained on since.

    Raises:
        UserError: if the file is damaged.
    """
    place = run / FILE
    if not place.exists():
        return None
    try:
        found = TypeAdapter(Confidence).validate_python(read_json(place, root=run, limit=1 << 20))
    except ValidationError as error:
        raise UserError(
            f"{place}: damaged ({shorten(error)}); delete it, or count again with translate confidence"
        ) from error
    return replace(found, model="") if found.model == _fingerprint(model) else None


def _band(probability: float) -> int:
    return max(index for index, edge in enumerate(EDGES[:-1]) if probability >= edge or not index)


def _translated(
    translator: Translator, sources: Sequence[str], references: Sequence[str]
) -> "list[tuple[list[float], list[str], list[str]]]":
    """For each pair the probabilities and the words of its translation, and the words of the reference."""
    results = translator.translate(sources)
    target = translator.tokenizers.target
    pieces = translator.begin(sources, alignments=True).pieces
    pairs = [
        EncodedPair.of(source, target.decode_words(target.ids(result.tokens))[1])
        for source, result in zip(pieces, results, strict=True)
    ]
    ids = [pair.target_ids for pair in pairs]
    with torch.no_grad():
        scored = piece_probabilities([translator.model], [[source.ids for source in pieces]], ids)
    wanted = [target.encode_words(reference).words for reference in references]
    return [
        (word_probabilities(pair, score.pieces), pair.target_words, [word.text for word in reference])
        for pair, score, reference in zip(pairs, scored, wanted, strict=True)
    ]


def _fingerprint(model: Seq2Seq) -> str:
    """A sum by which the same weights are known again, from a few values of each parameter."""
    found = hashlib.sha256()
    for name, values in sorted(model.state_dict().items()):
        found.update(name.encode())
        found.update(values.flatten()[:SAMPLED].float().cpu().numpy().tobytes())
    return found.hexdigest()


def _log_probabilities(
    models: Sequence[Seq2Seq], sources: Sequence[Sequence[Sequence[int]]], targets: Sequence[Sequence[int]]
) -> Tensor:
    """Log-probabilities (B, T + 1, V) of the next piece after each of ``targets``."""
    target_in, _ = pad([[BOS, *ids] for ids in targets])
    logs = []
    for reader in read_sources(models, sources):
        encoded = reader.model.encode(reader.source, reader.source_mask)
        hidden = reader.model.read_target(encoded, target_in.to(reader.source.device))
        logs.append(torch.log_softmax(reader.model.logits(hidden).float(), dim=-1))
    return logs[0] if len(logs) == 1 else torch.stack(logs).logsumexp(0) - math.log(len(logs))
