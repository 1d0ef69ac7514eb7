import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from translate.errors import UserError
from translate.runs.checkpoint import load_state, load_weights, recover, save_checkpoint


def save(directory: Path, step: int, *, best: bool = False, keep_last: int = 1) -> Path:
    weights = {"matrix": torch.full((3, 5), float(step))}
    return save_checkpoint(directory, step, weights, {"step": step}, best=best, keep_last=keep_last)


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def test_what_is_saved_is_read_back(tmp_path: Path) -> None:
    folder = save(tmp_path, 7, best=True)
    assert folder == tmp_path / "step-00000007"
    for name in ("last", "best", folder.name):
        assert torch.equal(load_weights(tmp_path / name)["matrix"], torch.full((3, 5), 7.0))
        assert load_state(tmp_path / name) == {"step": 7}


@pytest.mark.parametrize(
    ("keep_last", "kept"),
    [
        (1, ["step-00000020", "step-00000050"]),
        (3, ["step-00000020", *(f"step-000000{n}0" for n in (3, 4, 5))]),
    ],
)
def test_only_the_best_and_the_last_are_kept(tmp_path: Path, keep_last: int, kept: list[str]) -> None:
    for step in (10, 20, 30, 40, 50):
        save(tmp_path, step, best=step in (10, 20), keep_last=keep_last)
    assert names(tmp_path) == ["best", "last", *kept]
    assert load_state(tmp_path / "best") == {"step": 20}
    assert load_state(tmp_path / "last") == {"step": 50}


def test_a_kill_while_a_checkpoint_replaces_one_of_the_same_step_loses_neither(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(tmp_path, 10)
    rename = Path.rename

    class Killed(BaseException):
        pass

    def killed(path: Path, target: Path) -> Path:
        if target == tmp_path / "step-00000010":  # the old one has been moved away
            raise Killed
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", killed)
    monkeypatch.setattr(shutil, "rmtree", lambda *arguments, **options: None)
    with pytest.raises(Killed):
        save(tmp_path, 10)
    monkeypatch.undo()
    assert not (tmp_path / "last").exists()
    recover(tmp_path)
    assert load_state(tmp_path / "last") == {"step": 10}


def test_a_save_that_fails_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(tmp_path, 10, best=True)

    def fail(state: object, path: Path) -> None:
        path.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(torch, "save", fail)
    with pytest.raises(OSError, match="No space"):
        save(tmp_path, 20, best=True)
    assert load_state(tmp_path / "last") == load_state(tmp_path / "best") == {"step": 10}
    assert names(tmp_path) == ["best", "last", "step-00000010"]


@pytest.mark.parametrize(("file", "load"), [("model.safetensors", load_weights), ("state.pt", load_state)])
@pytest.mark.parametrize("harm", [0.0, 0.5, 0.98, "flip"])
def test_a_damaged_checkpoint_is_named_and_the_one_before_it(
    tmp_path: Path, file: str, load: Callable[[Path], object], harm: float | str
) -> None:
    for step in (10, 20, 30):
        save(tmp_path, step, keep_last=3)
    path = tmp_path / "last" / file
    content = bytearray(path.read_bytes())
    if isinstance(harm, float):
        del content[int(harm * len(content)) :]
    else:
        content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(UserError) as told:
        load(tmp_path / "last")
    message = str(told.value)
    assert message.startswith(f"{path}: the checkpoint is damaged (")
    assert f"there is also {tmp_path / 'step-00000020'} " in message
    assert "training.resume_from=step-00000020" in message
    assert "\n" not in message


def test_a_damaged_checkpoint_without_another_one(tmp_path: Path) -> None:
    path = save(tmp_path, 10) / "model.safetensors"
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(UserError, match=r"damaged \(.*\); the run has no other: copy it again, or train it"):
        load_weights(tmp_path / "last")


def test_a_checkpoint_that_is_missing(tmp_path: Path) -> None:
    with pytest.raises(
        UserError, match=r"model\.safetensors: no such file of a checkpoint; a run has the first one"
    ):
        load_weights(tmp_path / "checkpoints" / "last")
    save(tmp_path, 10).joinpath("state.pt").unlink()
    with pytest.raises(UserError, match=r"state\.pt: no such file of a checkpoint"):
        load_state(tmp_path / "last")


def test_a_state_that_holds_code_is_refused(tmp_path: Path) -> None:
    folder = save(tmp_path, 10)

    class Evil:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return os.mkdir, (str(tmp_path / "owned"),)

    torch.save({"step": Evil()}, folder / "state.pt")
    with pytest.raises(UserError, match="damaged"):
        load_state(folder)
    assert not (tmp_path / "owned").exists()


def test_a_run_that_went_back_drops_what_came_after(tmp_path: Path) -> None:
    for step in (10, 20, 30):
        save(tmp_path, step, keep_last=9)
    save(tmp_path, 15, keep_last=2)
    assert names(tmp_path) == ["last", "step-00000010", "step-00000015"]
