import math

import pytest
import torch

from translate.models.embedding import embeddings, rotate, sinusoids


@pytest.mark.parametrize("width", [2, 7, 12])
def test_sinusoids_have_wave_lengths_from_two_pi_to_ten_thousand_times_that(width: int) -> None:
    """Vaswani et al. 2017, 3.5: the wave lengths are a geometric progression; sines, then cosines."""
    start, length, half = 3, 5, (width + 1) // 2
    found = sinusoids(start, length, width, torch.device("cpu"))
    assert found.shape == (length, width)
    waves = [2 * math.pi * 10_000 ** (k / max(1, half - 1)) for k in range(half)]
    for row in range(length):
        angles = [2 * math.pi * (start + row) / wave for wave in waves]
        expected = [math.sin(angle) for angle in angles] + [math.cos(angle) for angle in angles]
        torch.testing.assert_close(found[row], torch.tensor(expected[:width]), rtol=0, atol=1e-5)


def test_rotation_makes_scores_depend_on_distance_alone() -> None:
    torch.manual_seed(0)
    query, key = torch.randn(1, 1, 1, 14), torch.randn(1, 1, 1, 14)

    def score(query_place: int, key_place: int) -> float:
        return float((rotate(query, query_place) * rotate(key, key_place)).sum())

    for distance in (-7, 0, 3):
        assert score(11 + distance, 11) == pytest.approx(score(29 + distance, 29), abs=1e-4)
    assert abs(score(3, 0) - score(0, 3)) > 1e-2
    assert abs(score(3, 0) - score(5, 0)) > 1e-2


def test_ties() -> None:
    source, target = embeddings(19, 23, 5, tie="none")
    assert (source.weight.shape, target.weight.shape) == ((19, 5), (23, 5))
    source, target = embeddings(23, 23, 5, tie="all")
    assert source is target
    source, target = embeddings(23, 23, 5, tie="target")
    assert source is not target
    with pytest.raises(ValueError, match=r"tokenizer.shared=true"):
        embeddings(19, 23, 5, tie="all")
