"""A run that CTranslate2 can hold; the tiny runs of other tests have different numbers of heads."""

from collections.abc import Callable
from pathlib import Path

import pytest

import translate
from tests.tiny_runs import TRAINED, train_tiny
from translate.alignment.alignment import AlignmentChoice
from translate.grammar.generator import generate
from translate.search.ctranslate2.choosing import EngineChoice, choose
from translate.translator import Translator

Chosen = Callable[..., EngineChoice]


@pytest.fixture(scope="session")
def held(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run with one number of heads, whose translations end. Tests must not change it."""
    run = tmp_path_factory.mktemp("held") / "run"
    heads = ["model.attention.num_heads=2", "search.beam_size=3", "search.batch_size=7"]
    assert train_tiny(run, "transformer", *TRAINED, *heads, "training.max_steps=320") == 0
    return run


@pytest.fixture
def ours(held: Path) -> Translator:
    return translate.load(held, device="cpu")


@pytest.fixture(scope="session")
def sentences() -> list[str]:
    return [example.source for example in generate(1, 150, 0, 11)["validation"]]


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
