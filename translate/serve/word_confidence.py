"""The probabilities of words, and how often words are right by them: counted, and stored with a run."""

import hashlib
import json
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import torch
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from translate.alignment.methods import word_log_probabilities
from translate.alignment.pairs import EncodedPair, pair_batches
from translate.config.names import shorten
from translate.errors import UserError
from translate.models import Seq2Seq
from translate.search.sources import Previous, read_sources
from translate.text.bounded import read_json
from translate.text.file_writing import write_text
from translate.text.tokenizer import BOS, EOS, PAD, UNK
from translate.translator import Translator

FILE = "confidence.json"
EDGES = (0.0, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)  # of the bands of probability
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
    """

    split: Annotated[str, Field(max_length=1000)]
    pairs: Count
    bands: Annotated[tuple[Band, ...], Field(min_length=1, max_length=100)]


def word_probabilities(
    models: Sequence[Seq2Seq], sources: Sequence[Sequence[Sequence[int]]], pairs: Sequence[EncodedPair]
) -> list[list[float]]:
    """The probability of each target word, given the source and the words before: that of all its pieces.

    Args:
        models: one or an ensemble, whose mean it is.
        sources: for every model, the ids of all sentences without their ends.
        pairs: the sentences as the first model reads them, and their translations.
    """
    found: list[list[float]] = [[] for _ in pairs]
    for batch in pair_batches(pairs, None, models[0].output_weight.device):
        read = read_sources(models, [[side[index] for index in batch.indices] for side in sources])
        shares = [
            word_log_probabilities(*reader, batch.target_in, batch.target_words).exp() for reader in read
        ]
        for index, row in zip(batch.indices, torch.stack(shares).mean(0).tolist(), strict=True):
            found[index] = row[: len(pairs[index].target_words)]
    return found


def next_pieces(
    models: Sequence[Seq2Seq], source: Sequence[Sequence[int]], prefix: Sequence[int], count: int
) -> list[int]:
    """The most probable pieces after a prefix of the translation, without those that are no text."""
    shares = []
    for model, ids, mask in read_sources(models, [[side] for side in source]):
        states = model(ids, mask, ids.new_tensor([[BOS, *prefix]]))
        shares.append(model.logits(states[0, -1]).float().softmax(dim=-1))
    mean = torch.stack(shares).mean(0)
    mean[[PAD, UNK, BOS, EOS]] = 0
    values, ids = mean.topk(min(count, len(mean)))
    return list(map(int, ids[values > 0].tolist()))


def count(
    translator: Translator,
    sources: Sequence[str],
    references: Sequence[str],
    split: str,
    context: Previous | None = None,
) -> Confidence:
    """Translate the sources and count which words stand in the references.

    A word is right if the reference has it, too; each word of the reference makes one word right. So a good
    word that the reference does not have counts as wrong.
    """
    words, right = [0] * (len(EDGES) - 1), [0] * (len(EDGES) - 1)
    results, target = translator.translate(sources, context=context), translator.tokenizers.target
    call = replace(translator, warnings=Counter()).begin(sources, alignments=True, context=context)
    pairs = [call.pair(index, target.ids(result.tokens)) for index, result in enumerate(results)]
    with torch.no_grad():
        shares = word_probabilities([translator.model], call.sources, pairs)
    for pair, probabilities, reference in zip(pairs, shares, references, strict=True):
        left = Counter(word.text for word in target.encode_words(reference).words)
        for word, probability in zip(pair.target_words, probabilities, strict=True):
            band = bisect_right(EDGES[1:-1], probability)
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
    values = read_json(place, root=run, limit=1 << 20)
    counted_for = values.pop("model", None) if isinstance(values, dict) else None
    try:
        found = TypeAdapter(Confidence).validate_python(values)
    except ValidationError as error:
        raise UserError(
            f"{place}: damaged ({shorten(error)}); delete it, or count again with translate confidence"
        ) from error
    return found if counted_for == _fingerprint(model) else None


def _fingerprint(model: Seq2Seq) -> str:
    """A sum by which the same weights are known again, from a few values of each parameter."""
    found = hashlib.sha256()
    for name, values in sorted(model.state_dict().items()):
        found.update(name.encode())
        found.update(values.flatten()[:SAMPLED].float().cpu().numpy().tobytes())
    return found.hexdigest()
