"""The page as a person meets it: with a mouse, a keyboard, a screen reader, on paper, in the dark."""

import re
from pathlib import Path

import numpy as np
import pytest

from tests.figures.browser import Browser, in_chromium
from tests.figures.test_page import HOSTILE
from translate.figures.matrix import label
from translate.figures.page import Alternative, Page
from translate.links.links import parse_gold

pytestmark = in_chromium

SOURCE, TARGET = ["I", "love", "you"], ["je", "t'", "aime", "."]
WEIGHTS = np.array([[0.9, 0.1, 0], [0.05, 0, 0.95], [0, 0.8, 0.2], [0, 0, 0]])
HEADS = np.zeros((2, 3, 4, 3))  # (layers, heads, T, S): head h of layer l looks at word (l + h) % 3 alone
for layer, head in np.ndindex(2, 3):
    HEADS[layer, head, :, (layer + head) % 3] = 1
SELECTED = "[...document.querySelectorAll('[aria-selected=true]')].map(word => word.textContent)"
READING = "document.getElementById('reading').textContent"
SHARES = "[...document.querySelectorAll('#{} .word')].map(word => word.style.getPropertyValue('--w'))"


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    views = {"alignment": WEIGHTS, "attention": HEADS, "erasure": WEIGHTS}
    first = Alternative(TARGET, views, parse_gold("0-0 2-1 1p2", where="x"), -0.25, {1: "erasure says I"})
    other = {"alignment": WEIGHTS[1:2], "attention": HEADS[:, :, :1], "erasure": WEIGHTS[1:2]}
    second = Alternative(["toi"], other, None, -1.5)
    page = Page(SOURCE, [first, second], chosen=(1, (2,)), languages=("en", "fr"))
    return page.write(tmp_path_factory.mktemp("page") / "a.html")


@pytest.fixture(autouse=True)
def plain(browser: Browser) -> None:
    """A screen of the usual size, in light colours, whatever the test before has asked for."""
    browser.call("Emulation.setEmulatedMedia", media="", features=[])
    browser.call("Emulation.clearDeviceMetricsOverride")


@pytest.fixture
def opened(browser: Browser, path: Path) -> Browser:
    browser.hover("body")
    browser.open(path)
    return browser


def mistakes(browser: Browser) -> list[object]:
    """Errors, dialogs and requests that the page has made."""
    found = []
    for event in browser.events:
        method, given = event["method"], event["params"]
        if method in ("Runtime.exceptionThrown", "Page.javascriptDialogOpening"):
            found.append(given)
        elif method == "Log.entryAdded" and given["entry"]["level"] == "error":
            found.append(given["entry"]["text"])
        elif method == "Network.requestWillBeSent" and not given["request"]["url"].startswith("file:"):
            found.append(given["request"]["url"])
    return found


def shares(browser: Browser, side: str) -> list[float]:
    return [float(share or -1) for share in browser.run(SHARES.format(side))]


@pytest.mark.slow
def test_a_word_under_the_mouse_lights_what_it_looks_at(opened: Browser) -> None:
    assert opened.run(READING) == ""
    opened.hover("#target .word:nth-child(3)")
    assert opened.run(READING) == "aime looks at love 80 %, you 20 %; gold: love"
    np.testing.assert_allclose(shares(opened, "source"), WEIGHTS[2], atol=1e-4)
    assert opened.run("document.querySelector('tbody tr:nth-child(3)').className") == "lit"
    opened.hover("#source .word:nth-child(3)")
    assert opened.run(READING) == "you is looked at by t' 95 %, aime 20 %; gold: t'"
    np.testing.assert_allclose(shares(opened, "target"), WEIGHTS[:, 2], atol=1e-4)
    opened.hover("#target .word:nth-child(2)")
    assert opened.run(READING) == "t' looks at you 95 %, I 5 %; gold: you; erasure says I"
    opened.hover("#target .word:nth-child(4)")
    assert opened.run(READING) == ". looks at nothing"
    opened.hover("tbody tr:nth-child(2) td:nth-child(4)")
    assert opened.run(READING) == "t' looks at you: 95 %, gold: sure"
    opened.hover("h1")
    assert opened.run(READING) == ""
    assert mistakes(opened) == []


