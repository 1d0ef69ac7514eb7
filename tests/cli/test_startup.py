"""Commands import what they use and no more. No test here takes a time, so none fails on a busy machine."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

# Packages and parts of torch that take from 0.1 s to several seconds to import.
HEAVY = (
    *("datasets", "hydra", "matplotlib", "omegaconf", "onnx", "pandas", "pyarrow", "rich", "sacrebleu"),
    *("scipy", "sympy", "tensorboard", "torch._dynamo", "torch._inductor", "torch.onnx"),
    *("torch.distributed.checkpoint", "torch.distributed.fsdp", "torch.distributed.tensor"),
)
# Runs command lines, one after another in a new process. For each it prints the exit code, which of the named
# modules have been imported (whatever importing torch alone does), and what the line printed.
PROGRAM = """
import contextlib, io, json, sys
from translate.cli.main import run
lines, heavy, alone = json.loads(sys.argv[1])
results = []
for line in lines:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = run(line)
        except SystemExit as leaving:
            code = leaving.code
    found = [name for name in heavy if name in sys.modules and name not in alone]
    results.append([code, found, out.getvalue(), err.getvalue()])
print(json.dumps(results))
"""
# Mistakes that are reported before torch is imported.
MISTAKES = (
    "tekst",
    "text --bem-size 3 x",
    "text runs/none a",
    "text runs/none a --seed 3",
    "align runs/none a",
    "align runs/none a --out a.jpg",
    "align runs/none a --out a.txt --values",
    "align calibrat runs/none",
    "align symmetrise runs/none --reverse b",
    "align corpus runs/none --source none --target none",
    "evaluate runs/none --source a --reference b --one-based",
    "evaluate runs/none --source none --reference none",
    "corpus --data grammar --out a model=b",
    "settings trainig",
    "train training.max_stepz=9",
    "train training.max_steps=-9",
    "train training.max_steps=many",
    "train training.lr=1",
    "train modl=transformer",
    "train model=rnn_bahdano",
    "train search.beam_size=0",
    "train data=files data.train.source=none",
    "train data=files data.train.source=none.en data.train.target=none.fr",
    "train data=multi30k data.path=nowhere",
    "train alignment.shift=2",
    "train --multirun training.max_steps=-9,9",
)


class Outcome(NamedTuple):
    code: int
    found: list[str]
    out: str
    err: str


def python(program: str, *arguments: str) -> str:
    return subprocess.check_output([sys.executable, "-c", program, *arguments], text=True).splitlines()[-1]


def outcomes(lines: list[list[str]], heavy: Sequence[str], alone: Sequence[str] = ()) -> Iterator[Outcome]:
    """The outcomes of lines that run in one process: what one imports, those after it have too."""
    for outcome in json.loads(python(PROGRAM, json.dumps([lines, heavy, alone]))):
        yield Outcome(*outcome)


@pytest.mark.slow
def test_a_sentence_and_a_page_need_nothing_heavy(tiny_runs: dict[str, Path], tmp_path: Path) -> None:
    program = (
        "import json, sys, torch; "
        "print(json.dumps([name for name in json.loads(sys.argv[1]) if name in sys.modules]))"
    )
    of_torch = json.loads(python(program, json.dumps(HEAVY)))  # differs from version to version
    assert len(of_torch) < len(HEAVY) / 2
    run, page = str(tiny_runs["transformer"]), tmp_path / "page.html"
    text = ["text", run, "I love you ."]
    lines = [text, [*text, "--format=jsonl"], [*text, "--markup"], ["align", *text[1:], "--out", str(page)]]
    for line, done in zip(lines, outcomes(lines, HEAVY, of_torch), strict=True):
        assert done[:2] == (0, []), line
    assert page.stat().st_size > 0


def test_a_mistake_is_reported_before_torch_is_imported() -> None:
    lines = [line.split() for line in MISTAKES]
    heavy = [name for name in HEAVY if name not in ("hydra", "omegaconf", "pyarrow", "rich")]
    for line, done in zip(lines, outcomes(lines, ("torch", *heavy)), strict=True):
        assert (done.code, done.found, done.out) == (2, [], ""), line
        assert done.err.startswith("error: "), line
        assert len(done.err.splitlines()) == 1, line


def test_help_needs_no_torch() -> None:
    lines = [["--help"], ["text", "--help"], ["align", "pair", "--help"], ["train", "--help"]]
    for line, done in zip(lines, outcomes(lines, ("torch", "numpy")), strict=True):
        assert (done.code, done.found, done.err) == (0, [], ""), line


@pytest.mark.parametrize(
    ("given", "found"),
    [({}, "50000"), ({"GOMP_SPINCOUNT": "7"}, "7"), ({"OMP_WAIT_POLICY": "active"}, "None")],
)
def test_threads_wait_briefly_for_each_other(given: dict[str, str], found: str) -> None:
    """Torch reads the variable when it is imported, by a command."""
    program = (
        "import os, translate.cli.main as command\n"
        "command.run = lambda arguments: print(os.environ.get('GOMP_SPINCOUNT'))\n"
        "command.main()"
    )
    kept = {
        name: value for name, value in os.environ.items() if name not in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")
    }
    assert (
        subprocess.check_output([sys.executable, "-c", program], text=True, env=kept | given).strip() == found
    )
