"""The live page with the real server: its translations are those of `translate text`."""

from collections.abc import Iterator
from urllib.parse import quote

import pytest

from tests.pictures.browser import Browser
from tests.serve.client import Client
from tests.serve.test_live_page import CHROMIUM, STATUS, TRANSLATION, mistakes, type_text, until
from translate.serve.live_page import headers, live_files
from translate.translator import Translator

TEXT = "I love you ."
in_chromium = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium; on Debian: apt install chromium")


@pytest.mark.parametrize("path", live_files())
def test_every_file_is_served_with_its_policy(client: Client, path: str) -> None:
    reply = client.ask("GET", path)
    assert (reply.status, reply.body) == (200, live_files()[path].content)
    assert reply.headers["content-type"] == live_files()[path].media_type
    for name, value in headers().items():
        assert reply.headers[name.lower()] == value


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    assert CHROMIUM is not None
    one = Browser(CHROMIUM, tmp_path_factory.mktemp("profile"))
    yield one
    one.close()


@in_chromium
@pytest.mark.slow
def test_with_the_real_server(browser: Browser, client: Client, translator: Translator) -> None:
    browser.call("Page.navigate", url=f"{client.url}/")
    until(browser, "document.querySelectorAll('#model option').length", 1)
    type_text(browser, TEXT)
    (expected,) = translator.translate([TEXT], alignments=True)
    assert expected.alignment is not None
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
    errors = [each for each in mistakes(browser) if "404" not in str(each)]  # a server without documents
    assert errors == []
