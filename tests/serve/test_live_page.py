"""The live page as a person meets it: typing, pointing, choosing, with keys, on a phone, in the dark."""

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.figures.browser import Browser, in_chromium
from tests.serve import node
from tests.serve.stand_in import StandIn
from translate.serve.live_page import HEADERS, live_files

TEXT = "I love you . the green apples ."
TRANSLATION = "document.getElementById('translation').textContent"
STATUS = "document.getElementById('status').textContent"
READING = "document.getElementById('reading').textContent"
OTHERS = "[...document.querySelectorAll('#others button')].map(one => one.firstChild.textContent)"
SHARES = "[...document.querySelectorAll('#{} .piece')].map(one => Number(one.style.getPropertyValue('--w')))"
HINT = "document.getElementById('method-hint').textContent"
UNKNOWN = "some characters that the vocabulary does not have"
SECOND = "#translation .piece:nth-of-type(2)"


@pytest.fixture(scope="module")
def server() -> Iterator[StandIn]:
    one = StandIn()
    yield one
    one.shutdown()
    one.server_close()


@pytest.fixture
def page(browser: Browser, server: StandIn) -> Browser:
    """The page, open without a text."""
    browser.call("Emulation.setEmulatedMedia", media="", features=[])
    browser.call("Emulation.clearDeviceMetricsOverride")
    server.refusal = None
    visit(browser, server)
    return browser


def visit(browser: Browser, server: StandIn, fragment: str = "") -> None:
    server.asked.clear()
    browser.call("Page.navigate", url="about:blank")
    browser.events.clear()
    browser.call("Page.navigate", url=server.address + fragment)
    until(browser, "document.querySelectorAll('#model option').length", 2)


def until(browser: Browser, script: str, expected: Any) -> None:
    """Wait for a value of the page."""
    deadline = time.monotonic() + 30
    found = None
    while time.monotonic() < deadline:
        found = browser.run(f"(() => {{ try {{ return {script}; }} catch {{ return null; }} }})()")
        if found == expected:
            return
        time.sleep(0.05)
    raise AssertionError(f"{script} is {found!r}, not {expected!r}")


def type_text(browser: Browser, text: str) -> None:
    browser.run("document.getElementById('text').focus(); document.getElementById('text').select()")
    browser.call("Input.insertText", text=text)


