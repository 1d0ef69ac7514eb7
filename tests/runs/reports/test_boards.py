import threading
from pathlib import Path

import pytest

from tests.disks import largest_file
from translate.runs.reports.boards import TensorBoard


def test_a_full_disk_is_an_error_of_the_system_not_a_traceback_of_a_thread(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    before = threading.excepthook
    board = TensorBoard(tmp_path)

    def fill() -> None:
        try:
            for step in range(200):
                board.scalars("train", {"nll": 1.0}, step)
        finally:
            board.close()

    with largest_file(200), pytest.raises(OSError, match="File too large"):
        fill()
    assert threading.excepthook is before
    assert "Traceback" not in capfd.readouterr().err
    with largest_file(10), pytest.raises(OSError, match="File too large"):
        TensorBoard(tmp_path / "other")
    assert threading.excepthook is before
    assert "Traceback" not in capfd.readouterr().err


def test_errors_of_other_threads_are_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[object] = []
    monkeypatch.setattr(threading, "excepthook", lambda failure: shown.append(failure.exc_value))
    board = TensorBoard(tmp_path)
    error = KeyError("mine")

    def fail() -> None:
        raise error

    thread = threading.Thread(target=fail)
    thread.start()
    thread.join()
    board.close()
    assert shown == [error]
