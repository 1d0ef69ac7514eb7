"""DeepL's interface, by hand and through its official client."""

from pathlib import Path
from typing import Any

import pytest

from tests.serve.client import Client
from tests.serve.conftest import KEY
from tests.serve.test_libretranslate import multipart
from translate.serve.documents import read_tagged
from translate.translator import Translator

TEXT = "I love you ."
PAIR = {"source_lang": "EN", "target_lang": "FR"}


@pytest.fixture
def expected(translator: Translator) -> str:
    return translator.translate([TEXT])[0].text


@pytest.fixture
def official(client: Client) -> Any:
    module = pytest.importorskip("deepl", reason="the extra clients is not installed")
    return module.Translator(KEY, server_url=client.url)


class TestOfficialClient:
    def test_texts(self, official: Any, expected: str) -> None:
        found = official.translate_text(TEXT, source_lang="EN", target_lang="FR")
        assert (found.text, found.detected_source_lang, found.billed_characters) == (expected, "EN", 12)
        many = official.translate_text([TEXT, "a man sleeps ."], target_lang="FR")
        assert many[0].text == expected
        assert [each.detected_source_lang for each in many] == ["EN", "EN"]

    def test_tags(self, official: Any) -> None:
        text = "<p>I <b>love</b> <x>code</x> you .</p><p>you sleep .</p>"
        for handling in ("xml", "html"):
            found = official.translate_text(
                text.replace("<x>", '<x translate="no">'),
                source_lang="EN",
                target_lang="FR",
                tag_handling=handling,
                ignore_tags=["x"],
            ).text
            assert found.count("<p>") == found.count("</p>") == 2
            assert found.count("<b>") == found.count("</b>") == 1
            assert '<x translate="no">code</x>' in found

    def test_languages_and_usage(self, official: Any) -> None:
        assert [each.code for each in official.get_source_languages()] == ["EN"]
        assert [each.code for each in official.get_target_languages()] == ["FR"]
        before = official.get_usage().character.count
        official.translate_text(TEXT, target_lang="FR")
        assert official.get_usage().character.count == before + len(TEXT)

    def test_a_glossary(self, official: Any) -> None:
        assert [
            (p.source_lang.lower(), p.target_lang.lower()) for p in official.get_glossary_languages()
        ] == [("en", "fr")]
        made = official.create_glossary("terms", "EN", "FR", {"love": "voit", "dog": "chat"})
        assert (made.ready, made.entry_count, made.name) == (True, 2, "terms")
        assert made.glossary_id in [each.glossary_id for each in official.list_glossaries()]
        assert official.get_glossary(made.glossary_id).source_lang.lower() == "en"
        assert official.get_glossary_entries(made) == {"love": "voit", "dog": "chat"}
        found = official.translate_text(TEXT, source_lang="EN", target_lang="FR", glossary=made).text
        assert "voit" in found
        assert "chat" not in found
        official.delete_glossary(made)
        assert made.glossary_id not in [each.glossary_id for each in official.list_glossaries()]

    def test_a_document(self, official: Any, expected: str, tmp_path: Path) -> None:
        source, target = tmp_path / "a.txt", tmp_path / "b.txt"
        source.write_text(f"{TEXT}\n\n{TEXT}\n")
        status = official.translate_document_from_filepath(source, target, source_lang="EN", target_lang="FR")
        assert target.read_text() == f"{expected}\n\n{expected}\n"
        assert status.done
        assert status.billed_characters == 2 * len(TEXT)


@pytest.mark.parametrize(
    ("fields", "status", "says"),
    [
        ({}, 400, "target_lang"),
        ({"text": [], "target_lang": "FR"}, 400, "text"),
        ({"text": [TEXT], "target_lang": "ZZ"}, 400, "not supported"),
        ({"text": [TEXT], **PAIR, "formality": "more"}, 400, "formality"),
        ({"text": [TEXT], **PAIR, "tag_handling": "tex"}, 400, "tag_handling"),
        ({"text": [TEXT], **PAIR, "split_sentences": "2"}, 400, "split_sentences"),
        ({"text": [TEXT], **PAIR, "glossary_id": "x"}, 404, "glossary"),
        ({"text": [TEXT], **PAIR, "splitting_tags": "p"}, 400, "splitting_tags: this server finds out"),
        ({"text": [7], **PAIR}, 400, "text: Input should be a valid string"),
        ({"text": ["a" * 5_001], **PAIR}, 413, "5,000"),
        ({"text": [TEXT], **PAIR, "tag_handling": "xml", "ignore_tags": [7]}, 400, "ignore_tags"),
    ],
)
def test_errors_have_a_message(client: Client, fields: dict[str, Any], status: int, says: str) -> None:
    reply = client.ask("POST", "/v2/translate", fields)
    assert (reply.status, set(reply.json)) == (status, {"message"})
    assert says in reply.json["message"]