def mistakes(browser: Browser) -> list[Any]:
    """Errors that the page has made, what its policy has stopped, and requests to other servers."""
    found: list[Any] = []
    for event in browser.events:
        method, given = event["method"], event["params"]
        if method in ("Runtime.exceptionThrown", "Page.javascriptDialogOpening"):
            found.append(given)
        elif method == "Log.entryAdded" and given["entry"]["level"] == "error":
            found.append(given["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            url = given["request"]["url"]
            if not url.startswith(("http://127.0.0.1:", "data:", "about:", "blob:", "file:")):
                found.append(url)
    return found


def test_the_policy_is_strict() -> None:
    policy = dict(part.strip().split(" ", 1) for part in HEADERS["Content-Security-Policy"].split(";"))
    assert policy["default-src"] == policy["form-action"] == policy["base-uri"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert not any("unsafe" in each or "http" in each or "*" in each for each in policy.values())


def test_every_file_that_the_page_asks_for_is_there() -> None:
    files = {path: file.content.decode() for path, file in live_files().items()}
    for path, text in files.items():
        for name in re.findall(r' from "\./([\w.]+)"', text):
            assert f"/assets/{name}" in files, (path, name)
    for word in ("assets/page.css", "assets/live.css", "assets/live.js"):
        assert f'"{word}"' in files["/"]
    assert "<style" not in files["/"]
    assert "onclick" not in files["/"]


@in_chromium
def test_a_text_is_translated_as_one_types(page: Browser, server: StandIn) -> None:
    page.run("""for (const part of ["I", "I love", "I love you"]) {
      document.getElementById("text").value = part;
      document.getElementById("text").dispatchEvent(new Event("input"));
    }""")
    until(page, TRANSLATION, "je aime toi")
    assert [body["text"] for body in server.asked] == ["I love you"]  # the others were outdated
    type_text(page, "  \n")
    until(page, TRANSLATION, "")
    assert page.run("document.getElementById('copy').disabled") is True
    assert mistakes(page) == []


@in_chromium
def test_an_outdated_answer_is_never_shown(page: Browser, server: StandIn) -> None:
    server.hold.clear()
    type_text(page, "apples")
    until(page, "document.getElementById('translation').getAttribute('aria-busy')", "true")
    type_text(page, "I love")
    server.hold.set()
    until(page, TRANSLATION, "je aime")
    time.sleep(0.3)
    assert page.run(TRANSLATION) == "je aime"
    assert mistakes(page) == []


@in_chromium
@pytest.mark.parametrize("clicked", [SECOND, "#more"])
def test_a_click_on_what_is_outdated_does_not_stop_the_translation(
    page: Browser, server: StandIn, clicked: str
) -> None:
    type_text(page, "I love")
    until(page, TRANSLATION, "je aime")
    server.hold.clear()
    type_text(page, "the green apples")
    page.click(clicked)  # before a request is sent
    until(page, "document.getElementById('translation').getAttribute('aria-busy')", "true")
    page.click(clicked)
    server.hold.set()
    until(page, TRANSLATION, "les vertes pommes")
    assert mistakes(page) == []


@in_chromium
def test_a_click_on_a_word_does_not_stop_the_methods(page: Browser, server: StandIn) -> None:
    type_text(page, "I love you")
    until(page, TRANSLATION, "je aime toi")
    server.hold.clear()
    page.click("#more")
    until(page, STATUS, "Fetching methods and heads …")
    page.click(SECOND)
    server.hold.set()
    until(page, "document.querySelectorAll('#methods input').length", 3)
    assert mistakes(page) == []


@in_chromium
def test_pointing_at_a_word_lights_its_partners(page: Browser) -> None:
    type_text(page, TEXT)
    until(page, TRANSLATION, "je aime toi . les vertes pommes .")
    page.hover(SECOND)
    assert page.run(READING) == "aime looks at love 75 %, you 25 %"
    assert page.run(SHARES.format("under"))[:4] == [0, 0.75, 0.25, 0]
    page.hover("#under .piece:nth-of-type(3)")  # the field lies above it
    assert page.run(READING) == "you is looked at by toi 75 %, aime 25 %"
    assert page.run(SHARES.format("translation"))[:4] == [0, 0.25, 0.75, 0]
    thickness = page.run("getComputedStyle(document.querySelectorAll('#translation .piece')[2]).boxShadow")
    assert thickness.split("px")[1].strip() != "0"  # not by colour alone


@in_chromium
def test_a_word_is_chosen_and_the_rest_translated_anew(page: Browser, server: StandIn) -> None:
    type_text(page, TEXT)
    until(page, TRANSLATION, "je aime toi . les vertes pommes .")
    page.click(SECOND)
    until(page, OTHERS, ["aime", "adore", "<b>"])
    assert server.asked[-1]["alternatives_at"] == 1
    assert server.asked[-1]["text"] == "I love you ."
    page.click("#others li:nth-child(2) button")
    until(page, TRANSLATION, "je adore toi! . les vertes pommes .")
    assert server.asked[-1]["prefix"] == "je adore"
    address = page.run("location.hash")
    assert "start=0+je+adore" in address
    assert "target=1" in address
    visit(page, server, address)
    until(page, TRANSLATION, "je adore toi! . les vertes pommes .")
    until(page, READING, "adore looks at love 75 %, you 25 %")
    assert page.run("document.getElementById('text').value") == TEXT
    assert mistakes(page) == []


@in_chromium
def test_by_keys_alone(page: Browser) -> None:
    type_text(page, TEXT)
    until(page, TRANSLATION, "je aime toi . les vertes pommes .")
    page.run("document.querySelector('#translation .piece').focus()")
    page.press("ArrowRight")
    assert page.run(READING).startswith("aime looks at love 75 %")
    page.press("Enter")
    until(page, "document.activeElement.firstChild.textContent", "aime")
    page.press("Escape")
    assert page.run("document.activeElement.className").startswith("piece")
    assert page.run("document.getElementById('others').hidden") is True
    page.press("End")
    assert page.run("document.activeElement.textContent") == "."


@in_chromium
def test_links_heads_and_methods(page: Browser) -> None:
    type_text(page, "I love you")
    until(page, TRANSLATION, "je aime toi")
    assert page.run("document.getElementById('details').hidden") is True
    page.click("#more")
    until(page, "document.querySelectorAll('#methods input').length", 3)
    assert page.run("document.querySelectorAll('#ribbons path').length") == 5
    cells = "[...document.querySelectorAll('#matrix tbody td')].map(one => one.textContent)"
    assert page.run(cells) == ["75", "25", "0", "0", "75", "25", "0", "0", "100"]
    assert "calibration chose: layer 1, head 0" in page.run(HINT)
    assert "(shift 1)" in page.run(HINT)
    page.click("#methods label:nth-child(2) input")
    assert page.run("document.querySelectorAll('#heads canvas').length") == 6  # with means
    titles = page.run("[...document.querySelectorAll('#methods .choice')].map(one => one.title)")
    assert "when a source word is removed" in titles[2]
    type_text(page, "I love you .")
    until(page, "document.querySelectorAll('#matrix tbody tr').length", 4)
    assert mistakes(page) == []


@in_chromium
def test_warnings_are_told(page: Browser) -> None:
    type_text(page, "I love \U0001f600 .")
    until(page, "document.getElementById('warnings').textContent", UNKNOWN)
    type_text(page, "I love")
    until(page, "document.getElementById('warnings').textContent", "")
    assert mistakes(page) == []


@in_chromium
def test_confidence_says_what_it_means(page: Browser) -> None:
    type_text(page, "I love you")
    until(page, TRANSLATION, "je aime toi")
    assert page.run("document.getElementById('confidence-note').hidden") is True
    page.click("#show-confidence")
    note = page.run("document.getElementById('confidence-note').innerText")
    assert "counted on 2,019 words of 500 sentences (validation)" in note
    assert "stands in the reference translation" in note
    said = (
        "[...document.querySelectorAll('#translation .piece')].map(e => e.getAttribute('aria-description'))"
    )
    assert page.run(said) == [
        None,  # too few words were counted
        "such words were right in 70 % of cases (probability 50 %)",
        "such words were right in 95 % of cases (probability 100 %)",
    ]
    lines = (
        "[...document.querySelectorAll('#translation .piece')].map(e => e.style.getPropertyValue('--sure'))"
    )
    assert page.run(lines) == ["0", "0.7", "0.95"]


@in_chromium
def test_what_is_seen_becomes_one_file(page: Browser, tmp_path: Path) -> None:
    page.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    type_text(page, "I love </script><b>you")
    until(page, "document.querySelectorAll('#translation .piece').length > 5", True)
    page.click("#save")
    path = tmp_path / "alignment.html"
    deadline = time.monotonic() + 30
    while not path.exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    page.open(path)
    words = page.run("[...document.querySelectorAll('#source .word')].map(one => one.textContent)")
    assert words[:3] == ["I", "love", "<"]
    page.hover("#target .word:nth-child(2)")
    assert page.run(READING).startswith("aime looks at love 75 %, < 25 %")
    assert mistakes(page) == []


@in_chromium
def test_a_file_is_dropped(page: Browser, server: StandIn) -> None:
    until(page, "document.getElementById('kinds').textContent", ".txt .html")
    page.run("""(() => { const data = new DataTransfer();
      data.items.add(new File(["one line"], "a.txt"));
      document.getElementById("source-box").dispatchEvent(
        new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true })); })()""")
    until(page, STATUS, "Download the translation of a.txt")
    sent = server.asked[-1]["file"]
    assert b"one line" in sent
    assert b'name="target"\r\n\r\nfr' in sent
    link = page.run("document.querySelector('#status a').href")
    assert link == f"{server.address}download_file/x"
    server.refusal = 400, "a.txt: not utf-8"
    page.run("document.getElementById('status').textContent = ''")
    page.run("""(() => { const data = new DataTransfer();
      data.items.add(new File(["x"], "a.txt"));
      document.getElementById("source-box").dispatchEvent(
        new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true })); })()""")
    until(page, STATUS, "a.txt: not utf-8")


@in_chromium
@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "The text is too long"),
        (429, "The server is busy. Try again in a moment."),
        (401, "This server wants a key: write it beside the languages."),
    ],
)
def test_a_refusal_is_told(page: Browser, server: StandIn, status: int, message: str) -> None:
    server.refusal = status, "The text is too long"
    type_text(page, "apples")
    until(page, STATUS, message)
    assert page.run("document.getElementById('key-field').hidden") == (status != 401)


