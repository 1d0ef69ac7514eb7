"""Requests for `serve_faults.py`: correct ones for every endpoint, and random mutations of them."""

import json
import random
import string
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import quote, urlencode

from tests.tools.fuzz_material import mutate_bytes

JSON, FORM, MULTIPART = "application/json", "application/x-www-form-urlencoded", "multipart/form-data"
BOUNDARY = "a-part-of-a-form"
METHODS = ("GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "BREW")
# fmt: off
KINDS = (
    JSON, FORM, f"{MULTIPART}; boundary={BOUNDARY}", MULTIPART, "text/plain", "application/xml", "",
    "a" * 999,
)
HEADERS = {
    "Content-Type": KINDS,
    "Host": ("a", "", "[", "[::1", "a:b", "a b", "\xff", "a/..//b", "a@b", "x" * 3000),
    "Authorization": ("Bearer ", "Bearer \xff", "DeepL-Auth-Key x", "Basic " + "a" * 9000),
    "Content-Length": ("-1", "+5", "9" * 30, "0x10", "1, 2", "٣"),
    "Expect": ("100-continue",),
    "Origin": ("null", "http://a", "\xff"),
    "Accept-Encoding": ("gzip, br",),
}
NASTY = (
    "", " ", "\0", "é", "\U0001f600", "\u202e", "<b>", "</", "&#0;", "%s", "../../etc/passwd",
    "\r\nX: y", "zz", "auto",
)
VALUES: tuple[Any, ...] = (
    None, True, False, -3, 0, 7, 1e308, -0.5, 2**64, 10**400, *NASTY, *(text * 300 for text in NASTY),
    [], {}, [None, "a", 3], [[]] * 3, {"a": {"b": [1]}}, string.printable, "\U0001f600€" * 20,
)
NAMES = ("text", "q", "source", "target", "heads", "layer", "format", "api_key", "glossary_id")
# fmt: on
FILES = {
    "a.txt": b"I love you .\nA man sleeps .\n",
    "a.html": b"<p>I <b>love</b> you .</p>",
    "a.md": b"# I love *you* .\n",
    "a.srt": b"1\n00:00:01,000 --> 00:00:02,000\nI love you .\n",
    "a.vtt": b"WEBVTT\n\n00:01.000 --> 00:02.000\nI love you .\n",
    "a.po": b'msgid "I love you ."\nmsgstr ""\n',
    "a.xliff": b'<xliff version="1.2"><file original="a"><body><trans-unit id="1">'
    b"<source>I love you .</source></trans-unit></body></file></xliff>",
    "a.docx": b"PK\x03\x04",
    "a.odt": b"PK\x05\x06" + bytes(18),
    "a.exe": b"MZ",
}


Right = tuple[Any, tuple[str, ...]]  # fields, and the encodings in which they are accepted


@dataclass(frozen=True)
class Sent:
    """A request as it goes over the wire."""

    method: str
    path: str
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""

    def encode(self) -> bytes:
        """The bytes of the request; the length of its body is added."""
        headers = {"Host": "127.0.0.1", "Content-Length": str(len(self.body)), **self.headers}
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        return f"{self.method} {self.path} HTTP/1.1\r\n{head}\r\n".encode("latin-1", "replace") + self.body


def posted(path: str, fields: Any, kind: str = JSON) -> Sent:
    """A request with fields in one of the encodings; a value of bytes is a file."""
    if kind == JSON:
        body = json.dumps(fields, default=str).encode()
    elif kind == FORM:
        body = urlencode(fields, doseq=True, errors="surrogatepass").encode()
    else:
        body, kind = multipart(fields), f"{MULTIPART}; boundary={BOUNDARY}"
    return Sent("POST", path, {"Content-Type": kind}, body)


def multipart(fields: dict[str, Any]) -> bytes:
    """Fields as a form in parts; a pair of a name and bytes is a file."""
    parts = []
    for name, value in fields.items():
        file = f'; filename="{value[0]}"' if isinstance(value, tuple) else ""
        content = value[1] if isinstance(value, tuple) else str(value).encode("utf-8", "replace")
        head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"{file}\r\n\r\n'
        parts.append(head.encode() + content + b"\r\n")
    return b"".join([*parts, f"--{BOUNDARY}--\r\n".encode()])


def right_requests(text: str, source: str, target: str) -> dict[str, list[Right]]:
    """The fields that every path with a body accepts, and the encodings in which it does."""
    libre = {"q": text, "source": source, "target": target}
    deepl = {"text": [text], "source_lang": source, "target_lang": target}
    glossary = {"name": "a", "source_lang": source, "target_lang": target, "entries": "I\tje"}
    files: list[Right] = [
        ({"file": file, "source": source, "target": target}, (MULTIPART,)) for file in FILES.items()
    ]
    documents: list[Right] = [
        ({**fields, "source_lang": source, "target_lang": target}, kinds) for fields, kinds in files
    ]
    return {
        "/v1/translate": [
            ({"text": text, **more}, (JSON,))
            for more in (
                {},
                {"split_sentences": True},
                {"stream": True, "beam_size": 1},
                {"alternatives_at": 0},
                {"n_best": 2, "prefix": "je", "confidence": True},
                {"method": "gradient", "markup": True},
            )
        ],
        "/v1/align": [({"source": text, "target": text}, (JSON,))],
        "/translate": [
            ({**libre, **more}, (JSON, FORM, MULTIPART))
            for more in ({}, {"format": "html"}, {"alternatives": 2})
        ],
        "/detect": [({"q": text}, (JSON, FORM, MULTIPART))],
        "/translate_file": files,
        "/suggest": [({"q": text, "s": text}, (JSON, FORM))],
        "/v2/translate": [
            ({**deepl, **more}, (JSON, FORM))
            for more in ({}, {"tag_handling": "xml"}, {"tag_handling": "html"})
        ],
        "/v2/document": documents,
        "/v2/glossaries": [(glossary, (JSON, FORM))],
        "/v2/document/{id}": [({"document_key": "a"}, (JSON, FORM))],
        "/v2/document/{id}/result": [({"document_key": "a"}, (JSON, FORM))],
    }


class Mutations:
    """Makes requests that are nearly right.

    Args:
        seed: of the choices.
        endpoints: pairs of a method and a path, which may have ``{name}`` in it.
        text: is sent where no mutation replaces it.
        source, target: codes of the text's languages.
    """

    def __init__(
        self, seed: int, endpoints: list[tuple[str, str]], text: str, source: str, target: str
    ) -> None:
        self._chance = random.Random(seed)
        self._right = right_requests(text, source, target)
        bodied = [("POST", path) for path in self._right]
        self._endpoints = sorted({*endpoints, *bodied})

    def next(self) -> Sent:
        """A request for one of the endpoints."""
        chance = self._chance
        method, path = chance.choice(self._endpoints)
        sent = Sent(method, path)
        if path in self._right and method == "POST":
            fields, kinds = chance.choice(self._right[path])
            for _ in range(chance.randrange(3)):
                fields = self._changed(fields)
            sent = posted(path, fields, chance.choice(kinds) if isinstance(fields, dict) else JSON)
        sent = replace(sent, path=self._filled(sent.path))
        for _ in range(chance.choice((0, 0, 1, 2))):
            sent = chance.choice((self._body, self._head, self._query, self._method))(sent)
        return sent

    def _changed(self, fields: Any) -> Any:
        """Fields with another value, another name, or one fewer."""
        chance = self._chance
        if not isinstance(fields, dict):
            return chance.choice(([], [fields] * 3, chance.choice(VALUES)))
        name, changed = chance.choice([*fields, *NAMES]), dict(fields)
        match chance.randrange(4):
            case 0:
                changed.pop(name, None)
            case 1:
                changed[chance.choice(NASTY)] = changed.pop(name, "")
            case _:
                changed[name] = chance.choice(VALUES)
        return changed

    def _filled(self, path: str) -> str:
        """The path with something in place of its names."""
        while "{" in path:
            before, _, rest = path.partition("{")
            path = before + quote(self._chance.choice((*NASTY, "a" * 2000)), safe="") + rest.partition("}")[2]
        return path

    def _body(self, sent: Sent) -> Sent:
        return replace(sent, body=mutate_bytes(self._chance, sent.body))

    def _head(self, sent: Sent) -> Sent:
        name = self._chance.choice(list(HEADERS))
        return replace(sent, headers={**sent.headers, name: self._chance.choice(HEADERS[name])})

    def _query(self, sent: Sent) -> Sent:
        pairs = [
            (self._chance.choice(("q", "type", "to", *NASTY)), self._chance.choice(NASTY)) for _ in "abc"
        ]
        query = self._chance.choice(
            (urlencode(pairs), urlencode(pairs), "%ff=%fe", "&" * 6000, "a=" + "b" * 9000)
        )
        return replace(sent, path=f"{sent.path}{'&' if '?' in sent.path else '?'}{query}")

    def _method(self, sent: Sent) -> Sent:
        return replace(sent, method=self._chance.choice(METHODS))
