"""Regions of words, pointing and intersection over union, against values computed by hand."""

import numpy as np
import pytest

from translate.alignment.alignment import Alignment
from translate.alignment.regions import alignment_scores, region_scores, regions, words_alone
from translate.corpora.images.patches import Image
from translate.errors import UserError
from translate.links.links import parse_gold

PIXELS = np.random.default_rng(1).integers(0, 256, (8, 12, 3), dtype=np.uint8)


def alignment(weights, words=()):
    picture = Image(PIXELS, 4)  # 2 rows, 3 columns
    names = [f"{row},{column}" for row in (1, 2) for column in (1, 2, 3)]
    targets = [f"w{i}" for i in range(len(weights))]
    return Alignment([*names, *words], targets, np.array(weights), method="attention", picture=picture)


def gold(line):
    return parse_gold(line, where="test")


def test_pointing_and_iou_by_hand():
    found = alignment([[0.4, 0.3, 0, 0, 0.3, 0], [0, 0, 0.1, 0, 0, 0.9], [0.2, 0.2, 0.2, 0.2, 0.1, 0.1]])
    # word 0: points at patch 0, inside; its region {0, 1, 4} and gold {0, 1}: 2 / 3
    # word 1: points at patch 5, outside; {5} and {2}: 0
    # word 2: only possible links, so it is not counted
    scores = region_scores([found], [gold("0-0 1p0 2-1 3p2")])
    assert scores["pointed_words"] == 2
    assert scores["pointing"] == pytest.approx(0.5)
    assert scores["iou"] == pytest.approx((2 / 3 + 0) / 2)


def test_words_beside_the_picture_have_their_own_scores():
    found = alignment([[0.1, 0, 0, 0, 0, 0.2, 0.6, 0.1], [0, 0.3, 0, 0, 0, 0, 0.0, 0.7]], ["it", "is"])
    links = gold("5-0 6-0 6-1")
    scores = alignment_scores([found], [links])
    assert scores["pointing"] == 1.0
    assert scores["pointed_words"] == 1
    assert scores["precision"] == 0.5  # it-w0 is right, is-w1 is wrong
    assert scores["recall"] == 0.5
    alone = words_alone(found)
    assert alone.source_words == ["it", "is"]
    np.testing.assert_allclose(alone.weights, np.array([[6 / 7, 1 / 7], [0, 1]]), rtol=1e-6)
    np.testing.assert_allclose(
        regions(found), np.array([[[1 / 3, 0, 0], [0, 0, 2 / 3]], [[0, 1, 0], [0, 0, 0]]]), rtol=1e-6
    )


def test_captions_have_no_aer_and_sentences_no_pointing():
    captions = alignment_scores([alignment([[1, 0, 0, 0, 0, 0]])], [gold("0-0")])
    assert set(captions) == {"pointing", "iou", "pointed_words"}
    plain = Alignment(["a", "b"], ["c"], np.array([[0.2, 0.8]]))
    assert set(alignment_scores([plain], [gold("1-0")])) == {"aer", "precision", "recall", "f1"}


def test_gold_outside_the_words_is_an_error():
    with pytest.raises(UserError, match="pair 1: the gold link 6-0 lies outside its 6 source words"):
        region_scores([alignment([[1, 0, 0, 0, 0, 0]])], [gold("6-0")])


def test_regions_are_drawn_and_take_nothing_of_a_matrix(tmp_path):
    found = alignment([[1, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0.5, 0, 0, 0.5]], ["it"])
    assert found.heatmap(tmp_path / "a.png", title="a scene").stat().st_size > 1000
    with pytest.raises(UserError, match="takes no values, gold links or style"):
        found.heatmap(tmp_path / "a.png", values=True)


def test_a_page_holds_picture_words_and_weights_and_only_its_own_script(tmp_path):
    weights = [[1, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0.5, 0, 0, 0.5]]
    text = alignment(weights, ["</script><b>"]).heatmap(tmp_path / "a.html").read_text()
    assert "{{" not in text.replace("${{", "")
    assert "</script><b>" not in text
    assert text.count("<script>") == 1
    import base64
    import json
    import re

    data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1])
    assert base64.b64decode(data["pixels"]) == PIXELS.tobytes()
    assert (data["size"], data["grid"]) == ([8, 12], [2, 3])
    assert data["picture"] == [row[:6] for row in weights]
    assert data["beside"] == [[0], [0.5]]
    assert data["source"] == ["</script><b>"]
    assert "default-src 'none'" in text
