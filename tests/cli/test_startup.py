"""Commands import what they use and no more. No test here takes a time, so none fails on a busy machine."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

RUN = Path(__file__).parents[1] / "fixtures" / "runs-0.1" / "transformer"
# Packages and parts of torch that take from 0.1 s to several seconds to import.
HEAVY = (
    "datasets",
    "hydra",
    "matplotlib",
    "omegaconf",
    "onnx",
    "pandas",
    "pyarrow",
    "rich",
    "sacrebleu",
    "scipy",
    "sympy",
    "tensorboard",
    "torch._dynamo",
    "torch._inductor",
    "torch.distributed.checkpoint",
    "torch.distributed.fsdp",
    "torch.distributed.tensor",
    "torch.onnx",
)
# Runs a command line in a new process; its last line has the exit code, which of the named modules the
# command imported (whatever importing torch alone does), and the state of garbage collection.
PROGRAM = """
import gc, json, sys
from translate.cli.main import run
line, heavy, alone = json.loads(sys.argv[1])
try:
    code = run(line)
except SystemExit as leaving:
    code = leaving.code
found = [name for name in heavy if name in sys.modules and name not in alone]
print(json.dumps([code, found, gc.isenabled(), gc.get_freeze_count() > 0]))
"""


def python(program: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()[-1]


@pytest.fixture(scope="module")
def of_torch() -> list[str]:
    """The heavy modules that torch itself imports, which differ from version to version."""
    program = (
        "import json, sys, torch; "
        "print(json.dumps([name for name in json.loads(sys.argv[1]) if name in sys.modules]))"
    )
    found: list[str] = json.loads(python(program, json.dumps(HEAVY)))
    return found


def imported(line: list[str], heavy: tuple[str, ...], alone: list[str]) -> tuple[int, list[str], bool, bool]:
    code, found, collects, frozen = json.loads(python(PROGRAM, json.dumps([line, heavy, alone])))
    return code, found, collects, frozen


def test_torch_alone_leaves_something_to_guard(of_torch: list[str]) -> None:
    assert len(of_torch) < len(HEAVY) / 2


@pytest.mark.slow
@pytest.mark.parametrize("options", [[], ["--format", "jsonl"], ["--markup"]], ids=str)
def test_a_sentence_is_translated_with_nothing_heavy(options: list[str], of_torch: list[str]) -> None:
    line = ["text", str(RUN), "I love you .", *options]
    assert imported(line, HEAVY, of_torch) == (0, [], True, True)


@pytest.mark.slow
def test_a_page_is_written_with_nothing_heavy(of_torch: list[str], tmp_path: Path) -> None:
    line = ["align", str(RUN), "I love you .", "--out", str(tmp_path / "page.html")]
    assert imported(line, HEAVY, of_torch) == (0, [], True, True)
    assert (tmp_path / "page.html").stat().st_size > 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "mistake",
    ["model.num_layerz=9", "optimizer.lrr=1", "model.num_heads=7", "optimizer.lr=-3", "alignment.layer=9"],
)
def test_a_mistake_that_needs_the_model_is_told_with_torch_alone(mistake: str, of_torch: list[str]) -> None:
    heavy = tuple(name for name in HEAVY if name not in ("hydra", "omegaconf", "rich"))  # which training uses
    assert imported(["train", mistake], heavy, of_torch) == (2, [], True, True)


@pytest.mark.parametrize(
    "line",
    [
        ["train", "training.max_stepz=9"],
        ["train", "training.max_steps=-9"],
        ["train", "model=rnn_bahdano"],
        ["train", "data=files", "data.train.source=none"],
        ["train", "alignment.shift=2"],
        ["train", "--multirun", "training.max_steps=-9,9"],
        ["text", str(RUN / "none"), "I love you ."],
        ["text", str(RUN.parent), "I love you ."],
        ["align", str(RUN / "config.yaml"), "I love you ."],
    ],
    ids=lambda line: " ".join(Path(part).name for part in line),
)
def test_a_mistake_is_told_before_torch_is_imported(line: list[str]) -> None:
    code, found, collects, _ = imported(line, ("torch", *HEAVY), ["hydra", "omegaconf"])
    assert (code, found, collects) == (2, [], True)
