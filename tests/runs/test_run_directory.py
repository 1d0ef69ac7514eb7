from pathlib import Path

import pytest

from translate.errors import UserError
from translate.runs.run_directory import RunDirectory

CONFIG = "data: {}\nmodel: {}\ntraining: {}\nrun: {}\n"


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    directory = RunDirectory(tmp_path / "run")
    directory.path.mkdir()
    directory.config.write_text(CONFIG)
    directory.metrics.write_text('{"step": 3}\n')
    (directory.checkpoints / "step-00000003").mkdir(parents=True)
    return directory


def test_nothing_and_an_empty_folder_are_free(tmp_path: Path) -> None:
    RunDirectory(tmp_path / "none").check_free(overwrite=False)
    RunDirectory(tmp_path).check_free(overwrite=False)


def test_a_run_is_not_free_unless_it_may_be_replaced(run: RunDirectory) -> None:
    with pytest.raises(
        UserError, match=r"a run of this name already.*run\.overwrite=true.*translate resume "
    ):
        run.check_free(overwrite=False)
    run.check_free(overwrite=True)
    run.clear()
    assert list(run.path.iterdir()) == []


@pytest.mark.parametrize("overwrite", [True, False])
def test_what_is_no_run_is_never_free(tmp_path: Path, overwrite: bool) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    for config in ("- a list\n", "name: a web site\n", "a: [\n"):  # of another program
        with pytest.raises(UserError, match="not empty and holds no run"):
            RunDirectory(tmp_path).check_free(overwrite=overwrite)
        (tmp_path / "config.yaml").write_text(config)
    with pytest.raises(UserError, match="there is a file of that name"):
        RunDirectory(tmp_path / "thesis.tex").check_free(overwrite=overwrite)


@pytest.mark.parametrize("name", ["notes", ".git", "config.yaml.new"])
def test_a_run_that_holds_something_foreign_is_not_replaced(run: RunDirectory, name: str) -> None:
    (run.path / name).mkdir()
    with pytest.raises(UserError, match=f"the folder holds {name}, which is not its own"):
        run.check_free(overwrite=True)


def test_clearing_follows_no_link_out_of_the_folder(run: RunDirectory, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").write_text("kept")
    run.plots.symlink_to(precious)
    run.clear()
    assert (precious / "file").read_text() == "kept"
    assert list(run.path.iterdir()) == []


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot be written"):
        RunDirectory(tmp_path / "file" / "run").clear()


def test_metrics_are_cut_back_to_a_step(run: RunDirectory) -> None:
    run.metrics.unlink()
    for step in (2, 4, 4, 6):
        run.log({"step": step, "kind": "train"})
    with run.metrics.open("a") as file:
        file.write('5\n{"step": "x"}\n{"kind": "train"}\n' + "[" * 100_000 + "\n")  # no run wrote this
        file.write('{"step": 8, "ki')  # the process was killed here
    (run.checkpoints / "step-00000004").mkdir()
    run.go_back_to(4, best_step=3)
    assert [(run.checkpoints / name).resolve().name[-1] for name in ("best", "last")] == ["3", "4"]
    run.log({"step": 5, "kind": "train"})
    assert [row["step"] for row in run.rows()] == [2, 4, 4, 5]


@pytest.mark.parametrize(
    ("kept", "best_step", "expected"),
    [([0, 3], 0, 0), ([2, 3], 2, 2), ([3, 8], 2, 3), ([3, 8], 0, 3)],
    ids=["the start of a fine-tuned run", "an earlier one", "one that has gone", "none before"],
)
def test_the_best_is_never_one_behind_which_a_run_goes_back(
    run: RunDirectory, kept: list[int], best_step: int, expected: int
) -> None:
    for step in (*kept, 8):
        (run.checkpoints / f"step-{step:08d}").mkdir(exist_ok=True)
    (run.checkpoints / "best").symlink_to("step-00000008")
    run.go_back_to(3, best_step)
    links = [(run.checkpoints / name).readlink() for name in ("last", "best")]
    assert links == [Path("step-00000003"), Path(f"step-{expected:08d}")]


def test_a_run_without_validations_gets_no_best_by_going_back(run: RunDirectory) -> None:
    run.go_back_to(3, 0)
    assert not (run.checkpoints / "best").is_symlink()


def test_what_killed_processes_left_is_removed_and_nothing_else(run: RunDirectory) -> None:
    left = [run.path / ".translate-writing-abcd_123", run.checkpoints / ".translate-writing-01234567"]
    kept = [run.path / ".translate-writing-mine", run.checkpoints / ".writing-mine"]
    for folder in (*left, *kept):
        folder.mkdir()
        (folder / "file").write_text("x")
    run.tidy()
    assert not any(folder.exists() for folder in left)
    assert all((folder / "file").exists() for folder in kept)


def test_a_run_without_a_checkpoint_or_scores_is_free(run: RunDirectory) -> None:
    (run.checkpoints / "step-00000003").rmdir()
    (run.checkpoints / ".translate-writing-abcd_123").mkdir()
    run.check_free(overwrite=False)
    (run.path / "notes").mkdir()
    with pytest.raises(UserError, match="which is not its own"):
        run.check_free(overwrite=False)


@pytest.mark.parametrize("name", ["checkpoints/best", "scores.json"])
def test_a_run_with_results_of_any_kind_is_not_free(run: RunDirectory, name: str) -> None:
    (run.checkpoints / "step-00000003").rmdir()
    (run.path / name).touch()
    with pytest.raises(UserError, match="a run of this name already"):
        run.check_free(overwrite=False)
