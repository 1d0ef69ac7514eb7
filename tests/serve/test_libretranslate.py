"""LibreTranslate's interface, by hand and through clients that other people wrote for it."""

import asyncio
import json
import urllib.parse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.serve.client import Client, Reply
from tests.serve.conftest import KEY
from translate.serve.web.keys import Keys
from translate.translator import Translator

TEXT = "I love you ."


@pytest.fixture
def expected(translator: Translator) -> str:
    return translator.translate([TEXT])[0].text


def form(client: Client, path: str, **fields: Any) -> Reply:
    """A request as a form; lists give a field several times."""
    body = urllib.parse.urlencode(fields, doseq=True).encode()
    return client.ask("POST", path, body, {"Content-Type": "application/x-www-form-urlencoded"})


def multipart(client: Client, path: str, file: tuple[str, bytes] | None = None, **fields: str) -> Reply:
    parts = [
        f'--b\r\nContent-Disposition: form-data; name="{n}"\r\n\r\n{v}\r\n'.encode()
        for n, v in fields.items()
    ]
    if file is not None:
        head = f'--b\r\nContent-Disposition: form-data; name="file"; filename="{file[0]}"\r\n\r\n'
        parts.append(head.encode() + file[1] + b"\r\n")
    body = b"".join([*parts, b"--b--\r\n"])
    return client.ask("POST", path, body, {"Content-Type": "multipart/form-data; boundary=b"})


