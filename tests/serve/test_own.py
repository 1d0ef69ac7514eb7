"""``/v1``: texts, words, links, probabilities, alternatives."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
import torch

from tests.serve.client import Client
from translate.alignment.alignment import AlignmentChoice
from translate.serve.catalogue import Catalogue, Served
from translate.serve.live_page import live_files
from translate.translator import Translator

LINES = [
    *("I love you .", "the old woman sees the dog .", "a man sleeps ."),
    *("the children eat a red apple .", "we love the small house .", "she does not see the cat ."),
    *("they give the boy a book .", "you sleep ."),
]


def test_a_translation_has_everything_that_the_command_gives(client: Client, translator: Translator) -> None:
    text = "the old woman sees the dog ."
    reply = client.post("/v1/translate", text=text, n_best=2).json
    (found,) = reply["translations"]
    (expected,) = translator.translate([text], alignments=True, n_best=2)
    assert reply["model"] == "tiny"
    assert found["text"] == expected.text
    assert found["score"] == pytest.approx(expected.score, abs=1e-4)
    assert found["tokens"] == list(expected.tokens)
    assert [each["text"] for each in found["n_best"]] == [each.text for each in expected.n_best]
    for side in ("source", "target"):
        words = found[f"{side}_words"]
        assert [word["text"] for word in words] == getattr(expected.alignment, f"{side}_words")
        whole = text if side == "source" else found["text"]
        assert [whole[word["start"] : word["end"]] for word in words] == [word["text"] for word in words]
    pharaoh = " ".join(f"{link['source']}-{link['target']}" for link in found["links"])
    assert pharaoh == expected.alignment.pharaoh()
    for link in found["links"]:
        weight = expected.alignment.weights[link["target"], link["source"]]
        assert link["weight"] == pytest.approx(weight, abs=1e-3)
    assert len(found["weights"]) == len(found["target_words"])
    assert {len(row) for row in found["weights"]} == {len(found["source_words"])}


def test_a_confidence_is_the_probability_of_the_pieces_of_a_word(
    client: Client, translator: Translator
) -> None:
    text = "a man sleeps ."
    (found,) = client.post("/v1/translate", text=text, beam_size=1).json["translations"]
    pair = translator.encode_pair(text, found["text"])
    model = translator.model
    with torch.no_grad():
        states = model(torch.tensor([pair.source_ids]), None, torch.tensor([[2, *pair.target_ids]]))
        chances = torch.softmax(model.logits(states), -1)[0]
    words = [1.0] * len(pair.target_words)
    for step, (piece, word) in enumerate(zip(pair.target_ids, pair.target_piece_words, strict=True)):
        words[word] *= float(chances[step, piece])
    assert [word["confidence"] for word in found["target_words"]] == pytest.approx(words, abs=1e-3)


@pytest.mark.parametrize("alignments", [True, False])
def test_the_same_text_whatever_travels_beside_it(
    client: Client, translator: Translator, *, alignments: bool
) -> None:
    """Many clients at once, with other options beside them; each gets what the command prints."""
    expected = [each.text for each in translator.translate(LINES)]

    def ask(number: int) -> tuple[int, str, int]:
        line = LINES[number % len(LINES)]
        options = {"alignments": alignments} if number % 3 else {"beam_size": 1 + number % 5}
        reply = client.post("/v1/translate", text=line, **options)
        return reply.status, reply.json["translations"][0]["text"] if reply.status == 200 else "", number

    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(ask, range(96)))
    assert {status for status, _, _ in found} == {200}
    for _, text, number in found:
        if number % 3:
            assert text == expected[number % len(LINES)]
        else:
            (other,) = translator.translate([LINES[number % len(LINES)]], beam_size=1 + number % 5)
            assert text == other.text


@pytest.mark.parametrize(
    "body", [{"text": "   "}, {"text": "<b></b>", "markup": True}, {"text": " ", "method": "gradient"}]
)
def test_a_blank_text_has_an_empty_translation(client: Client, body: dict[str, Any]) -> None:
    reply = client.post("/v1/translate", **body)
    assert reply.status == 200
    assert [each["target_words"] for each in reply.json["translations"]] == [[]]


def test_sentences_of_a_text_one_by_one(client: Client, translator: Translator) -> None:
    text = " I love you . A man sleeps .\n\n  You sleep ."
    (found,) = client.post("/v1/translate", text=text, split_sentences=True).json["translations"]
    parts = ["I love you .", "A man sleeps .", "You sleep ."]
    one, two, three = (each.text for each in translator.translate(parts))
    assert found["text"] == f" {one} {two}\n\n  {three}"
    assert [text[start:end] for start, end in (each["source"] for each in found["sentences"])] == parts
    for side, whole in (("source", text), ("target", found["text"])):
        for word in found[f"{side}_words"]:
            assert whole[word["start"] : word["end"]] == word["text"]
    for sentence, part in zip(found["sentences"], translator.translate(parts, alignments=True), strict=True):
        assert torch.tensor(sentence["weights"]).numpy() == pytest.approx(part.alignment.weights, abs=1e-3)
    # A link never leaves its sentence.
    for link in found["links"]:
        inside = [
            span["source"][0] <= found["source_words"][link["source"]]["start"] < span["source"][1]
            and span["target"][0] <= found["target_words"][link["target"]]["start"] < span["target"][1]
            for span in found["sentences"]
        ]
        assert sum(inside) == 1


CHOICES: list[dict[str, Any]] = [
    *({"method": method} for method in ("attention", "gradient", "erasure", "norm")),
    {"layer": 1, "heads": [2]},
]


@pytest.mark.parametrize("choice", CHOICES, ids=str)
def test_methods_layers_and_heads(client: Client, translator: Translator, choice: dict[str, Any]) -> None:
    text = "I love you ."
    (found,) = client.post("/v1/translate", text=text, **choice).json["translations"]
    if "layer" in choice:
        translator = replace(translator, choice=AlignmentChoice(1, (2,), translator.choice.shift))
        assert found["method"] == "attention, layer 1, head 2"
    (expected,) = translator.align([text], [found["text"]], method=choice.get("method", "attention"))
    assert torch.tensor(found["weights"]).numpy() == pytest.approx(expected.weights, abs=1e-3)


def test_a_given_pair_is_aligned(client: Client, translator: Translator) -> None:
    source, target = "I love you .", "je t' aime ."
    reply = client.post("/v1/align", source=source, target=target).json
    (expected,) = translator.align([source], [target])
    (found,) = reply["translations"]
    assert found["text"] == target
    links = " ".join(f"{link['source']}-{link['target']}" for link in found["links"])
    assert links == expected.pharaoh()
    assert all(0 <= word["confidence"] <= 1 for word in found["target_words"])


@pytest.mark.parametrize(
    "options",
    [{}, {"prefix": "la vieille"}, {"constraints": ["chien"]}, {"beam_size": 1, "n_best": 1}],
    ids=str,
)
def test_texts_in_their_order_with_options(
    client: Client, translator: Translator, options: dict[str, Any]
) -> None:
    texts = [*LINES, "", "  ", LINES[0]]
    found = client.post("/v1/translate", text=texts, **options).json["translations"]
    expected = translator.translate(texts, **options)
    assert [row["text"] for row in found] == [result.text for result in expected]


def test_markup_is_carried_and_words_are_found_in_the_marked_text(
    client: Client, translator: Translator
) -> None:
    text = "the <b>old</b> woman sees the dog ."
    (found,) = client.post("/v1/translate", text=text, markup=True).json["translations"]
    (expected,) = translator.translate([text], markup=True)
    assert found["text"] == expected.text
    assert "<b>" in found["text"]
    for side, whole in (("source", text), ("target", found["text"])):
        for word in found[f"{side}_words"]:
            assert whole[word["start"] : word["end"]] == word["text"]
            assert word["text"] != "b"


def test_alternatives_of_a_word_and_their_choice(client: Client) -> None:
    """Each can be chosen: the words before it with it are a prefix that the server continues."""
    unlikely = {"text": "I love you .", "prefix": "de la femme", "alternatives_at": 2}
    (found,) = client.post("/v1/translate", **unlikely).json["translations"]
    assert found["target_words"][2]["text"] in [each["text"] for each in found["alternatives"]]
    text = "the old woman sees the dog ."
    (found,) = client.post("/v1/translate", text=text, beam_size=1, alternatives_at=1).json["translations"]
    words = [word["text"] for word in found["target_words"]]
    others = [each["text"] for each in found["alternatives"]]
    chances = [each["probability"] for each in found["alternatives"]]
    assert words[1] in others
    assert len(set(others)) == len(others) > 1
    assert chances == sorted(chances, reverse=True)
    assert 0 < sum(chances) <= 1 + 1e-3
    other = next(each for each in others if each != words[1])
    prefix = f"{words[0]} {other}"
    (chosen,) = client.post("/v1/translate", text=text, prefix=prefix).json["translations"]
    assert [word["text"] for word in chosen["target_words"]][:2] == [words[0], other]


@pytest.fixture
def two_pairs(serve: Callable[..., Client], translator: Translator) -> Client:
    return serve(
        models=Catalogue([Served("to", "en", "fr", translator), Served("back", "fr", "en", translator)])
    )


def test_a_pair_is_aligned_by_the_model_of_its_languages(two_pairs: Client) -> None:
    pair = {"source": "I love you .", "target": "je t' aime ."}
    reply = two_pairs.post("/v1/align", **pair)
    assert reply.status == 400
    assert "source_language and target_language: say which" in reply.json["error"]["message"]
    for source, target, name in (("en", "fr", "to"), ("fr", "en", "back"), ("EN-US", None, "to")):
        reply = two_pairs.post("/v1/align", **pair, source_language=source, target_language=target)
        assert reply.json["model"] == name
    for codes, says in (
        ({"source_language": "zz"}, "source_language: zz is not supported"),
        ({"model": "to", "source_language": "fr"}, "no model translates from fr"),
        ({"alignments": False}, "alignments: there is no such field"),
    ):
        reply = two_pairs.post("/v1/align", **pair, **codes)
        assert (reply.status, says in reply.json["error"]["message"]) == (400, True), reply.json


def test_sentences_in_the_language_of_the_translations_are_told(client: Client) -> None:
    reply = client.post("/v1/translate", text="il ne sait pas ce que vous voulez .").json
    assert {"message": "French, it seems, and the model reads English", "sentences": 1} in reply["warnings"]


def test_what_was_cut_is_told(client: Client) -> None:
    reply = client.post("/v1/translate", text="\U0001f600 I love you .").json
    assert reply["warnings"] == [
        {"message": "some characters that the vocabulary does not have", "sentences": 1}
    ]


def test_the_description_names_every_path(client: Client) -> None:
    paths = client.ask("GET", "/spec").json["paths"]
    page = client.ask("GET", "/docs").body.decode()
    routes = {
        route.path.replace(":path", "")
        for route in client.server.config.app.routes  # type: ignore[union-attr]
        if "{path" not in route.path and route.path not in live_files()
    }
    assert set(paths) == routes
    assert all(path in page for path in routes)
    body = paths["/v1/translate"]["post"]["requestBody"]["content"]["application/json"]
    fields = body["schema"]["properties"]
    assert {"text", "model", "prefix", "alternatives_at"} <= fields.keys()


def test_health_readiness_and_metrics(client: Client) -> None:
    client.post("/v1/translate", text="I love you .")
    assert client.ask("GET", "/health").json == {"status": "ok"}
    assert client.ask("GET", "/ready").json == {"status": "ok"}
    text = client.ask("GET", "/metrics").body.decode()
    for name in ("translate_request_seconds", "translate_waiting_seconds"):
        assert f"{name}_count" in text
    assert 'translate_pieces_total{model="tiny",side="source"}' in text
    assert "love" not in text
    assert "127.0.0.1" not in text
