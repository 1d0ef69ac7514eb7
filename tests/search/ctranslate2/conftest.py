"""A run that CTranslate2 can hold, in torch and in CTranslate2."""

from collections.abc import Callable
from pathlib import Path

import pytest

import translate
from translate.alignment.alignment import AlignmentChoice
from translate.grammar.generator import generate
from translate.search.ctranslate2.choosing import EngineChoice, choose
from translate.translator import Translator

Chosen = Callable[..., EngineChoice]


@pytest.fixture
def ours(even_run: Path) -> Translator:
    return translate.load(even_run, device="cpu")


@pytest.fixture(scope="session")
def sentences() -> list[str]:
    return [example.source for example in generate(1, 100, 0, 11)["validation"]]


@pytest.fixture
def engine_of() -> Chosen:
    """Loads CTranslate2 for a translator, by default with its own choice of heads."""

    def load(
        translator: Translator, choice: AlignmentChoice | None = None, compute_type: str = "float32"
    ) -> EngineChoice:
        pytest.importorskip("ctranslate2", reason="the engine of these tests")
        return choose(
            "ctranslate2",
            translator.model,
            translator.tokenizers,
            translator.search,
            choice or translator.choice,
            device=translator.device,
            compute_type=compute_type,
        )

    return load
