import re
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.image import imread

from translate.alignment.alignment import AlignmentChoice
from translate.alignment.methods import align, attention_heads
from translate.alignment.pairs import EncodedPair
from translate.errors import UserError
from translate.figures.heatmap import draw_heads
from translate.figures.matrix import Style

SOURCE, TARGET = ["I", "love", "you"], ["je", "t'"]
WEIGHTS = np.random.default_rng(3).dirichlet(np.ones(3), size=(5, 7, 2))  # (layers, heads, T, S)


@pytest.mark.parametrize("shift", [0, 1])
def test_every_head_is_the_alignment_that_this_head_alone_gives(fake_model, shift):
    generator = np.random.default_rng(1)
    planted = generator.dirichlet(np.ones(4), size=(2, 3, 4)).astype(np.float32)  # S = 4, <s> y1 y2 y3
    model = fake_model(lambda source_ids, target_ids: planted, 2, 3)
    pair = EncodedPair([7, 8, 9, 3], [5, 6, 7], [0, 0, 1, -1], [0, 1, 1], ["ab", "c"], ["d", "ef"])
    found = attention_heads(model, pair, shift)
    assert found.shape == (2, 3, 2, 2)
    for layer, head in np.ndindex(2, 3):
        (expected,) = align(model, [pair], AlignmentChoice(layer, (head,), shift))
        np.testing.assert_allclose(found[layer, head], expected.weights, atol=1e-6)


@pytest.mark.slow
def test_pixels_of_every_panel_are_its_weights(tmp_path):
    picture = draw_heads(WEIGHTS, SOURCE, TARGET, tmp_path / "a.png", chosen=(2, [0, 6]), style=Style("gray"))
    pixels = np.round(imread(picture)[..., :3] * 255).astype(int)
    shown = set(pixels[np.ptp(pixels, axis=-1) == 0][:, 0].tolist())  # of pixels without a colour
    wanted = {round(255 * int(weight * 256 if weight < 1 else 255) / 255) for weight in WEIGHTS.ravel()}
    assert [value for value in wanted if not shown & {value - 1, value, value + 1}] == []
    for edge in (pixels[:8], pixels[-8:], pixels[:, :8], pixels[:, -8:]):
        assert (edge == 255).all()


@pytest.mark.slow
def test_layers_heads_words_and_frames(tmp_path):
    path = draw_heads(WEIGHTS, SOURCE, TARGET, tmp_path / "a.svg", chosen=(2, [0, 6]), title="mine")
    root = ElementTree.fromstring(path.read_bytes())
    texts = ["".join(one.itertext()) for one in root.iter("{http://www.w3.org/2000/svg}text")]
    title = ("mine: attention by layer and head", "in the frame: heads used for alignments")
    for name in ("layer 0", "layer 4", "head 0", "head 6", "weight", *title):
        assert texts.count(name) == 1
    assert texts.count("love") == 7  # above the first layer
    assert texts.count("t'") == 5  # beside the first head
    svg = path.read_text()
    assert len(re.findall(r"stroke: #ff7f0e", svg)) == 2 * 4  # two panels of four sides
    assert (
        draw_heads(WEIGHTS, SOURCE, TARGET, tmp_path / "b.svg", chosen=(2, [0, 6]), title="mine").read_text()
        == svg
    )


def test_wrong_input(tmp_path):
    with pytest.raises(UserError, match="nothing to draw"):
        draw_heads(np.zeros((2, 2, 0, 3)), SOURCE, [], tmp_path / "a.png")
