"""Worker processes end with the one that started them, and leave an interrupt to it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from translate.prepare.executors import OneMachine

WAITING = """
import signal, sys, threading, time
from multiprocessing import active_children
from translate.prepare.executors import in_processes

def tell():
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # which the main thread shall get
    while len(children := active_children()) < 2:
        time.sleep(0.01)
    print(*(process.pid for process in children), flush=True)
    if sys.argv[1] == "begun":
        time.sleep(2)
        print("ready", flush=True)

if __name__ == "__main__":
    threading.Thread(target=tell, daemon=True).start()
    try:
        in_processes(2, time.sleep, [(300,)] * 3, "killed")
    except KeyboardInterrupt:
        raise SystemExit(130)
"""


def _started(when: str) -> tuple["subprocess.Popen[str]", list[int]]:
    process = subprocess.Popen(
        [sys.executable, "-c", WAITING, when],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # A shell's background job ignores SIGINT, and so would its children.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    return process, [int(word) for word in process.stdout.readline().split()]


def _runs(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state not in "ZX"


def _gone(processes: list[int]) -> bool:
    for _ in range(200):
        if not any(map(_runs, processes)):
            return True
        time.sleep(0.1)
    return False


@pytest.mark.parametrize("when", ["beginning", "begun"])
def test_an_interrupt_of_the_terminal_ends_all_without_a_traceback(when: str) -> None:
    process, workers = _started(when)
    if when == "begun":
        process.stdout.readline()
    os.killpg(process.pid, signal.SIGINT)  # as a terminal sends it: to every process of the command
    _, error = process.communicate(timeout=60)
    assert (process.returncode, error) == (130, "")
    assert len(workers) == 2
    assert _gone(workers)


def test_workers_of_a_killed_process_end() -> None:
    process, workers = _started("begun")
    process.stdout.readline()
    assert all(map(_runs, workers))
    process.kill()
    process.wait(timeout=60)
    assert _gone(workers)


def test_an_interrupted_statement_is_an_interrupt(tmp_path: Path) -> None:
    executor = OneMachine(tmp_path, memory=1 << 28, workers=1)
    endless = "SELECT count(*) AS n FROM range(1000000000) a, range(1000000000) b"
    code = f"import os, signal, time; time.sleep(1); os.kill({os.getpid()}, signal.SIGINT)"
    with subprocess.Popen([sys.executable, "-c", code]), pytest.raises(KeyboardInterrupt):
        executor.store(endless, tmp_path / "out")
    executor.close()