class TestByHand:
    def test_every_encoding_gives_the_same(self, client: Client, expected: str) -> None:
        fields = {"q": TEXT, "source": "en", "target": "fr"}
        query = urllib.parse.urlencode(fields)
        replies = [
            client.post("/translate", **fields),
            form(client, "/translate", **fields),
            multipart(client, "/translate", None, **fields),
            client.ask("POST", f"/translate?{query}"),
        ]
        assert [reply.json for reply in replies] == [{"translatedText": expected}] * 4

    def test_placeholders_come_out_whole(self, client: Client) -> None:
        text = "I love %(organization)s , {you} [X21X] ."
        found = client.post("/translate", q=text, source="en", target="fr").json["translatedText"]
        deepl = client.post("/v2/translate", text=[text], source_lang="EN", target_lang="FR").json
        assert found == deepl["translations"][0]["text"]
        assert all(word in found for word in ("%(organization)s", "{you}", "[X21X]"))

    def test_a_batch_of_texts_gives_a_batch(self, client: Client, translator: Translator) -> None:
        texts = [TEXT, "a man sleeps ."]
        wanted = [each.text for each in translator.translate(texts)]
        for reply in (
            client.post("/translate", q=texts, source="en", target="fr"),
            form(client, "/translate", q=texts, source="en", target="fr"),
        ):
            assert reply.json == {"translatedText": wanted}
        assert (
            client.post("/translate", q=[TEXT], source="en", target="fr").json["translatedText"] == wanted[:1]
        )

    def test_auto_tells_the_language(self, client: Client, expected: str) -> None:
        reply = client.post("/translate", q=TEXT, source="auto", target="fr").json
        assert reply["translatedText"] == expected
        assert reply["detectedLanguage"]["language"] == "en"
        assert 0 <= reply["detectedLanguage"]["confidence"] <= 100
        many = client.post("/translate", q=[TEXT, TEXT], source="auto", target="fr").json
        assert len(many["detectedLanguage"]) == 2
        french = "Je ne sais pas où est la gare ."  # which is French already
        other = client.post("/translate", q=french, source="auto", target="fr").json
        assert other["translatedText"] == french
        assert other["detectedLanguage"] == client.post("/detect", q=french).json[0]
        assert other["detectedLanguage"]["language"] == "fr"
        kind = {"Content-Type": "application/x-www-form-urlencoded"}
        plain = f"q={french}&source=auto&target=fr".encode()  # as curl -d sends it
        assert client.ask("POST", "/translate", plain, kind).json == other
        assert client.ask("POST", "/translate", plain.replace(b"\xc3", b""), kind).status == 400

    def test_alternatives_are_those_of_the_beam(self, client: Client, translator: Translator) -> None:
        reply = client.post("/translate", q=TEXT, source="en", target="fr", alternatives=1).json
        (found,) = translator.translate([TEXT], n_best=2)
        assert [reply["translatedText"], *reply["alternatives"]] == [each.text for each in found.n_best]
        html = client.post("/translate", q=TEXT, source="en", target="fr", alternatives=1, format="html").json
        assert html["alternatives"] == []

    def test_html_keeps_its_tags(self, client: Client) -> None:
        text = "<p>I <b>love</b> you .</p><script>alert('I love you')</script>"
        found = client.post("/translate", q=text, source="en", target="fr", format="html").json[
            "translatedText"
        ]
        assert found.startswith("<p>")
        assert found.count("<b>") == found.count("</b>") == 1
        assert found.endswith("</p><script>alert('I love you')</script>")

    def test_languages_detection_and_settings(self, client: Client) -> None:
        assert client.ask("GET", "/languages").json == [
            {"code": "en", "name": "English", "targets": ["en", "fr"]},
            {"code": "fr", "name": "French", "targets": ["fr"]},
        ]
        (found,) = client.post("/detect", q=TEXT).json
        assert found["language"] == "en"
        settings = client.ask("GET", "/frontend/settings").json
        assert settings["charLimit"] == 5_000
        assert settings["language"] == {
            "source": {"code": "en", "name": "English"},
            "target": {"code": "fr", "name": "French"},
        }
        assert ".docx" in settings["supportedFilesFormat"]

    @pytest.mark.parametrize(
        ("fields", "status", "says"),
        [
            ({}, 400, "q: this field is missing; see /docs"),
            ({"q": TEXT, "target": "fr"}, 400, "source: this field is missing"),
            ({"q": TEXT, "source": "zz", "target": "fr"}, 400, "zz is not supported; expected en"),
            ({"q": TEXT, "source": "en", "target": "zz"}, 400, "zz is not supported; expected fr"),
            ({"q": TEXT, "source": "fr", "target": "en"}, 400, "not supported"),
            ({"q": TEXT, "source": 7, "target": "fr"}, 400, "source"),
            ({"q": TEXT, "source": "en", "target": "fr", "format": "pdf"}, 400, "format"),
            ({"q": TEXT, "source": "en", "target": "fr", "alternatives": 10_000}, 400, "alternatives"),
            ({"q": "a" * 5_001, "source": "en", "target": "fr"}, 400, "5,000"),
            ({"q": ["a"] * 51, "source": "en", "target": "fr"}, 400, "50"),
            ({"q": [[TEXT]], "source": "en", "target": "fr"}, 400, "q: Input should be a valid string"),
        ],
    )
    def test_errors_are_one_sentence(
        self, client: Client, fields: dict[str, Any], status: int, says: str
    ) -> None:
        reply = client.ask("POST", "/translate", fields)
        assert reply.status == status
        assert set(reply.json) == {"error"}
        assert says in reply.json["error"]

    @pytest.mark.parametrize("body", [b"--b", b"--b\r\nContent-Disposition: form-data\r\n\r\nx\r\n--b--\r\n"])
    def test_a_damaged_form_is_refused(self, client: Client, body: bytes) -> None:
        reply = client.ask("POST", "/translate", body, {"Content-Type": "multipart/form-data; boundary=b"})
        assert (reply.status, set(reply.json)) == (400, {"error"})

    def test_methods_suggestions_and_keys(self, client: Client, serve: Callable[..., Client]) -> None:
        assert client.ask("GET", "/translate").status == 405
        locked = serve(keys=Keys([KEY]))
        fields = {"q": TEXT, "source": "en", "target": "fr"}
        assert locked.post("/translate", **fields).status == 403
        assert locked.post("/translate", **fields, api_key="wrong").json["error"].startswith("the key")
        assert locked.post("/translate", **fields, api_key=7).status == 403
        assert form(locked, "/translate", **fields, api_key=KEY).status == 200
        assert locked.post("/translate", **fields, api_key=None, apiKey=KEY).status == 200
        assert locked.post("/translate", **fields, apiKey="wrong").status == 403
        assert locked.ask("GET", "/languages").json == client.ask("GET", "/languages").json
        told = locked.ask("GET", "/frontend/settings")  # where a client learns that it needs a key
        assert (told.status, told.json["keyRequired"]) == (200, True)

    def test_a_file_is_translated_and_fetched(self, client: Client, expected: str) -> None:
        reply = multipart(client, "/translate_file", ("a.txt", TEXT.encode()), source="en", target="fr")
        url = reply.json["translatedFileUrl"]
        assert url.startswith(client.url + "/download_file/")
        found = client.ask("GET", url.removeprefix(client.url))
        assert found.body.decode() == expected
        assert found.headers["content-disposition"] == 'attachment; filename="translated.txt"'
        assert found.headers["x-content-type-options"] == "nosniff"
        assert found.headers["content-type"] == "application/octet-stream"

    @pytest.mark.parametrize(
        ("file", "says"),
        [
            (None, "no file"),
            (("a.srt", b"1\n0:01 -> 0:02\nHi.\n"), "line 2: expected 00:00:01,000"),
            (("a.exe", b"MZ"), "unknown kind of file; expected one of .txt, .html"),
            (("a.docx", b"PK\x03\x04 no package"), "a.docx"),
            (("a.txt", b"\xff\xfe\xff"), "a.txt"),
            (("a.txt", b"a" * 40_000), "30,000"),
        ],
    )
    def test_a_wrong_file_is_refused(self, client: Client, file: tuple[str, bytes] | None, says: str) -> None:
        reply = multipart(client, "/translate_file", file, source="en", target="fr")
        assert reply.status == 400
        assert says in reply.json["error"]