def test_options_that_change_nothing_are_accepted(client: Client, expected: str) -> None:
    more = {"formality": "prefer_more", "context": "a letter", "preserve_formatting": True}
    reply = client.post("/v2/translate", text=[TEXT], target_lang="fr", **more)
    assert reply.json["translations"][0]["text"] == expected


@pytest.mark.parametrize(("how", "sentences"), [("0", 1), ("1", 3), ("nonewlines", 3)])
def test_sentences_are_split_as_asked(
    client: Client, translator: Translator, how: str, sentences: int
) -> None:
    text = "I love you . You sleep .\nA man sleeps ."
    reply = client.post("/v2/translate", text=[text], source_lang="EN", target_lang="FR", split_sentences=how)
    found = reply.json["translations"][0]["text"]
    if sentences == 1:
        assert found == translator.translate([text])[0].text
    else:
        parts = ["I love you .", "You sleep .", "A man sleeps ."]
        one, two, three = (each.text for each in translator.translate(parts))
        assert found == f"{one} {two}{' ' if how == 'nonewlines' else chr(10)}{three}"


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"entries": "love\tvoit\nlove\tchat"}, "line 2: the term stands twice"),
        ({"entries": "love"}, "line 1"),
        ({"entries": "\n"}, "0 lines"),
        ({"entries": "love\t\U0001f600"}, "not in the run's target vocabulary"),
        ({"entries": "a\tb", "entries_format": "xls"}, "entries_format"),
        ({"entries": "a\tb", "name": ""}, "name"),
        ({"entries": "a\tb", "target_lang": "zz"}, "not supported"),
    ],
)
def test_a_wrong_glossary_is_refused(client: Client, fields: dict[str, str], says: str) -> None:
    given = {"name": "n", "source_lang": "en", "target_lang": "fr", "entries_format": "tsv", **fields}
    reply = client.ask("POST", "/v2/glossaries", given)
    assert reply.status == 400
    assert says in reply.json["message"]


def test_a_document_is_its_owners(client: Client) -> None:
    made = multipart(client, "/v2/document", ("a.txt", TEXT.encode()), target_lang="FR").json
    path = f"/v2/document/{made['document_id']}"
    for key in ("", "wrong", made["document_key"][:-1], "é", 7):
        assert client.post(path, document_key=key).status == 404
        assert client.post(f"{path}/result", document_key=key).status == 404
    assert client.post("/v2/document/other", document_key=made["document_key"]).status == 404
    assert client.post(path, document_key=made["document_key"]).status == 200


class TestTagged:
    @pytest.mark.parametrize(
        ("text", "sentences"),
        [
            ("<a>one</a><a>two</a>", ["one", "two"]),
            ("one <b>two</b> three", ["one <g1>two</g1> three"]),
            ("one<br/>two", ["one<x1/>two"]),
            ("a &lt; b &amp; c", ["a < b & c"]),
            ("1 < 2 and a", ["1 < 2 and a"]),
            ("one</a>", ["one"]),
            ("<a>one <b>two</a> three</b>", None),
            ("<![CDATA[no]]> one", ["one"]),
            ("<a></a>", []),
        ],
    )
    def test_sentences_and_the_way_back(self, text: str, sentences: list[str] | None) -> None:
        document = read_tagged(text)
        if sentences is not None:
            assert document.sentences == sentences
        written = document.write(document.sentences).decode()
        assert written == text.replace("1 < 2", "1 &lt; 2")

    def test_elements_that_are_ignored(self) -> None:
        text = "one two three <i>four</i>"
        found = read_tagged(text, ["I"])
        assert found.sentences == ["one two three"]
        assert found.write(found.sentences).decode() == text

    @pytest.mark.parametrize("unit", ["<a>", "<!--", "<a b='", "<", "<![CDATA[", "<a></b>"])
    @pytest.mark.timeout(60)
    def test_the_time_is_linear(self, unit: str) -> None:
        document = read_tagged(unit * 20_000)
        assert document.write(document.sentences)
