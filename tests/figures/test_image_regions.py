"""Light over a picture: where it lies, and that nothing is brighter than the picture."""

import numpy as np
import pytest

from translate.alignment.alignment import Alignment
from translate.corpora.images.patches import Image
from translate.errors import UserError
from translate.figures.image_regions import glow

WHITE = Image(np.full((8, 12, 3), 255, np.uint8), 4)


def test_the_light_lies_where_the_weight_is():
    weights = np.zeros((2, 3))
    weights[1, 2] = 0.2
    lit = glow(WHITE, weights).mean(2)
    assert lit.shape == (8, 12)
    assert lit[6, 10] > 2 * lit[1, 1]
    assert np.unravel_index(lit.argmax(), lit.shape) in [(y, x) for y in range(5, 8) for x in range(9, 12)]


def test_a_word_that_looked_nowhere_leaves_the_picture_dim():
    lit = glow(WHITE, np.zeros((2, 3)))
    np.testing.assert_allclose(lit, 0.3)


def test_no_words(tmp_path):
    with pytest.raises(UserError, match="no target words"):
        Alignment(["1,1"] * 6, [], np.zeros((0, 6)), picture=WHITE).heatmap(tmp_path / "a.png")
