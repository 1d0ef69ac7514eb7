"""A run that is killed again and again, at whatever moment, ends as if it had never been."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

KILLS = 10
LAST = 33  # of 40 steps: a fast machine would finish the run before the next kill
# Started once and forked: importing torch takes longer than the run itself.
PROGRAM = """
import os, random, signal, sys, time
from pathlib import Path

import matplotlib.figure
import pyarrow
import torch.utils.tensorboard

import translate.figures.heatmap
from tests.tiny_runs import train_tiny

run, *overrides = sys.argv[1:]
random = random.Random(5)


def attempt(patience):
    child = os.fork()
    if child == 0:
        with open(os.devnull, "w") as nothing:
            os.dup2(nothing.fileno(), 1)
        code = 1
        try:
            code = train_tiny(Path(run), "transformer", *overrides)
        finally:
            os._exit(code)
    if patience is not None:
        # So long after its next checkpoint: while stepping, writing, pruning, or before the first one.
        wanted = saved() + random.choice([0, 1, 2])
        while saved() < wanted and os.waitpid(child, os.WNOHANG) == (0, 0):
            time.sleep(0.002)
        time.sleep(patience)
        os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def saved():
    link = Path(run, "checkpoints", "last")
    return int(os.readlink(link)[5:]) if link.is_symlink() else 0


died = []
while len(died) < int(os.environ["KILLS"]) and saved() < int(os.environ["LAST"]):
    died.append(attempt(random.uniform(0.0, 0.04)))
assert died == [-signal.SIGKILL] * len(died), died
print("killed", len(died), "times, stood at", saved())
assert len(died) >= 5
sys.exit(attempt(None))
"""
SETTINGS = (
    "training.max_steps=40",
    "training.save_every=1",
    "training.validate_every=9",
    "training.keep_best=2",
    "training.word_dropout=0.1",
    "training.subword_sampling=0.3",
    "training.resume=true",
    "data.num_train=120",
    "data.num_validation=3",
    "data.num_test=0",
    "tokenizer.vocabulary_size=150",
    "training.batch_tokens=120",
)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="a system without fork")
def test_ten_times_killed_is_as_if_never(tmp_path: Path) -> None:
    from tests.tiny_runs import rows, train_tiny

    whole, killed = tmp_path / "whole", tmp_path / "killed"
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(killed), *SETTINGS],
        capture_output=True,
        text=True,
        env=os.environ | {"KILLS": str(KILLS), "LAST": str(LAST), "PYTHONPATH": os.pathsep.join(sys.path)},
        timeout=500,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert train_tiny(whole, "transformer", *SETTINGS) == 0
    assert rows(killed) == rows(whole)
    assert rows(killed, "validation") == rows(whole, "validation")
    found = [sorted(path.name for path in (run / "checkpoints").iterdir()) for run in (killed, whole)]
    assert found[0] == found[1]
    for name in found[1]:
        file = Path("checkpoints", name, "model.safetensors")
        assert (killed / file).read_bytes() == (whole / file).read_bytes()
    assert os.readlink(killed / "checkpoints" / "best") == os.readlink(whole / "checkpoints" / "best")
