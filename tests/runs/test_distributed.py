"""Runs of two processes: the same steps as of one, checkpoints for any number, decisions that all take."""

import io
import os
import signal
import subprocess
import sys
from contextlib import nullcontext, redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch.distributed as dist
from safetensors.torch import load_file

import translate
from tests.disks import largest_file
from tests.ranks import Ranks, surroundings
from tests.tiny_runs import overrides_of, rows, train_tiny
from translate.cli.main import run as main
from translate.config.composer import compose
from translate.config.settings import check_config
from translate.errors import UserError
from translate.runs import run_scores
from translate.runs.checkpoint import load_state
from translate.runs.checks import check_buildable
from translate.runs.hooks import Keeper

pytestmark = pytest.mark.slow

SAME = [
    "model.dropout=0",
    "model.feedforward_dropout=0",
    "optimizer.eps=1e-4",  # no steps on rounding alone
    "training.clip_norm=0.5",
    "data.num_test=0",
]
TWO, ONE = "training.accumulate=1", "training.accumulate=2"  # batches of each process, for the same steps
KINDS = ["ddp", "fsdp"]
# Rounding may decide a near tie, and so change one of 11 translations or a few of their links.
METRICS = {"bleu": 2.0, "aer": 0.03}


def weights(run: Path, name: str = "last") -> dict[str, np.ndarray]:
    found = load_file(run / "checkpoints" / name / "model.safetensors")
    return {key: tensor.numpy() for key, tensor in found.items()}


def state(run: Path) -> dict[str, Any]:
    return load_state(run / "checkpoints" / "last")


