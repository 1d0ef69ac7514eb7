"""The page of a picture as a person meets it: pointing at words and at places."""

import re
from pathlib import Path

import numpy as np
import pytest

from tests.figures.browser import Browser, in_chromium
from translate.corpora.images.patches import Image
from translate.figures.image_regions import ImagePage

pytestmark = in_chromium

WORDS = ["a", "red", "star"]
# Two rows and three columns of patches, and a word beside them. "star" looks at the last place, "red" hardly
# anywhere in the picture, but nowhere more than there.
WEIGHTS = np.array(
    [[0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.4], [0, 0, 0, 0, 0, 0.02, 0.98], [0, 0, 0, 0.2, 0, 0.8, 0]]
)
OPACITY = "[...document.querySelectorAll('#target span')].map(word => word.style.backgroundColor)"
STATE = "document.getElementById('state').textContent"
LIGHT = """[...Array(6).keys()].map(place => {
  const [row, column] = [Math.floor(place / 3), place % 3];
  const area = document.getElementById("picture").getContext("2d");
  const part = area.getImageData(column * 4, row * 4, 4, 4).data;
  return part.reduce((sum, value) => sum + value, 0) / part.length;
})"""


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Browser:
    white = Image(np.full((8, 12, 3), 255, np.uint8), 4)
    page = ImagePage(white, ["rouge"], WORDS, WEIGHTS)
    browser.call("Emulation.clearDeviceMetricsOverride")
    browser.hover("body")
    browser.open(page.write(tmp_path / "a.html"))
    return browser


def opacities(browser: Browser) -> list[float]:
    found = [re.fullmatch(r"rgba\(255, 110, 0, ([0-9.]+)\)", each) for each in browser.run(OPACITY)]
    return [float(each[1]) if each else -1 for each in found]


def point_at(browser: Browser, row: int, column: int) -> None:
    box = browser.run(
        "(() => { const box = document.getElementById('picture').getBoundingClientRect();"
        "return [box.x, box.y, box.width, box.height]; })()"
    )
    x, y = box[0] + (column + 0.5) * box[2] / 3, box[1] + (row + 0.5) * box[3] / 2
    browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)


def test_a_word_lights_its_place(opened: Browser) -> None:
    assert min(opened.run(LIGHT)) == 255
    opened.hover("#target span:nth-child(3)")
    light = opened.run(LIGHT)
    assert np.argmax(light) == 5
    assert min(light) < 150
    assert opened.run(STATE) == "star: 100 % of the attention is on the picture"


def test_a_place_lights_words_by_their_weight(opened: Browser) -> None:
    point_at(opened, 1, 2)
    shown = opacities(opened)
    assert shown == pytest.approx([0.75 * weight / 0.8 for weight in (0.1, 0.02, 0.8)], abs=0.002)
    assert opened.run(STATE) == "row 2, column 3: star 80 %, a 10 %, red 2 %"
    point_at(opened, 1, 0)
    assert opened.run(STATE) == "row 2, column 1: star 20 %, a 10 %"
    assert not [event for event in opened.events if event["method"] == "Runtime.exceptionThrown"]
