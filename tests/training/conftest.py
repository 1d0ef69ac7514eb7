import numpy as np
import pytest

from tests.training.steps import LENGTHS
from translate.corpora.encoded import EncodedCorpus, Ragged


@pytest.fixture
def corpus() -> EncodedCorpus:
    generator = np.random.default_rng(3)
    sides = [
        [generator.integers(4, 19, size).tolist() for size in side] for side in zip(*LENGTHS, strict=True)
    ]
    return EncodedCorpus(Ragged.of(sides[0]), Ragged.of(sides[1]))