class TestClients:
    def test_libretranslatepy(self, client: Client, expected: str) -> None:
        module = pytest.importorskip("libretranslatepy", reason="the extra clients is not installed")
        api = module.LibreTranslateAPI(client.url)
        assert api.translate(TEXT, "en", "fr") == expected
        assert api.detect(TEXT)[0]["language"] == "en"
        assert [each["code"] for each in api.languages()] == ["en", "fr"]

    def test_libretranslate_aio(self, client: Client, expected: str, tmp_path: Path) -> None:
        module = pytest.importorskip("libretranslate_aio", reason="the extra clients is not installed")
        path = tmp_path / "a.txt"
        path.write_text(TEXT)
        with module.LibreTranslate(client.url) as api:
            found = api.translate(TEXT, source="auto", target="fr", alternatives=1)
            assert found.translated_text == expected
            assert found.alternatives
            assert api.detect(TEXT)[0].language == "en"
            assert [each.code for each in api.languages()] == ["en", "fr"]
            assert api.health()
            assert api.frontend_settings()
            assert api.translate_file(path, source="en", target="fr")

        async def ask() -> Any:
            async with module.AsyncLibreTranslate(client.url) as api:
                return await asyncio.gather(
                    *(api.translate(TEXT, source="en", target="fr") for _ in range(9))
                )

        assert {each.translated_text for each in asyncio.run(ask())} == {expected}

    def test_deep_translator(self, client: Client, expected: str) -> None:
        module = pytest.importorskip("deep_translator", reason="the extra clients is not installed")
        api = module.LibreTranslator(
            source="en", target="fr", custom_url=client.url + "/", api_key="any-key-it-wants-one"
        )
        assert api.translate(TEXT) == expected
        assert api.translate_batch([TEXT, TEXT]) == [expected, expected]


def test_a_text_that_is_sent_twice_is_answered_twice(client: Client, expected: str) -> None:
    fields = urllib.parse.urlencode([("q", TEXT), ("q", TEXT), ("source", "en"), ("target", "fr")])
    assert client.ask("POST", f"/translate?{fields}").json == {"translatedText": [expected, expected]}
    kind = {"Content-Type": "application/x-www-form-urlencoded"}
    assert client.ask("POST", "/translate", fields.encode(), kind).json["translatedText"] == [expected] * 2
    of_curl = json.dumps({"q": TEXT, "source": "en", "target": "fr"}).encode()
    assert client.ask("POST", "/translate", of_curl, kind).json == {"translatedText": expected}
    same_in_both = urllib.parse.urlencode({"q": TEXT, "source": "en", "target": "fr"})
    reply = client.ask("POST", f"/translate?{same_in_both}", same_in_both.encode(), kind)
    assert reply.json == {"translatedText": expected}
