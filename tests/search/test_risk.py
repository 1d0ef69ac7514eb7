"""Expected chrF against sacrebleu, sentence by sentence."""

import numpy as np
import pytest
from sacrebleu.metrics import CHRF

from translate.search.sampling import expected_chrf


def test_expected_chrf_is_the_mean_of_sacrebleus() -> None:
    texts = ["Ein Mann schläft .", "Ein Mann schläft", "", "Der Mann", "ab", "Ein Mann schläft .", "  a "]
    metric = CHRF()
    expected = [np.mean([metric.sentence_score(one, [other]).score for other in texts]) for one in texts]
    assert expected_chrf(texts) == pytest.approx(expected, abs=1e-6)
