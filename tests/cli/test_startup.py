"""Commands import what they use and no more. No test here takes a time, so none fails on a busy machine."""

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

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
# Runs command lines, one after another in a new process. For each it prints the exit code, which of the named
# modules have been imported (whatever importing torch alone does), the state of garbage collection, and what
# the line printed.
PROGRAM = """
import contextlib, gc, io, json, sys
from translate.cli.main import run
lines, heavy, alone = json.loads(sys.argv[1])
told = []
for line in lines:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = run(line)
        except SystemExit as leaving:
            code = leaving.code
    found = [name for name in heavy if name in sys.modules and name not in alone]
    told.append([code, found, gc.isenabled(), gc.get_freeze_count() > 0, out.getvalue(), err.getvalue()])
print(json.dumps(told))
"""
# Mistakes of `translate train` that need the model, and those that do not.
OF_THE_MODEL = (
    "model.num_heads=7",
    "model.self_attention.num_heads=7",
    "optimizer.lr=-3",
    "alignment.layer=9",
)
MISTAKES = (
    "training.max_stepz=9",
    "training.max_steps=-9",
    "training.max_steps=many",
    "training.lr=1",
    "modl=transformer",
    "model=rnn_bahdano",
    "model.num_layerz=9",
    "model.width=wide",
    "model=rnn_luong model.attention.attention_sizes=3",
    "optimizer.lrr=1",
    "schedule.warmup=soon",
    "search.beam_size=0",
    "data=files data.train.source=none",
    "data=files data.train.source=none.en data.train.target=none.fr",
    "data=multi30k data.path=nowhere",
    "alignment.shift=2",
    "--multirun training.max_steps=-9,9",
)


class Told(NamedTuple):
    """What a command line did."""

    code: int
    found: list[str]
    collects: bool
    frozen: bool
    out: str
    err: str


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


def told(lines: Sequence[list[str]], heavy: Sequence[str], alone: Sequence[str]) -> Iterator[Told]:
    """What each line did, in one process: what a line imports, those after it have too."""
    for each in json.loads(python(PROGRAM, json.dumps([lines, heavy, alone]))):
        yield Told(*each)


@pytest.mark.slow
def test_torch_alone_leaves_something_to_guard(of_torch: list[str]) -> None:
    assert len(of_torch) < len(HEAVY) / 2


@pytest.mark.slow
def test_a_sentence_and_a_page_need_nothing_heavy(of_torch: list[str], tmp_path: Path) -> None:
    text = ["text", str(RUN), "I love you ."]
    page = ["align", str(RUN), "I love you .", "--out", str(tmp_path / "page.html")]
    lines = [text, [*text, "--format", "jsonl"], [*text, "--markup"], page]
    for line, done in zip(lines, told(lines, HEAVY, of_torch), strict=True):
        assert done[:4] == (0, [], True, True), line
    assert (tmp_path / "page.html").stat().st_size > 0


@pytest.mark.slow
def test_a_sentence_and_a_page_need_not_all_of_torch(tmp_path: Path) -> None:
    text = ["text", str(RUN), "I love you ."]
    page = ["align", str(RUN), "I love you .", "--out", str(tmp_path / "page.html")]
    for done in told([text, page], ["torch._decomp", "torch._refs"], []):
        assert done[:2] == (0, [])


@pytest.mark.slow
def test_a_mistake_that_needs_the_model_is_told_with_torch_alone(of_torch: list[str]) -> None:
    heavy = tuple(name for name in HEAVY if name not in ("hydra", "omegaconf", "rich"))  # which training uses
    lines = [["train", mistake] for mistake in OF_THE_MODEL]
    for line, done in zip(lines, told(lines, heavy, of_torch), strict=True):
        assert done[:4] == (2, [], True, True), line


def test_a_mistake_is_told_before_torch_is_imported() -> None:
    lines = [
        *(["train", *mistake.split()] for mistake in MISTAKES),
        ["text", str(RUN / "none"), "I love you ."],
        ["text", str(RUN.parent), "I love you ."],
        ["align", str(RUN / "config.yaml"), "I love you ."],
    ]
    for line, done in zip(lines, told(lines, ("torch", *HEAVY), ["hydra", "omegaconf"]), strict=True):
        assert (done.code, done.found, done.collects, done.out) == (2, [], True, ""), line
        assert done.err.startswith("error: "), line
