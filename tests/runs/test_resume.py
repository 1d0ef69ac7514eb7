"""Going on with a run, and what must not be harmed."""

import json
import os
import shutil
from contextlib import nullcontext
from pathlib import Path

import pytest

from tests.tiny_runs import BACKENDS, TRAINED, files, rows, train_tiny
from translate.cli.main import run as main
from translate.errors import UserError
from translate.runs.checkpoint import load_state
from translate.runs.load import read_settings
from translate.runs.run_directory import RunDirectory

pytestmark = pytest.mark.slow

MORE = ("training.validate_every=5", "training.save_every=2", "training.accumulate=2", "training.keep_last=9")


@pytest.fixture
def tiny_runs(tiny_runs: dict[str, Path], tmp_path: Path) -> dict[str, Path]:
    """Copies of the shared runs: training locks a run's folder, which tests of other processes read."""
    for backend, run in tiny_runs.items():
        shutil.copytree(run, tmp_path / backend, symlinks=True)
    return {backend: tmp_path / backend for backend in tiny_runs}


def saved(run: Path, name: str = "last") -> bytes:
    return (run / "checkpoints" / name / "model.safetensors").read_bytes()


@pytest.mark.parametrize("backend", BACKENDS)
def test_five_and_five_steps_are_ten(backend: str, tmp_path: Path) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    assert train_tiny(whole, backend, *MORE) == 0
    assert train_tiny(parts, backend, *MORE, "training.max_steps=5") == 0
    assert train_tiny(parts, backend, *MORE, "training.resume=true") == 0
    assert saved(parts) == saved(whole)
    assert saved(parts, "best") == saved(whole, "best")
    assert rows(parts) == rows(whole)
    assert rows(parts, "validation") == rows(whole, "validation")
    for name in ("alignment.json",):
        assert (parts / name).read_bytes() == (whole / name).read_bytes()
    scores = [json.loads((run / "scores.json").read_text()) for run in (whole, parts)]
    assert scores[0]["test"] == scores[1]["test"]
    assert scores[0]["tokens"] == scores[1]["tokens"]


def test_from_a_checkpoint_between_validations_and_without_what_came_after(tmp_path: Path) -> None:
    """As after SIGKILL: the last checkpoint is older than the last line of the metrics."""
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    assert train_tiny(whole, "rnn_luong", *MORE) == 0
    shutil.copytree(whole, killed, symlinks=True)
    for step in (10, 8):
        shutil.rmtree(killed / "checkpoints" / f"step-{step:08d}")
    for name, step in (("last", 6), ("best", 5)):
        (killed / "checkpoints" / name).unlink()
        (killed / "checkpoints" / name).symlink_to(f"step-{step:08d}")
    for name in ("scores.json", "alignment.json", "README.md"):
        (killed / name).unlink()
    with (killed / "metrics.jsonl").open("a") as file:
        file.write('{"kind": "train", "st')
    assert train_tiny(killed, "rnn_luong", *MORE, "training.resume=true") == 0
    assert saved(killed) == saved(whole)
    assert rows(killed) == rows(whole)
    assert [row["step"] for row in rows(killed)] == list(range(1, 11))


def test_a_run_that_was_killed_before_its_scores_gets_them_and_then_is_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    assert train_tiny(run) == 0
    scores, weights = (run / "scores.json").read_bytes(), saved(run)
    (run / "scores.json").unlink()
    capsys.readouterr()
    assert train_tiny(run, "transformer", "training.resume=true") == 0
    assert "test: BLEU" in capsys.readouterr().out
    assert (run / "scores.json").read_bytes() == scores
    assert saved(run) == weights
    before = files(run)
    assert main(["resume", str(run)]) == 0
    more = f"for twice that: translate resume {run} training.max_steps=20"
    assert capsys.readouterr().out == f"{run}: the run is finished after 10 steps; nothing to do; {more}\n"
    assert files(run) == before


def test_a_bundle_is_not_trained_again_from_the_start(tiny_runs, tmp_path: Path, capsys) -> None:
    """A bundle is a run without the state of its training."""
    bundle = tmp_path / "bundle"
    ignored = shutil.ignore_patterns("step-*", "last")
    shutil.copytree(tiny_runs["transformer"], bundle, ignore=ignored)
    before = files(bundle)
    with pytest.raises(SystemExit, match="2"):
        main(["resume", str(bundle), "training.max_steps=9"])
    told = capsys.readouterr().err
    assert "there is no checkpoint to go on from; a bundle or an imported model is" in told
    assert told.endswith(f" training.start_from={bundle}\n")
    assert files(bundle) == before


