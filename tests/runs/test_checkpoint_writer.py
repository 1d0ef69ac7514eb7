import threading
from concurrent.futures import wait
from pathlib import Path
from typing import Any

import pytest
import torch

from translate.errors import UserError
from translate.runs import checkpoint
from translate.runs.checkpoint import Writer, load_state, load_weights, save_checkpoint

OPTIONS: dict[str, Any] = {"best": False, "keep_last": 3}


def weights(value: float) -> dict[str, torch.Tensor]:
    return {"matrix": torch.full((3, 5), value)}


def test_what_is_written_is_what_was_when_it_was_submitted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_write = threading.Event()

    def write(*arguments: Any, **options: Any) -> None:
        may_write.wait(10)
        save_checkpoint(*arguments, **options)

    held, state = weights(1.0), {"average": [torch.zeros(2)]}
    monkeypatch.setattr(checkpoint, "save_checkpoint", write)
    with Writer(tmp_path) as writer:
        writer.submit(7, held, state, **OPTIONS)
        held["matrix"].fill_(9.0)  # the training goes on
        state["average"][0].fill_(9.0)
        may_write.set()
    assert load_weights(tmp_path / "last")["matrix"].eq(1.0).all()
    assert load_state(tmp_path / "last")["average"][0].eq(0.0).all()


def test_the_training_does_not_wait_for_a_slow_disk_but_the_end_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[int] = []
    may_write = {step: threading.Event() for step in (1, 2)}

    def write(directory: Path, step: int, *arguments: Any, **options: Any) -> None:
        assert may_write[step].wait(60)
        written.append(step)

    monkeypatch.setattr(checkpoint, "save_checkpoint", write)
    with Writer(tmp_path) as writer:
        writer.submit(1, weights(1), {}, **OPTIONS)
        assert written == []
        threading.Timer(0.1, may_write[1].set).start()
        writer.submit(2, weights(2), {}, **OPTIONS)  # one at a time: waits for the first
        assert written == [1]
        threading.Timer(0.1, may_write[2].set).start()
    assert written == [1, 2]


@pytest.mark.parametrize(
    "error",
    [OSError(28, "No space left on device"), RuntimeError("PytorchStreamWriter failed writing file\nat x")],
)
def test_a_full_disk_is_told_and_the_last_good_checkpoint_named(
    tmp_path: Path, error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(directory: Path, step: int, *arguments: Any, **options: Any) -> None:
        if step == 20:
            raise error
        save_checkpoint(directory, step, *arguments, **options)

    monkeypatch.setattr(checkpoint, "save_checkpoint", write)
    writer = Writer(tmp_path)
    writer.submit(10, weights(1), {"step": 10}, **OPTIONS)
    writer.submit(20, weights(2), {"step": 20}, **OPTIONS)
    wait([writer.written])  # type: ignore[list-item]
    with pytest.raises(UserError, match="the checkpoint cannot be written") as told:
        writer.check()
    assert str(told.value).endswith(f"the last checkpoint is {tmp_path / 'step-00000010'}")
    assert "\n" not in str(told.value)
    assert load_state(tmp_path / "last") == {"step": 10}
    writer.wait()  # told once
