"""The end of a command's process: what must still happen does, and nothing is cleared."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

# What a process still has at its end: a thread, an exit handler, text that is not written yet, and an object
# that says when Python clears it.
PROGRAM = """
import atexit, sys, threading, time
{before}
from translate.cli.ending import Ending
ending = Ending()
atexit.register(sys.stderr.write, "handler ")

class Cleared:
    def __del__(self, write=sys.stderr.write):
        write("cleared ")

kept = Cleared()
kept.itself = [kept]
threading.Thread(target=lambda: (time.sleep(0.05), print("thread"))).start()
print("text")
ending.code = {code}
raise SystemExit(3)
"""


def ended(code: int | None, before: str = "", **options: object) -> "subprocess.CompletedProcess[str]":
    program = PROGRAM.format(code=code, before=before)
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    given = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "env": buffered, **options}
    return subprocess.run([sys.executable, "-c", program], check=False, **given)  # type: ignore[call-overload]


def test_threads_handlers_and_text_come_first_and_nothing_is_cleared() -> None:
    done = ended(5)
    assert (done.returncode, done.stdout, done.stderr) == (5, "text\nthread\n", "handler ")


def test_without_a_code_the_process_ends_as_always() -> None:
    done = ended(None)
    assert (done.returncode, done.stdout, done.stderr) == (3, "text\nthread\n", "handler cleared ")


@pytest.mark.parametrize("watcher", ["settrace", "setprofile"])
def test_under_a_watcher_the_process_ends_as_always(watcher: str) -> None:
    done = ended(5, f"sys.{watcher}(lambda *_: None)")
    assert (done.returncode, done.stderr) == (3, "handler cleared ")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_text_that_cannot_be_written_is_told_by_python() -> None:
    with open("/dev/full", "w") as full:
        done = ended(5, stdout=full)
    assert done.returncode == 120
    assert "No space left on device" in done.stderr