@in_chromium
def test_no_word_is_ever_run(page: Browser, server: StandIn) -> None:
    page.run("window.ran = 0; window.boom = () => { window.ran += 1; }; 0")
    hostile = "<img src=x onerror=boom()> \u202e </textarea><script>boom()</script> {{data}} \U0001f600"
    type_text(page, hostile)
    until(page, TRANSLATION + ".length > 40", True)
    page.click(SECOND)
    until(page, "document.querySelectorAll('#others button').length", 1)
    page.click("#more")
    until(page, "document.querySelectorAll('#methods input').length", 3)
    assert page.run("window.ran") == 0
    assert page.run("document.querySelectorAll('img, main script').length") == 0
    shown = page.run("[...document.querySelectorAll('#under .piece')].map(one => one.textContent)")
    assert "\U0001f600" in shown  # offsets count characters, not their halves
    visit(page, server, f"#text={quote(hostile)}&start=99999+x&start=0+%3Cb%3E&target=-1&source=x&model=zz")
    until(page, TRANSLATION + ".startsWith('<b>')", True)
    assert mistakes(page) == []


@in_chromium
def test_right_to_left(page: Browser) -> None:
    page.run("""(() => { const choice = document.getElementById("model");
      choice.selectedIndex = 1; choice.dispatchEvent(new Event("change")); })()""")
    type_text(page, "I love you")
    until(page, TRANSLATION, "אני אוהב אותך")
    lefts = page.run(
        "[...document.querySelectorAll('#translation .piece')].map(one => one.getBoundingClientRect().left)"
    )
    assert lefts == sorted(lefts, reverse=True)
    assert page.run("document.getElementById('translation').lang") == "he"
    page.run("document.querySelector('#translation .piece').focus()")
    page.press("ArrowLeft")
    assert page.run("document.activeElement.textContent") == "אוהב"