def assert_same(run: Path, other: Path) -> None:
    """The steps, the validations and the weights of two runs, but for rounding."""
    for kind in ("train", "validation"):
        assert [row["step"] for row in rows(run, kind)] == [row["step"] for row in rows(other, kind)] != []
        for mine, wanted in zip(rows(run, kind), rows(other, kind), strict=True):
            assert mine.pop("kind") == wanted.pop("kind") == kind
            for metric, tolerance in METRICS.items():
                assert mine.pop(metric, None) == pytest.approx(wanted.pop(metric, None), abs=tolerance)
            assert mine == pytest.approx(wanted, rel=1e-4)
    mine, wanted = weights(run), weights(other)
    assert mine.keys() == wanted.keys()
    for name in wanted:
        np.testing.assert_allclose(mine[name], wanted[name], atol=2e-4, err_msg=name)


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of one process, of ten steps."""
    run = tmp_path_factory.mktemp("alone") / "run"
    assert train_tiny(run, "transformer", *SAME, ONE, "training.validate_every=3") == 0
    return run


@pytest.mark.parametrize("kind", ["fsdp"])
def test_a_checkpoint_goes_from_two_processes_to_one_and_back(
    kind: str, alone: Path, tmp_path: Path, ranks: Ranks
) -> None:
    """Three steps by two processes, three by one, four by two: those of a run that was never interrupted."""
    run = tmp_path / "run"
    settings: tuple[Any, ...] = (run, "transformer", *SAME, "training.validate_every=3")
    together = (*settings, f"runtime={kind}", TWO)
    assert ranks(train_tiny, *together, "training.max_steps=3") == [0, 0]
    assert state(run)["group_size"] == 2
    assert len(state(run)["generators"]) == 2
    assert train_tiny(*settings, ONE, "training.max_steps=6", "training.resume=true") == 0
    assert len(state(run)["generators"]) == 1
    assert not (run / "checkpoints" / "last" / "shards").exists()
    assert ranks(train_tiny, *together, "training.resume=true") == [0, 0]
    assert (run / "checkpoints" / "last" / "shards").exists() == (kind == "fsdp")
    sums = (run / "checkpoints" / "last" / "SHA256SUMS").read_text()
    assert sum("  shards/" in line for line in sums.splitlines()) >= 2
    assert_same(run, alone)
    assert translate.load(run, device="cpu").translate(["the cat ."])[0].text is not None


def test_resumed_by_as_many_processes_it_is_the_same_to_the_bit(tmp_path: Path, ranks: Ranks) -> None:
    """With dropout: each process has random numbers of its own, and goes on with them."""
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    for run, ends in ((whole, [10]), (parts, [4, 10])):
        for end in ends:
            options = ("runtime=fsdp", f"training.max_steps={end}", "training.resume=true")
            assert ranks(train_tiny, run, "rnn_luong", "data.num_test=0", *options) == [0, 0]
    saved = [(run / "checkpoints" / "last" / "model.safetensors").read_bytes() for run in (whole, parts)]
    assert saved[0] == saved[1]
    assert rows(whole) == rows(parts)
    generators = [each["cpu"].tolist() for each in state(whole)["generators"]]
    assert generators[0] != generators[1]


def stop_early(run: Path) -> tuple[int, int]:
    """A run whose scores, which the main process alone has, never improve."""
    told: list[int] = []

    def bleu(*texts: object, **options: object) -> float:
        told.append(1)
        return 99.0 - len(told)  # equal ones would be decided by the likelihood

    before, run_scores.bleu_score = run_scores.bleu_score, bleu
    try:
        options = ("runtime=ddp", "training.patience=2", "training.validate_every=1", "data.num_test=0")
        return train_tiny(run, "rnn_luong", *options), len(told)
    finally:
        run_scores.bleu_score = before


def test_all_processes_agree_on_early_stopping(tmp_path: Path, ranks: Ranks) -> None:
    run = tmp_path / "run"
    assert ranks(stop_early, run) == [(0, 3), (0, 0)]
    progress = state(run)["progress"]
    assert (progress["step"], progress["finished"], progress["best_step"]) == (3, "patience", 1)


def terminate_one(run: Path) -> tuple[int, int, str]:
    """A run whose rank 1 is told to end in step 4."""
    rank, own, seen = int(os.environ["RANK"]), Keeper.__call__, []

    def call(keeper: Keeper, training: Any, report: Any) -> str | None:
        seen.append(training.progress.step)
        if rank == 1 and training.progress.step == 4:
            os.kill(os.getpid(), signal.SIGTERM)
        return own(keeper, training, report)

    Keeper.__call__ = call  # type: ignore[method-assign,assignment]
    try:
        with redirect_stdout(io.StringIO()) as told:
            code = train_tiny(run, "rnn_luong", "runtime=ddp")
        return code, seen[-1], told.getvalue().partition("go on with: ")[2]
    finally:
        Keeper.__call__ = own  # type: ignore[method-assign]


def test_a_signal_to_one_process_saves_and_ends_all(tmp_path: Path, ranks: Ranks) -> None:
    run = tmp_path / "run"
    again = f"torchrun --standalone --nproc-per-node 2 --no-python translate resume {run}\n"
    assert ranks(terminate_one, run) == [(75, 4, again), (75, 4, "")]
    assert state(run)["progress"]["step"] == 4
    assert not (run / "scores.json").exists()


def fill_one(run: Path) -> str:
    """The error of a run whose rank 1 has no room for its part of a checkpoint."""
    room = nullcontext() if os.environ["RANK"] == "0" else largest_file(500)
    try:
        with room:
            train_tiny(run, "rnn_luong", "runtime=fsdp")
    except UserError as error:
        return str(error)
    except SystemExit as leaving:
        return f"left with {leaving.code}"
    return "no error"


def test_a_full_disk_of_one_process_is_told_once_and_leaves_nothing(tmp_path: Path, ranks: Ranks) -> None:
    told = ranks(fill_one, tmp_path / "run")
    assert "left with 2" in told
    assert any("cannot be written" in each and "there is no checkpoint yet" in each for each in told), told
    assert not list(tmp_path.rglob(".translate-writing-*"))


KILLED = """\
import os, signal
from translate.cli.main import main
from translate.runs.hooks import Keeper

own = Keeper.__call__


def call(keeper, training, report):
    first = os.environ["TORCHELASTIC_RESTART_COUNT"] == "0"
    if first and os.environ["RANK"] == "1" and training.progress.step == 7:
        os.kill(os.getpid(), signal.SIGKILL)
    return own(keeper, training, report)


