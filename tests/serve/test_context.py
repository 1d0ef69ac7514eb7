"""A server whose run reads previous sentences: each text of a request is a document."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.serve.client import Client
from translate.serve.catalogue import Catalogue, Served
from translate.text.documents import ALONE, ContextSize
from translate.translator import Translator

TEXTS = ["I love you . An old woman sees the dog . A man sleeps .", "A man sleeps ."]
SENTENCES = ["I love you .", "An old woman sees the dog .", "A man sleeps ."]
CONTEXT: list[list[str]] = [[], SENTENCES[:1], SENTENCES[1:2], []]


@pytest.fixture
def reading(translator: Translator) -> Translator:
    return replace(translator, context=ContextSize(1, 50))


def test_sentences_are_read_after_those_before_them_in_their_text(
    serve: Callable[..., Client], reading: Translator
) -> None:
    client = serve(models=Catalogue([Served("tiny", "en", "fr", reading)]))
    ensemble = replace(reading, context=ALONE).join([reading])
    other = serve(models=Catalogue([Served("tiny", "en", "fr", ensemble)]))
    assert other.post("/v1/translate", text=TEXTS, split_sentences=True).json["warnings"] == []
    expected = reading.translate([*SENTENCES, SENTENCES[2]], context=CONTEXT)
    assert expected[2].score != expected[3].score
    found = client.post("/v1/translate", text=TEXTS, split_sentences=True).json
    assert found["warnings"] == []
    texts = [each["text"] for each in found["translations"]]
    assert texts == [" ".join(each.text for each in expected[:3]), expected[3].text]
    alone = client.post("/v1/translate", text=SENTENCES).json
    assert [each["text"] for each in alone["translations"]] == [
        each.text for each in reading.translate(SENTENCES, context=[[], [], []])
    ]
