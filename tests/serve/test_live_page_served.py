"""The live page with the real server: its translations are those of `translate text`."""

import json
from collections.abc import Callable
from urllib.parse import quote

import pytest

from tests.figures.browser import Browser, in_chromium
from tests.serve.client import Client
from tests.serve.conftest import KEY
from tests.serve.test_live_page import STATUS, TRANSLATION, mistakes, type_text, until
from translate.serve.live_page import HEADERS, live_files
from translate.serve.web.keys import Keys
from translate.translator import Translator

TEXT = "I love you ."


@pytest.mark.parametrize("path", live_files())
def test_every_file_is_served_with_its_policy(client: Client, path: str) -> None:
    reply = client.ask("GET", path)
    assert (reply.status, reply.body) == (200, live_files()[path].content)
    assert reply.headers["content-type"] == live_files()[path].media_type
    for name, value in HEADERS.items():
        assert reply.headers[name.lower()] == value


@in_chromium
@pytest.mark.slow
def test_with_the_real_server(browser: Browser, client: Client, translator: Translator) -> None:
    browser.call("Page.navigate", url=f"{client.url}/")
    until(browser, "document.querySelectorAll('#model option').length", 1)
    type_text(browser, TEXT)
    (expected,) = translator.translate([TEXT], alignments=True)
    until(browser, TRANSLATION, expected.text)
    words = browser.run("[...document.querySelectorAll('#translation .piece')].map(one => one.textContent)")
    assert words == expected.alignment.target_words
    browser.click("#translation .piece")
    until(browser, "document.querySelectorAll('#others button').length > 0", True)
    firsts = browser.run("[...document.querySelectorAll('#others li bdi')].map(one => one.textContent)")
    other = next(index for index, each in enumerate(firsts) if each != words[0])
    browser.click(f"#others li:nth-child({other + 1}) button")
    (anew,) = translator.translate([TEXT], prefix=firsts[other])
    until(browser, TRANSLATION, anew.text)
    browser.click("#more")
    until(browser, "document.querySelectorAll('#methods input').length > 3", True)
    until(browser, "document.getElementById('translation').getAttribute('aria-busy')", "false")
    address = browser.run("location.hash")
    browser.call("Page.navigate", url="about:blank")
    browser.call("Page.navigate", url=f"{client.url}/{address}")
    until(browser, TRANSLATION, anew.text)
    assert quote(TEXT).replace("%20", "+") in address
    assert browser.run(STATUS).startswith("Translated")
    assert mistakes(browser) == []


@in_chromium
@pytest.mark.slow
def test_a_server_with_keys_asks_for_one(browser: Browser, serve: Callable[..., Client]) -> None:
    keyed = serve(keys=Keys([KEY]))
    browser.call("Page.navigate", url=f"{keyed.url}/")
    until(browser, "document.getElementById('key-field').hidden", False)
    assert "wants a key" in browser.run(STATUS)
    browser.run(f"""(() => {{ const field = document.getElementById("key"); field.value = {json.dumps(KEY)};
      field.dispatchEvent(new Event("change")); }})()""")
    until(browser, "document.querySelectorAll('#model option').length", 1)
    type_text(browser, TEXT)
    until(browser, "document.querySelectorAll('#translation .piece').length > 0", True)
    assert KEY not in browser.run("location.href")
