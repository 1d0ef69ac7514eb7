"""How often words are right, by the probability that the model gave them: counted, and stored with a run."""

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import torch
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from translate.alignment.pairs import EncodedPair
from translate.config.names import shorten
from translate.errors import UserError
from translate.models import Seq2Seq
from translate.serve.probabilities import piece_probabilities, word_probabilities
from translate.text.aside import write_text
from translate.text.bounded import read_json
from translate.translator import Translator

FILE = "confidence.json"
EDGES = (0.0, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)  # of the bands of probability
SAMPLED = 8  # values of each parameter by which a model is known again


@dataclass(frozen=True)
class Band:
    """Words to which the model gave a probability from ``start`` to ``end``.

    Attributes:
        words: how many there were.
        right: how many of them stand in the reference.
    """

    start: float
    end: float
    words: int
    right: int


@dataclass(frozen=True)
class Confidence:
    """What was counted on sentence pairs.

    Attributes:
        split: where the pairs come from.
        pairs: how many they are.
        bands: by probability, from 0 to 1 without gaps.
    """

    split: str
    pairs: int
    bands: tuple[Band, ...]

    def described(self) -> dict[str, object]:
        """What a client may know of it."""
        return asdict(self)


Count = Annotated[int, Field(ge=0, le=10**12)]
Share = Annotated[float, Field(ge=0, le=1)]


class _StoredBand(BaseModel):
    model_config = ConfigDict(extra="forbid")

    start: Share
    end: Share
    words: Count
    right: Count


class _Stored(BaseModel):
    model_config = ConfigDict(extra="forbid")

    model: Annotated[str, Field(max_length=64)]
    split: Annotated[str, Field(max_length=1000)]
    pairs: Count
    bands: Annotated[list[_StoredBand], Field(min_length=1, max_length=100)]


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
    bands = (Band(*each) for each in zip(EDGES[:-1], EDGES[1:], words, right, strict=True))
    return Confidence(split, len(sources), tuple(bands))


def store(run: Path, confidence: Confidence, model: Seq2Seq) -> Path:
    """Write what was counted beside the run's other files."""
    place = run / FILE
    write_text(place, json.dumps({"model": _fingerprint(model), **asdict(confidence)}, indent=2) + "\n")
    return place


def stored(run: Path, model: Seq2Seq) -> Confidence | None:
    """What was counted for this model; ``None`` if nothing was, or if the run has been trained on since.

    Raises:
        UserError: if the file is damaged.
    """
    place = run / FILE
    if not place.exists():
        return None
    try:
        found = _Stored.model_validate(read_json(place, root=run, limit=1 << 20))
    except ValidationError as error:
        raise UserError(
            f"{place}: damaged ({shorten(error)}); delete it, or count again with translate confidence"
        ) from error
    if found.model != _fingerprint(model):
        return None
    bands = tuple(Band(**each.model_dump()) for each in found.bands)
    return Confidence(found.split, found.pairs, bands)


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
        EncodedPair.of(source, target.decode_words(target.ids(each.tokens))[1])
        for source, each in zip(pieces, results, strict=True)
    ]
    ids = [each.target_ids for each in pairs]
    with torch.no_grad():
        scored = piece_probabilities([translator.model], [[each.ids for each in pieces]], ids)
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