def test_a_click_keeps_a_word_until_escape(opened: Browser) -> None:
    opened.click("#target .word:nth-child(1)")
    opened.hover("h1")
    assert opened.run(READING).startswith("je looks at I 90 %")
    assert opened.run("location.hash") == "#target=0"
    opened.hover("#target .word:nth-child(3)")
    assert opened.run(READING).startswith("aime looks at")
    opened.hover("h1")
    assert opened.run(READING).startswith("je looks at")
    opened.press("Escape")
    assert opened.run(READING) == ""


def test_the_keyboard_reaches_everything(opened: Browser) -> None:
    def focused() -> str:
        return opened.run(
            "(e => e.matches('.word') ? e.textContent : e.name || e.getAttribute('aria-label') || e.tagName)"
            "(document.activeElement)"
        )

    stops = []
    for _ in range(7):
        opened.press("Tab")
        stops.append(focused())
    assert stops[:4] == ["I", "je", "method", "alternative"]
    assert "Table of weights" in stops
    opened.run("document.querySelector('#source .word').focus()")
    opened.press("ArrowRight")
    assert (focused(), opened.run(READING)) == ("love", "love is looked at by aime 80 %, je 10 %; gold: aime")
    opened.press("ArrowDown")  # along the strongest weight
    assert (focused(), opened.run(SELECTED)) == ("aime", ["aime"])
    opened.press("End")
    assert focused() == "."
    opened.press("ArrowRight")
    assert focused() == "."
    opened.press("Home")
    opened.press("ArrowUp")
    assert focused() == "I"
    opened.press("Enter")
    opened.run("document.activeElement.blur()")
    assert opened.run(READING).startswith("I is looked at by je 90 %")


def test_methods_heads_and_alternatives_are_picked(opened: Browser) -> None:
    assert opened.run("document.getElementById('heads').hidden")
    opened.click("#methods label:nth-child(2) input")
    assert not opened.run("document.getElementById('heads').hidden")
    opened.hover("#target .word:nth-child(1)")
    assert opened.run(READING) == "je looks at I 100 %; gold: I"  # the calibrated head: (1 + 2) % 3 = 0
    checked = "document.querySelector('#heads input:checked').getAttribute('aria-label')"
    assert opened.run(checked) == "layer 1, head 2, chosen by calibration"
    opened.click("input[aria-label='layer 0, head 1']")
    opened.hover("#target .word:nth-child(1)")
    assert opened.run(READING) == "je looks at love 100 %; gold: I"
    opened.press("ArrowRight")  # radios move by themselves
    opened.press("ArrowRight")
    opened.hover("#target .word:nth-child(1)")
    assert opened.run(READING) == "je looks at I 33 %, love 33 %, you 33 %; gold: I"
    assert opened.run("location.hash") == "#view=attention&layer=0&head=mean"
    opened.click("#alternatives label:nth-child(2) input")
    assert opened.run("[...document.querySelectorAll('tbody th')].map(one => one.textContent)") == ["toi"]
    assert opened.run("getComputedStyle(document.querySelector('.gold-legend')).display") == "none"
    assert mistakes(opened) == []


def test_gold_and_values_are_switched(opened: Browser) -> None:
    marked = "[...document.querySelectorAll('td.sure, td.possible')].map(cell => cell.className)"
    assert [name.replace("deep ", "") for name in opened.run(marked)] == ["sure", "sure", "possible"]
    opened.click("#show-gold")
    assert opened.run(marked) == []
    width = "document.querySelector('.value').getBoundingClientRect().width"
    assert opened.run(width) <= 1
    opened.click("#show-values")
    assert opened.run(width) > 5
    assert opened.run("document.querySelector('tbody td').textContent") == "90"