def test_a_finished_run_is_given_more_steps(tmp_path: Path) -> None:
    """A schedule that ended with the run ends with it again; the new settings are those of the run."""
    run, moved = tmp_path / "run", tmp_path / "moved"
    schedule = ("schedule=linear", "schedule.warmup=1", "training.ema=null")
    assert train_tiny(run, "rnn_luong", *schedule, "training.max_steps=2") == 0
    run.rename(moved)
    assert main(["resume", str(moved), "training.max_steps=4"]) == 0
    assert json.loads((moved / "scores.json").read_text())["steps"] == 4
    settings = read_settings(RunDirectory(moved))
    assert (settings.training.max_steps, settings.schedule["total"]) == (4, 4)
    rates = [row["learning_rate"] for row in rows(moved)]
    assert rates == pytest.approx([5e-3, 0, 5e-3 / 3, 0])


def test_what_gold_links_chose_stays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run, lines = tmp_path / "run", tmp_path / "pairs.tsv"
    lines.write_text(
        "en\tfr\n" + "".join(f"the {n} dog sees a cat .\tle {n} chien voit un chat .\n" for n in range(40))
    )
    own = (f"data.train.source={lines}", "data.validation_pairs=9", "tokenizer.vocabulary_size=40")
    assert train_tiny(run, "rnn_luong", "data=files", *own, "training.max_steps=2") == 0
    chosen = json.loads((run / "alignment.json").read_text())
    assert chosen["criterion"] == "default"  # so few pairs
    (run / "alignment.json").write_text(json.dumps({**chosen, "criterion": "aer", "table": []}))
    assert main(["resume", str(run), "training.max_steps=4"]) == 0
    assert "alignment.json stays as gold links chose it; see" in capsys.readouterr().out
    assert json.loads((run / "alignment.json").read_text())["criterion"] == "aer"


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("training.max_steps", "training.max_steps: expected NAME=VALUE"),
        ("training.max_steps=[", "expected NAME=VALUE"),
        ("training=3", "training: expected a section"),
        ("max_time=9", "max_time: unknown section; did you mean training.max_time?"),
        ("model.embedding_size=25", "model.embedding_size was 24, now 25"),
        ("run.plugins=[no_such_module]", "plugin no_such_module: there is no such module"),
    ],
)
def test_overrides_that_cannot_be(
    tiny_runs: dict[str, Path], override: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) if "embedding" in override else nullcontext():
        assert main(["resume", str(tiny_runs["rnn_luong"]), override]) == 2
    assert message in capsys.readouterr().err


def test_every_key_that_differs_is_listed_and_nothing_harmed(
    tmp_path: Path, tiny_runs: dict[str, Path]
) -> None:
    run = tiny_runs["transformer"]
    before = files(run)
    changed = {
        "model.width": "48",
        "model.dropout": "0.5",
        "tokenizer.vocabulary_size": "222",
        "data.num_train": "77",
        "optimizer.lr": "0.25",
        "schedule.warmup": "3",
        "training.batch_tokens": "99",
        "training.best_metric": "nll",
    }
    overrides = [f"{key}={value}" for key, value in changed.items()]
    with pytest.raises(UserError, match="cannot resume with other settings: ") as told:
        train_tiny(run, "transformer", *TRAINED, *overrides, "training.resume=true")
    for key in changed:
        assert f"{key} was " in str(told.value)
    listed = str(told.value).split("cannot resume with other settings: ")[1].split("; ")[:-1]
    assert {each.split(" was ")[0] for each in listed} == set(changed)
    assert "model.width was 24, now 48" in listed
    with pytest.raises(UserError, match="cannot resume with other settings: ") as told:
        train_tiny(run, "rnn_luong", *TRAINED, "training.resume=true")
    assert "model._target_ was 'translate.models.Transformer', now 'translate.models.LuongRNN'" in str(
        told.value
    )
    assert "model.encoder" not in str(told.value)  # an option of that class
    assert files(run) == before


def test_resuming_without_a_checkpoint_starts_afresh(tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert train_tiny(run, "rnn_luong", "training.max_steps=1", "training.resume=true") == 0
    weights = saved(run)
    for name in ("checkpoints", "tokenizer"):
        shutil.rmtree(run / name)
    assert train_tiny(run, "rnn_luong", "training.max_steps=1", "training.resume=true") == 0
    assert saved(run) == weights
    assert len(rows(run)) == 1


def test_overwriting_replaces_the_run(tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert train_tiny(run, "rnn_luong", "training.max_steps=3") == 0
    assert train_tiny(run, "rnn_bahdanau", "training.max_steps=1", "run.overwrite=true") == 0
    assert os.listdir(run / "checkpoints") != []
    assert os.readlink(run / "checkpoints" / "last") == "step-00000001"
    assert len(rows(run)) == 1


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["data=files", "data.train.source=/none.en", "data.train.target=/none.fr"], "no such file"),
        (["tokenizer.vocabulary_size=9"], "tokenizer"),  # found when the tokenizer is trained
        (
            ["data.num_validation=0", "training.patience=3"],
            "training.patience: this setting needs validations",
        ),
        (["runtime.device=cuda:99"], "runtime.device: cuda:99 is wanted"),
    ],
)
def test_overwriting_that_fails_leaves_the_old_run(
    tiny_runs: dict[str, Path], overrides: list[str], message: str
) -> None:
    run = tiny_runs["transformer"]
    before = files(run)
    with pytest.raises(UserError, match=message):
        train_tiny(run, "transformer", "run.overwrite=true", *overrides)
    assert files(run) == before