Keeper.__call__ = call
main()
"""


def test_a_lost_process_is_started_again_and_the_run_goes_on(tmp_path: Path, ranks: Ranks) -> None:
    """By torchrun itself, from the checkpoint of step 6: to the bit as if nothing had been."""
    undisturbed, killed, script = tmp_path / "undisturbed", tmp_path / "killed", tmp_path / "killed.py"
    script.write_text(KILLED)
    options = ("rnn_luong", "runtime=ddp", "runtime.device=cpu", "training.save_every=3", "data.num_test=0")
    torchrun = ["torch.distributed.run", "--standalone", "--nproc-per-node=2", "--max-restarts=1"]
    found = subprocess.run(
        [sys.executable, "-m", *torchrun, script, "train", *overrides_of(killed, *options)],
        capture_output=True,
        text=True,
        timeout=500,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    assert found.returncode == 0, found.stderr
    lines = found.stdout.splitlines()
    assert lines.count("resumed at step 6") == 1
    assert lines.count("training ended: max_steps") == 1  # one log
    assert ranks(main, ["train", *overrides_of(undisturbed, *options)]) == [0, 0]
    saved = [run / "checkpoints" / "last" / "model.safetensors" for run in (killed, undisturbed)]
    assert saved[0].read_bytes() == saved[1].read_bytes()
    assert rows(killed) == rows(undisturbed)


def fail(run: Path, overrides: list[str]) -> str:
    try:
        train_tiny(run, "rnn_luong", "runtime=ddp", *overrides)
    except UserError as error:
        return str(error)
    except SystemExit as leaving:
        return f"left with {leaving.code}"
    return "no error"


def test_an_error_is_told_once(tmp_path: Path, ranks: Ranks) -> None:
    """The first is met by the main process alone, while the other waits; the second by both."""
    for run, overrides, message in (
        (tmp_path / "one", ["tokenizer.vocabulary_size=9"], "tokenizer"),
        (
            tmp_path / "both",
            [
                "optimizer=sgd",
                "optimizer.lr=1e12",
                "optimizer.weight_decay=1e12",
                "training.ema=null",
                "schedule.warmup=0",
            ],
            "not both finite",
        ),
    ):
        told = ranks(fail, run, overrides)
        assert "left with 2" in told
        assert any(message in each for each in told), told


@pytest.mark.parametrize("kind", KINDS)
def test_one_process_of_torchrun_trains_as_one_without(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With dropout: what is tried out before the first step leaves the random numbers as they were."""
    alone, launched = tmp_path / "alone", tmp_path / "launched"
    options = ("rnn_luong", "training.max_steps=3", "data.num_test=0", "data.num_validation=0")
    assert train_tiny(alone, *options) == 0
    store = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    for name, value in {**surroundings(0, 1), "MASTER_PORT": str(store.port)}.items():
        monkeypatch.setenv(name, value)
    assert train_tiny(launched, *options, f"runtime={kind}") == 0
    mine, wanted = weights(launched), weights(alone)
    for name in wanted:
        np.testing.assert_array_equal(mine[name], wanted[name], err_msg=name)


@pytest.mark.parametrize("name", ["Adafactor", "Muon"])
def test_an_optimizer_of_whole_matrices_is_refused_for_parts(name: str, tmp_path: Path) -> None:
    overrides = overrides_of(tmp_path / "run", "rnn_luong", "runtime=fsdp", f"optimizer={name.lower()}")
    settings = check_config(compose(overrides, check=check_config))
    with pytest.raises(UserError, match=rf"optimizer: {name} needs whole matrices; use runtime=ddp"):
        check_buildable(settings)
    check_buildable(replace(settings, runtime=replace(settings.runtime, parallel="ddp")))


@pytest.mark.parametrize("override", ["training.out_of_memory=lower", "runtime.precision=float16"])
def test_what_processes_cannot_heed_together_is_refused(override: str, tmp_path: Path) -> None:
    overrides = overrides_of(tmp_path / "run", "rnn_luong", "runtime=ddp", override)
    settings = check_config(compose(overrides, check=check_config))
    with pytest.raises(UserError, match=f"{override}: .*runtime.parallel=ddp"):
        check_buildable(settings)
    check_buildable(replace(settings, runtime=replace(settings.runtime, parallel="none")))


def test_processes_without_torchrun_are_told_how(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"torchrun --standalone .* --no-python translate \.\.\.") as told:
        train_tiny(tmp_path / "run", "rnn_luong", "runtime=fsdp")
    assert "RANK is not set" in str(told.value)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["runtime=auto"], "torchrun started 2 processes, .* add runtime=ddp or runtime=fsdp"),
        (["runtime=ddp", "runtime.device=cuda:1"], "runtime.device: expected auto, cpu or cuda"),
    ],
)
def test_processes_and_settings_that_do_not_go_together(
    overrides: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {**surroundings(0, 2), "MASTER_PORT": "1"}.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(UserError, match=message):
        train_tiny(tmp_path / "run", "rnn_luong", *overrides)
    assert not (tmp_path / "run").exists()