def show_as(page: Browser, scheme: str, width: int) -> None:
    """Show the page in light or dark colours, at a width in pixels."""
    page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    page.call("Emulation.setDeviceMetricsOverride", **size)


def violations(page: Browser) -> list[Any]:
    """What axe-core finds wrong with the page as it stands; its text comes from the pinned package."""
    page.run((node.package("axe-core") / "axe.min.js").read_text(encoding="utf-8") + "; 0")
    found = page.run(
        "axe.run().then(({violations}) => JSON.stringify(violations.map(({id, nodes}) =>"
        "[id, nodes.map(node => node.html.slice(0, 200) + ' ' + node.failureSummary)])))"
    )
    return list(json.loads(found))


def open_everything(page: Browser, methods: int) -> None:
    """Confidence, the list of other words, and heads and methods, of which there are so many."""
    if not page.run("document.getElementById('show-confidence').closest('label').hidden"):
        page.click("#show-confidence")
    page.click(SECOND)
    until(page, "document.querySelectorAll('#others button').length > 0", True)
    until(page, "document.getElementById('translation').getAttribute('aria-busy')", "false")
    page.click("#more")
    until(page, "document.querySelectorAll('#methods input').length", methods)
    page.click("#methods label:nth-child(2) input")


@in_chromium
@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_axe_finds_no_violation(page: Browser, server: StandIn, scheme: str, width: int) -> None:
    show_as(page, scheme, width)
    visit(page, server, f"#text={quote(TEXT)}")
    until(page, TRANSLATION, "je aime toi . les vertes pommes .")
    open_everything(page, 3)
    assert violations(page) == []
    assert page.run("document.documentElement.scrollWidth") <= width
