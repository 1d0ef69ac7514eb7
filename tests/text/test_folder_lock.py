import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from translate.errors import UserError
from translate.text.folder_lock import LOCK, check_unused, holder_of, locked

BUSY = "{} works here"
HOLD = """
import sys, time
from pathlib import Path
from translate.text.folder_lock import locked
with locked(Path(sys.argv[1]), ""):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def holder(tmp_path: Path) -> subprocess.Popen[str]:
    """Another process that has the lock."""
    process = subprocess.Popen([sys.executable, "-c", HOLD, tmp_path], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_who_is_at_work_can_be_asked_where_nothing_may_be_written(tmp_path: Path) -> None:
    assert holder_of(tmp_path) is None
    with locked(tmp_path, BUSY):
        (tmp_path / LOCK).chmod(0o444)
        assert holder_of(tmp_path) == f"process {os.getpid()} on {socket.gethostname()}"
    (tmp_path / LOCK).write_bytes(b"[" * 100_000)
    assert holder_of(tmp_path) is None


def test_a_living_process_is_named_and_a_killed_one_holds_nothing(
    tmp_path: Path, holder: subprocess.Popen[str]
) -> None:
    try:
        for attempt in (lambda: check_unused(tmp_path, BUSY), lambda: locked(tmp_path, BUSY).__enter__()):
            with pytest.raises(UserError) as told:
                attempt()
            assert f"process {holder.pid} on {socket.gethostname()} works here" in str(told.value)
    finally:
        holder.kill()
        holder.communicate()
    assert (tmp_path / LOCK).exists()  # it had no time to remove it
    check_unused(tmp_path, BUSY)
    with locked(tmp_path, BUSY):
        assert json.loads((tmp_path / LOCK).read_text())["pid"] == os.getpid()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_was_made_for_nothing_is_removed(tmp_path: Path) -> None:
    with pytest.raises(KeyError), locked(tmp_path / "run", BUSY):
        raise KeyError
    assert list(tmp_path.iterdir()) == []
    check_unused(tmp_path / "run", BUSY)
    with locked(tmp_path / "run", BUSY):
        (tmp_path / "run" / "file").touch()
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["file"]


def test_where_there_are_no_locks_nothing_is_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import fcntl

    def fail(*arguments: object) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(fcntl, "flock", fail)
    with locked(tmp_path, BUSY), locked(tmp_path, BUSY):
        check_unused(tmp_path, BUSY)
