"""Tests of ``translate.runs.runtime``: which precision a run computes in, and what is said of it."""

from pathlib import Path
from typing import Any

import pytest
import torch

from tests.tiny_runs import train_tiny
from translate.config.training import RuntimeConfig
from translate.runs.runtime import (
    ENOUGH_FOR_ONEDNN,
    ENOUGH_WORK,
    float32_instructions,
    forward_precision,
    use_float32_products,
)

CPU = torch.device("cpu")


@pytest.mark.parametrize(
    ("precision", "engine", "work", "expected"),
    [
        ("auto", None, 10 * ENOUGH_WORK, torch.float32),
        ("auto", "AMX", ENOUGH_WORK, torch.bfloat16),
        ("auto", "AMX", ENOUGH_WORK - 1, torch.float32),
        ("float32", "AMX", 10 * ENOUGH_WORK, torch.float32),
        ("bfloat16", None, 0, torch.bfloat16),
    ],
)
def test_auto_takes_bfloat16_for_large_steps_on_a_processor_that_has_it(
    monkeypatch: pytest.MonkeyPatch, precision: Any, engine: str | None, work: int, expected: torch.dtype
) -> None:
    monkeypatch.setattr("translate.runs.runtime.bfloat16_instructions", lambda: engine)
    assert forward_precision(RuntimeConfig(precision=precision), CPU, work) == expected


@pytest.mark.slow
def test_a_run_says_which_precision_it_chose(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("translate.runs.runtime.bfloat16_instructions", lambda: "AMX")
    monkeypatch.setattr("translate.runs.runtime.ENOUGH_WORK", 1)
    train_tiny(tmp_path / "run", "transformer", "runtime.precision=auto")
    assert ", bfloat16\n" in capsys.readouterr().out


ZEN_5 = {"cpu_name": "AMD EPYC", "avx512_f": True, "avx_vnni": True, "amx_bf16": False}


@pytest.mark.parametrize(
    ("processor", "engine"),
    [
        (ZEN_5, "AVX-512"),
        ({**ZEN_5, "allowed": "AVX2"}, None),
        ({**ZEN_5, "avx_vnni": False}, None),  # Zen 4
        ({**ZEN_5, "avx512_f": False}, None),
        ({**ZEN_5, "cpu_name": "Intel(R) Xeon(R) Processor"}, None),  # MKL uses AVX-512 there
        ({**ZEN_5, "amx_bf16": True}, None),
        ({"architecture": "aarch64"}, None),
    ],
)
def test_where_onednn_multiplies_in_float32(
    monkeypatch: pytest.MonkeyPatch, processor: dict[str, object], engine: str | None
) -> None:
    allowed = processor.get("allowed", "AVX512")
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: processor)
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: allowed)
    assert float32_instructions() == engine
    use_float32_products(torch.device("cuda"), ENOUGH_FOR_ONEDNN)
    assert torch.get_float32_matmul_precision() == "highest"


@pytest.mark.parametrize(
    ("work", "chosen"), [(ENOUGH_FOR_ONEDNN, "medium"), (ENOUGH_FOR_ONEDNN - 1, "highest")]
)
def test_small_products_stay_with_mkl(monkeypatch: pytest.MonkeyPatch, work: int, chosen: str) -> None:
    monkeypatch.setattr("translate.runs.runtime.float32_instructions", lambda: "AVX-512")
    monkeypatch.setattr("translate.runs.runtime.keeps_digits", lambda: True)
    use_float32_products(CPU, ENOUGH_FOR_ONEDNN)
    use_float32_products(CPU, work)
    assert torch.get_float32_matmul_precision() == chosen


def test_products_keep_the_digits_of_float32(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("translate.runs.runtime.float32_instructions", lambda: "AVX-512")
    use_float32_products(CPU, ENOUGH_FOR_ONEDNN)  # on a processor with AMX this goes back to where it was
    generator = torch.Generator().manual_seed(1)
    left, right = (torch.randn(shape, generator=generator) for shape in ((67, 131), (131, 71)))
    exact = left.double() @ right.double()
    torch.testing.assert_close((left @ right).double(), exact, atol=1e-4, rtol=1e-5)


def test_a_product_that_loses_digits_puts_the_setting_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("translate.runs.runtime.float32_instructions", lambda: "AVX-512")
    monkeypatch.setattr("translate.runs.runtime.keeps_digits", lambda: False)
    use_float32_products(CPU, ENOUGH_FOR_ONEDNN)
    assert torch.get_float32_matmul_precision() == "highest"
