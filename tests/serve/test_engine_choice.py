"""CTranslate2 in a server: the texts of ``translate text --engine auto``; torch does what it cannot."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ctranslate2", reason="the extra export is not installed")

from tests.serve.client import Client, eventually, running
from tests.serve.conftest import LIMITS
from tests.serve.test_engine import LINE, new_call, texts_of
from translate.errors import UserError
from translate.grammar.generator import generate
from translate.runs.load import load
from translate.serve.catalogue import Catalogue, Served, open_catalogue
from translate.serve.engine import Engine
from translate.serve.monitoring import Metrics
from translate.serve.web.keys import Keys
from translate.translation_call import AT_LIMIT
from translate.translator import Translator


@pytest.fixture(scope="module")
def automatic(even_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Translator:
    """A run with CTranslate2 where it can translate."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRANSLATE_CACHE", str(tmp_path_factory.mktemp("cache")))
        found = load(even_run, device="cpu", engine="auto")
    assert found.engine.name == "ctranslate2"
    return found


def some_lines(seed: int, count: int) -> list[str]:
    return [each.source for each in generate(1, 60, 0, seed)["validation"]][:count]


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    found = Engine(2, 20_000, Metrics())
    yield found
    found.close()


@pytest.mark.parametrize("options", [{}, {"n_best": 2}, {"alignments": True}, {"beam_size": 1}], ids=str)
def test_the_texts_are_those_of_the_library(
    engine: Engine, automatic: Translator, options: dict[str, Any]
) -> None:
    """A document and calls of one sentence; CTranslate2 translates all but what it breaks off."""
    lines = some_lines(3, 50)
    document, received = new_call(automatic, lines, **options)
    sentences = [(line, new_call(automatic, [line], **options)) for line in lines[:10]]
    engine.submit(document)
    for _, (call, _) in sentences:
        engine.submit(call)
    whole = replace(automatic, warnings=Counter())
    expected = whole.translate(lines, **options)
    assert texts_of(received, 50) == [each.text for each in expected]
    engines = [(received.results[index].engine, each.engine) for index, each in enumerate(expected)]
    assert sum(one != other for one, other in engines) <= 1  # the last bits decide what is broken off
    assert ("ctranslate2", "ctranslate2") in engines
    assert abs(document.translation.warnings[AT_LIMIT] - whole.warnings[AT_LIMIT]) <= 1
    for index, each in enumerate(expected):
        found = received.results[index]
        assert [one.text for one in found.n_best] == [one.text for one in each.n_best]
        if each.alignment and found.alignment:
            assert found.alignment.pharaoh() == each.alignment.pharaoh()
    for (_, (_, one)), each in zip(sentences, expected, strict=False):
        assert texts_of(one, 1) == [each.text]
    eventually(lambda: not engine.pieces and not engine._lanes, "an idle engine")


def test_torch_translates_what_is_broken_off(engine: Engine, automatic: Translator) -> None:
    short = replace(automatic, search=replace(automatic.search, max_length=4), warnings=Counter())
    lines = some_lines(4, 12)
    call, received = new_call(short, lines)
    engine.submit(call)
    expected = short.translate(lines)
    assert texts_of(received, 12) == [each.text for each in expected]
    assert "torch" in {each.engine for each in expected}
    assert [received.results[index].engine for index in range(12)] == [each.engine for each in expected]
    assert call.translation.warnings[AT_LIMIT] == short.warnings[AT_LIMIT] > 0


@pytest.mark.parametrize("options", [{"prefix": "je"}, {"constraints": ["chat"]}], ids=str)
def test_torch_translates_with_options_that_it_lacks(
    engine: Engine, automatic: Translator, options: dict[str, Any]
) -> None:
    call, received = new_call(automatic, [LINE], **options)
    engine.submit(call)
    (expected,) = automatic.translate([LINE], **options)
    assert texts_of(received, 1) == [expected.text]
    assert received.results[0].engine == "torch"


@pytest.fixture(scope="module")
def client(automatic: Translator) -> Iterator[Client]:
    found, end = running(Catalogue([Served("tiny", "en", "fr", automatic)]), LIMITS, Keys(), 5.0)
    yield found
    end()


def test_an_answer_says_which_engine_wrote_it(client: Client, automatic: Translator) -> None:
    line = next(line for line in some_lines(3, 50) if automatic.translate([line])[0].engine == "ctranslate2")
    for fields, engine in (({}, "ctranslate2"), ({"prefix": "je"}, "torch"), ({"beam_size": 1}, None)):
        (row,) = client.post("/v1/translate", text=line, **fields).json["translations"]
        assert engine in (None, row["engine"])


def test_demanded_ctranslate2_refuses_what_it_cannot_do(automatic: Translator) -> None:
    demanded = replace(automatic, engine=replace(automatic.engine, asked="ctranslate2"))
    client, end = running(Catalogue([Served("tiny", "en", "fr", demanded)]), LIMITS, Keys(), 5.0)
    try:
        reply = client.post("/v1/translate", text=LINE, prefix="je")
        assert reply.status == 400
        assert "prefix" in reply.json["error"]["message"]
        assert client.post("/v1/translate", text=LINE).status == 200
    finally:
        end()
    with pytest.raises(UserError, match="ensemble"):
        open_catalogue({"both": [Path("a"), Path("b")]}, {}, lambda _: demanded, None)