def test_a_link_to_nothing_is_no_reason_to_begin_anew(tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert train_tiny(run, "rnn_luong", "training.max_steps=2") == 0
    (run / "checkpoints" / "last").unlink()
    before = files(run)
    with pytest.raises(UserError, match=r"last/state\.pt: no such file of a checkpoint; there is also"):
        train_tiny(run, "rnn_luong", "training.resume=true")
    assert files(run) == before


def test_patience_is_remembered_and_may_be_raised(tmp_path: Path, capsys) -> None:
    """A rate of nothing improves nothing: the best stays the first validation, over a pause."""
    run = tmp_path / "run"
    settings = ("optimizer.lr=0.0", "training.validate_every=1", "training.patience=3", "training.ema=null")
    assert train_tiny(run, "rnn_luong", *settings, "training.max_steps=2") == 0
    assert load_state(run / "checkpoints" / "last")["progress"]["waited"] == 1
    assert train_tiny(run, "rnn_luong", *settings, "training.max_steps=9", "training.resume=true") == 0
    progress = load_state(run / "checkpoints" / "last")["progress"]
    assert (progress["step"], progress["finished"], progress["best_step"]) == (4, "patience", 1)
    assert train_tiny(run, "rnn_luong", *settings, "training.max_steps=9", "training.resume=true") == 0
    assert load_state(run / "checkpoints" / "last")["progress"]["step"] == 4
    capsys.readouterr()
    assert main(["resume", str(run)]) == 0
    told = f"{run}: the run is finished after 3 fruitless validations; nothing to do; for twice that: "
    assert capsys.readouterr().out == f"{told}translate resume {run} training.patience=6\n"
    assert main(["resume", str(run), "training.patience=6"]) == 0
    assert load_state(run / "checkpoints" / "last")["progress"]["step"] == 7


def test_a_best_checkpoint_that_is_gone_is_replaced_by_an_earlier_one_than_a_later(
    tmp_path: Path, capsys
) -> None:
    """The steps behind which a run goes back are no part of it, however good they were."""
    run = tmp_path / "run"
    settings = ("training.validate_every=2", "training.keep_last=9", "training.ema=null", "optimizer.lr=0.0")
    assert train_tiny(run, "rnn_luong", *settings, "training.max_steps=8") == 0
    folders = run / "checkpoints"
    assert load_state(folders / "step-00000006")["progress"]["best_step"] == 2
    shutil.rmtree(folders / "step-00000002")
    (folders / "best").unlink()
    (folders / "best").symlink_to("step-00000008")
    capsys.readouterr()
    more = ("training.resume_from=step-00000006", "training.max_steps=7", "training.validate_every=9")
    assert main(["resume", str(run), *more]) == 0
    assert "note: the best checkpoint, step " in capsys.readouterr().out
    assert (folders / "best").readlink() in (Path("step-00000006"), Path("step-00000007"))
    assert json.loads((run / "scores.json").read_text())["best_step"] in (6, 7)


def test_links_that_have_changed_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run, links, corpus = tmp_path / "run", tmp_path / "links", tmp_path / "corpus.tsv"
    corpus.write_text("en\tfr\n" + "".join(f"the {n} dog .\tle {n} chien .\n" for n in range(40)))
    links.write_text("0-0 1-1 2-2\n" * 36)
    own = (
        "data=files",
        f"data.train.source={corpus}",
        "data.validation_pairs=9",
        "tokenizer.vocabulary_size=40",
    )
    guided = ("training.guided_alignment=1", f"training.guided_links={links}", "training.max_steps=2")
    assert train_tiny(run, "rnn_luong", *own, *guided) == 0
    assert main(["resume", str(run), "training.max_steps=3"]) == 0
    assert "guided_links has changed" not in capsys.readouterr().out
    links.write_text("0-0\n" * 36)
    assert main(["resume", str(run), "training.max_steps=4"]) == 0
    assert "note: the file of training.guided_links has changed" in capsys.readouterr().out
