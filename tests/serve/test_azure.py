"""Azure's interface, version 3, by hand and through its client."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.serve.client import Client
from tests.serve.conftest import KEY
from translate.serve.web.keys import Keys
from translate.translator import Translator

TEXT = "I love you ."
PATH = "/translate?api-version=3.0&to=fr"


def ranges(proj: str) -> list[tuple[slice, slice]]:
    """The characters of source and target that each link names."""
    found = []
    for link in proj.split():
        sides = [side.split(":") for side in link.split("-")]
        found.append(tuple(slice(int(first), int(last) + 1) for first, last in sides))
    return found  # type: ignore[return-value]


def test_the_official_client_reads_alignments(client: Client, translator: Translator) -> None:
    module = pytest.importorskip("azure.ai.translation.text", reason="the extra clients is not installed")
    api = module.TextTranslationClient(endpoint=client.url)
    text = "I love you . A man sleeps ."
    (found,) = api.translate(body=[text], to_language=["fr"], from_language="en", include_alignment=True)
    (translation,) = found.translations
    one, two = translator.translate(["I love you .", "A man sleeps ."], alignments=True)
    assert translation.text == f"{one.text} {two.text}"
    words = [
        (alignment.source_words[s], alignment.target_words[t])
        for alignment in (one.alignment, two.alignment)
        if alignment is not None
        for s, t in sorted(alignment.links())
    ]
    linked = [
        (text[source], translation.text[target]) for source, target in ranges(translation.alignment.proj)
    ]
    assert linked == words
    (auto,) = api.translate(body=[text], to_language=["fr"])
    assert auto.detected_language.language == "en"
    assert auto.translations[0].text == translation.text
    languages = api.get_supported_languages()
    assert languages.translation["fr"].native_name == "français"


def test_several_texts(client: Client, translator: Translator) -> None:
    texts = [TEXT, "", "a man sleeps ."]
    rows = client.ask("POST", f"{PATH}&from=en", [{"Text": each} for each in texts]).json
    assert [row["translations"][0]["text"] for row in rows] == [t.text for t in translator.translate(texts)]
    assert all("alignment" not in row["translations"][0] for row in rows)


@pytest.mark.parametrize("query", ["&from=en", "", "&from=en&includeAlignment=true"])
def test_the_texts_of_a_request_are_one_call_to_the_batch(
    client: Client, translator: Translator, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    """So that many of them are a document there, which holds up no sentence."""
    sizes = []
    submit = client.service.engine.submit
    monkeypatch.setattr(client.service.engine, "submit", lambda call: sizes.append(submit(call)))
    texts = [TEXT, "a man sleeps .", "the woman sees the dog ."]
    rows = client.ask("POST", f"{PATH}{query}", [{"Text": each} for each in texts]).json
    assert sizes == [3]
    assert [row["translations"][0]["text"] for row in rows] == [t.text for t in translator.translate(texts)]
    assert all(("detectedLanguage" in row) == ("from" not in query) for row in rows)


def test_html_has_tags_and_no_alignment(client: Client) -> None:
    path = f"{PATH}&from=en&textType=html&includeAlignment=true"
    (row,) = client.ask("POST", path, [{"text": "I <b>love</b> you ."}]).json
    assert "<b>" in row["translations"][0]["text"]
    assert "alignment" not in row["translations"][0]


def test_detection(client: Client) -> None:
    (row,) = client.ask("POST", "/detect?api-version=3.0", [{"Text": TEXT}]).json
    assert row["language"] == "en"
    assert 0 <= row["score"] <= 1


@pytest.mark.parametrize(
    ("path", "body", "says"),
    [
        ("/translate?api-version=2.0&to=fr", [{"Text": TEXT}], "api-version"),
        ("/translate?api-version=3.0", [{"Text": TEXT}], "to:"),
        (f"{PATH}&from=zz", [{"Text": TEXT}], "not supported"),
        ("/translate?api-version=3.0&to=zz", [{"Text": TEXT}], "not supported"),
        (PATH, {"Text": TEXT}, "no array"),
        (PATH, [], "no array"),
        (PATH, [TEXT], "text 1"),
        (PATH, [{}], "text 1"),
        (PATH, [{"Text": 7}], "text 1"),
        (f"{PATH}&textType=xml", [{"Text": TEXT}], "textType"),
        (f"{PATH}&includeAlignment=perhaps", [{"Text": TEXT}], "includeAlignment"),
    ],
)
def test_errors_have_a_number_and_a_message(client: Client, path: str, body: Any, says: str) -> None:
    reply = client.ask("POST", path, body)
    assert reply.status == 400
    assert set(reply.json) == {"error"}
    assert reply.json["error"]["code"] == 400000
    assert says in reply.json["error"]["message"]


def test_a_key(serve: Callable[..., Client]) -> None:
    client = serve(keys=Keys([KEY]))
    body = [{"Text": TEXT}]
    assert client.ask("POST", PATH, body).status == 401
    assert client.ask("POST", PATH, body, {"Ocp-Apim-Subscription-Key": KEY}).status == 200
    assert client.ask("GET", PATH).status == 405