@pytest.mark.slow
def test_an_address_opens_a_state(opened: Browser, path: Path) -> None:
    opened.open(path, "#view=attention&layer=0&head=2&source=2")
    assert opened.run(READING).startswith("you is looked at by je 100 %")
    opened.open(path, "#view=erasure&target=0")
    assert opened.run(READING).startswith("je depends on I 90 %")
    opened.open(path, "#view=erasure&source=0")
    assert opened.run(READING).startswith("I matters to je 90 %")
    opened.open(path, "#view=nonsense&layer=99&target=-1&alternative=x")
    assert opened.run(READING) == ""
    assert mistakes(opened) == []


def test_a_screen_reader_finds_names_and_roles(opened: Browser) -> None:
    nodes = opened.call("Accessibility.getFullAXTree")["nodes"]
    seen = {
        (node["role"]["value"], node.get("name", {}).get("value", "")) for node in nodes if "role" in node
    }
    for expected in (
        ("heading", "Word alignment"),
        ("listbox", "Source words"),
        ("listbox", "Target words"),
        ("option", "aime"),
        ("radio", "attention"),
        ("checkbox", "gold links"),
        ("columnheader", "love"),
        ("rowheader", "t'"),
    ):
        assert expected in seen, expected
    assert {"status", "table"} <= {role for role, _ in seen}
    assert opened.run("document.getElementById('target').lang") == "fr"


@pytest.mark.slow
def test_no_word_is_ever_run(browser: Browser, tmp_path: Path) -> None:
    words = [*HOSTILE, "<svg onload=boom()>", "javascript:boom()"]
    T = len(words)
    views = {"<img src=x onerror=boom()>": np.full((T, T), 1 / T), "b": np.full((2, 2, T, T), 1 / T)}
    doubtful = {1: "<img src=x onerror=boom()>"}
    page = Page(
        words, [Alternative(words, views, None, 0.5, doubtful), Alternative(words, views)],
        languages=('"><script>boom()</script>', "</script>"), title="</title><script>boom()</script>",
        note="<img src=x onerror=boom()>",
    )  # fmt: skip
    text = page.html()
    for name, content in (
        ("with.html", text),
        # Without the policy that would stop them, so that the escaping itself is tested.
        ("without.html", re.sub("<meta http-equiv=.*?>", "", text)),
    ):
        (tmp_path / name).write_text(content, encoding="utf-8")
        browser.open(tmp_path / name)
        browser.run("window.ran = 0; window.boom = () => { window.ran += 1; }; 0")
        for selector in ("#target .word:nth-child(2)", "tbody td", "#alternatives label:nth-child(2) input"):
            browser.click(selector)
        browser.click("#methods label:nth-child(2) input")
        assert browser.run("window.ran") == 0
        assert browser.run("document.querySelectorAll('img, script:not([type]), svg').length") == 2
        shown = browser.run("[...document.querySelectorAll('#source .word')].map(one => one.textContent)")
        assert shown == [label(word).strip() or "␣" for word in words]
        assert mistakes(browser) == []


def test_right_to_left(browser: Browser, tmp_path: Path) -> None:
    words = ["שלום", "עולם", "יפה"]
    page = Page(words, [Alternative(["a", "b"], {"x": np.eye(2, 3)})])
    browser.open(page.write(tmp_path / "a.html"))
    lefts = browser.run(
        "['#source .word', 'thead th', '#target .word'].map(name =>"
        "[...document.querySelectorAll(name)].map(one => one.getBoundingClientRect().left))"
    )
    assert lefts[0] == sorted(lefts[0], reverse=True)
    assert lefts[1] == sorted(lefts[1], reverse=True)
    assert lefts[2] == sorted(lefts[2])
    browser.run("document.querySelector('#source .word').focus()")
    browser.press("ArrowLeft")
    assert browser.run("document.activeElement.textContent") == "עולם"
    browser.press("ArrowRight")
    assert browser.run("document.activeElement.textContent") == "שלום"
