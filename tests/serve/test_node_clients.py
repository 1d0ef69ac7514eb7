"""Clients that other people wrote in JavaScript, unmodified, against the server."""

from collections.abc import Callable

import pytest

from tests.serve import node
from tests.serve.client import Client
from tests.serve.conftest import KEY
from translate.serve.web.keys import Keys
from translate.translator import Translator

TEXTS = ["I love you .", "a man sleeps .", "the old woman sees the dog ."]
# Each program gets the address of the server, a key, and texts; it prints their translations.
TRANSLATE = """
import translate from "translate";
const [url, key, ...texts] = process.argv.slice(1);
translate.engine = "libre";
translate.url = `${url}/translate`;
if (key) translate.key = key;
const found = [];
for (const text of texts) found.push(await translate(text, { from: "en", to: "fr" }));
console.log(JSON.stringify(found));
"""
LIBRETRANSLATE = """
import { translate } from "libretranslate";
const [url, key, ...texts] = process.argv.slice(1);
const ask = (query, source) => translate({ query, source, target: "fr", apiurl: url, apiKey: key });
const found = [];
for (const text of texts) found.push(await ask(text, "en"));
if ((await ask(texts[0])) !== found[0]) throw new Error("no language");
console.log(JSON.stringify(found));
"""
ANYLANG = """
import { LibreTranslateTranslator } from "anylang/translators/unstable/LibreTranslateTranslator/index.js";
const [url, key, ...texts] = process.argv.slice(1);
const api = new LibreTranslateTranslator({ apiHost: `${url}/translate`, apiKey: key });
const found = await api.translateBatch(texts, "en", "fr");
if ((await api.translate(texts[0], "auto", "fr")) !== found[0]) throw new Error("no language");
console.log(JSON.stringify(found));
"""
PROGRAMS = {"translate": TRANSLATE, "libretranslate": LIBRETRANSLATE, "anylang": ANYLANG}


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("key", ["", KEY])
def test_a_client_in_javascript(
    serve: Callable[..., Client], translator: Translator, name: str, key: str
) -> None:
    node.package(name)
    client = serve(keys=Keys([key] if key else None))
    expected = [each.text for each in translator.translate(TEXTS)]
    assert node.run(PROGRAMS[name], client.url, key, *TEXTS) == expected
