"""The fuzzer makes a case from its number alone, and its judge sees each kind of fault."""

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tools.fuzz import contents, judge
from tests.tools.fuzz_cases import MAKERS, Case

TRACEBACK = "Traceback (most recent call last)"
DONE, FAILED, CRASHED, KILLED = 0, 2 << 8, 99 << 8, 11


@pytest.mark.parametrize(
    ("status", "printed", "errors", "fault"),
    [
        (DONE, "a\n", "", None),
        (FAILED, "", "error: no such run directory\n", None),
        (-1, "", "", "hangs"),
        (KILLED, "", "", "dies of signal 11"),
        (CRASHED, "", "", "ends with exit code 99"),
        (
            FAILED,
            "",
            "Traceback (most recent call last):\nValueError: x\n",
            "prints a traceback: ValueError: x",
        ),
        (FAILED, "", f"error: {'x' * 2000}\n", "prints an error of 2,007 bytes"),
        (DONE, "a\nb\n", "", "gives 2 lines for 1"),
        (DONE, "", "", "gives 0 lines for 1"),
        (DONE, "NaNa\n", "", "prints what is no JSON"),
        (1 << 8, "\n", "warning: 1 sentence: could not be translated", "loses a line"),
    ],
)
def test_each_fault_is_seen(
    tmp_path: Path, status: int, printed: str, errors: str, fault: str | None
) -> None:
    place, out = tmp_path / "case", tmp_path / "out"
    place.mkdir()
    out.mkdir()
    (out / "stdout").write_text(printed)
    (out / "stderr").write_text(errors)
    case = Case([], place, lines=1, as_json="JSON" in (fault or ""))
    found = judge(case, out, {}, (status, 1.0, 0))
    assert found == [] if fault is None else len(found) == 1 and found[0].startswith(fault)


def test_files_that_change_or_appear_are_seen(tmp_path: Path) -> None:
    place, out = tmp_path / "case", tmp_path / "out"
    place.mkdir()
    out.mkdir()
    (place / "mine").write_text("mine")
    before = contents(place)
    (place / "mine").write_text("theirs")
    (place / "allowed").mkdir()
    (place / "beside").write_text("")
    found = judge(Case([], place, outputs={"allowed"}), out, before, (DONE, 1.0, 0))
    assert found == ["changes mine", "writes beside"]


@pytest.mark.parametrize("kind", ["line", "gold", "corpus"])
def test_a_case_follows_from_its_number(tmp_path: Path, kind: str) -> None:
    made = []
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        case = MAKERS[kind](random.Random(f"{kind}:17"), folder, tmp_path / "runs")
        made.append((case.arguments, case.stdin, contents(folder)))
    assert made[0] == made[1]


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="a system without fork")
def test_no_case_finds_a_fault(tiny_runs: dict[str, Path]) -> None:
    folder = tiny_runs["transformer"].parent
    line = [sys.executable, "-m", "tests.tools.fuzz", "--cases", "36", "--runs", str(folder)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(line, capture_output=True, text=True, env=environment, timeout=500)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("36 cases")
