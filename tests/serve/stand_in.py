"""A server that answers as ours does, by a dictionary, so that what a page must show is known."""

import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from typing import Any

from translate.serve.live_page import HEADERS, live_files
from translate.text.words import split_words

FRENCH = {"I": "je", "love": "aime", "you": "toi", "green": "vertes", "apples": "pommes", "the": "les"}
OTHERS = {"aime": [("aime", 0.7), ("adore", 0.2), ("<b>", 0.01)]}
COUNTED = {
    "split": "validation",
    "pairs": 500,
    "bands": [
        {"start": 0.0, "end": 0.4, "words": 19, "right": 9},  # too few to say anything
        {"start": 0.4, "end": 0.8, "words": 200, "right": 140},
        {"start": 0.8, "end": 1.0, "words": 1800, "right": 1710},
    ],
}
METHODS = ["attention", "erasure"]


def model(name: str, target: str, methods: list[str], size: int, shift: int, counted: Any) -> dict[str, Any]:
    """A model with as many layers as heads; the attention of the last layer was chosen."""
    choice = {"layer": size - 1, "heads": [0], "shift": shift}
    own = {"name": name, "source": "en", "target": target, "methods": methods, "confidence": counted}
    return {**own, "layers": size, "heads": size, "choice": choice}


MODELS = [model("demo", "fr", METHODS, 2, 1, COUNTED), model("right", "he", METHODS[:1], 1, 0, None)]
SURE = {"je": 0.3, "toi": 1.0}
HEBREW = {"I": "אני", "love": "אוהב", "you": "אותך"}


def translated(text: str, prefix: str, model: str) -> dict[str, Any]:
    words = split_words(text)
    dictionary = HEBREW if model == "right" else FRENCH
    target = [dictionary.get(word.text, word.text) for word in words]
    if prefix:
        begun = prefix.split()
        target = [*begun, *(f"{word}!" if word.isalpha() else word for word in target[len(begun) :])]
    return {"text": " ".join(target), "score": -0.25, **aligned(text, " ".join(target))}


def aligned(source: str, target: str) -> dict[str, Any]:
    """Each target word looks at its own source word with 0.75, and at the next one."""
    sources, targets = split_words(source), split_words(target)
    weights = [[0.0] * len(sources) for _ in targets]
    for index, row in enumerate(weights):
        for place, share in ((index, 0.75), (index + 1, 0.25)):
            row[min(place, len(sources) - 1)] += share
    return {
        "source_words": [word._asdict() for word in sources],
        "target_words": [{**word._asdict(), "confidence": SURE.get(word.text, 0.5)} for word in targets],
        "links": [],
        "weights": weights,
    }


def answer(body: dict[str, Any]) -> dict[str, Any]:
    text, model = body["text"], body["model"]
    if body.get("split_sentences"):
        ends = [0, *(match.end() for match in re.finditer(r"(?<=[.!?]) +|\Z", text))]
        whole, spans = "", []
        for start, end in pairwise(ends):
            sentence = text[start:end].rstrip(" ")
            target = translated(sentence, "", model)["text"]
            if sentence:
                places = {
                    "source": [start, start + len(sentence)],
                    "target": [len(whole), len(whole) + len(target)],
                }
                weights = aligned(sentence, target)["weights"]
                spans.append({**places, "score": -0.25, "weights": weights})
            whole += target + text[start + len(sentence) : end]
        row = {"text": whole, "score": -0.25, "sentences": spans, **aligned(text, whole)}
        if len(spans) > 1:
            del row["weights"]
        unknown = "\U0001f600" in text
        message = "some characters that the vocabulary does not have"
        warnings = [{"message": message, "sentences": 1}] if unknown else []
        return {"translations": [row], "model": model, "warnings": warnings}
    row = translated(text, body.get("prefix", ""), model)
    if "alternatives_at" in body:
        word = row["target_words"][body["alternatives_at"]]["text"]
        found = OTHERS.get(word, [(word, 0.9)])
        row["alternatives"] = [{"text": other, "probability": share} for other, share in found]
    return {"translations": [row], "model": model}


class StandIn(ThreadingHTTPServer):
    """The server, on a free port; ``asked`` has the bodies of its requests, ``refusal`` what it answers."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[dict[str, Any]] = []
        self.refusal: tuple[int, str] | None = None
        self.hold = threading.Event()  # answers wait for it
        self.hold.set()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/"


class _Handler(BaseHTTPRequestHandler):
    server: StandIn

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        if path in live_files():
            file = live_files()[path]
            self._send(file.content, file.media_type, HEADERS)
        elif path == "/v1/models":
            self._json({"models": MODELS})
        elif path == "/frontend/settings":
            self._json({"supportedFilesFormat": [".txt", ".html"], "filesTranslation": True})
        elif path == "/download_file/x":
            self._send(b"translated", "text/plain", {})
        else:
            self._json({"error": {"code": "missing", "message": "there is no such path"}}, 404)

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.hold.wait(30)
        if self.server.refusal:
            status, message = self.server.refusal
            self._json({"error": {"code": "refused", "message": message}}, status)
        elif self.path == "/translate_file":
            self.server.asked.append({"file": content})
            self._json({"translatedFileUrl": f"{self.server.address}download_file/x"})
        else:
            body = json.loads(content)
            self.server.asked.append(body)
            if self.path == "/v1/align":
                pairs = zip(body["source"], body["target"], strict=True)
                self._json({"translations": [aligned(*pair) for pair in pairs], "model": body["model"]})
            else:
                self._json(answer(body))

    def _json(self, value: object, status: int = 200) -> None:
        self._send(json.dumps(value).encode(), "application/json", {}, status)

    def _send(self, content: bytes, kind: str, more: dict[str, str], status: int = 200) -> None:
        try:
            self.send_response(status)
            for name, value in {"Content-Type": kind, "Content-Length": str(len(content)), **more}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)
        except (BrokenPipeError, ConnectionResetError):  # a request that the page gave up
            pass

    def log_message(self, *_: object) -> None:
        """Nothing is logged."""
