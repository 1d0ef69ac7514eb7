"""Mutates what strangers could hand in, and looks for crashes, hangs, lost lines and changed inputs.

    python -m tests.tools.fuzz --cases 600 --first 1000              # all kinds
    python -m tests.tools.fuzz --cases 2000 --kind run --kind line   # 2,000 cases of two kinds
    python -m tests.tools.fuzz --kind line --first 17 --cases 1      # one case again, with its output

A case depends on its kind and number alone, so a finding can be repeated. It runs in a process of its own,
forked from one that has torch loaded, with 2 GiB of memory and 20 s of a processor. A command must end by
itself with one of its exit codes, print no traceback, change no input, write nothing but its output, and
answer each line with one line.
"""

import argparse
import contextlib
import hashlib
import json
import os
import random
import resource
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.tools.forks import end_with, load_libraries, processor_seconds, train_runs, use_files
from tests.tools.fuzz_cases import MAKERS, Case

SECONDS, MEMORY = 20.0, 2 << 30  # of a case: seconds of the processor, bytes
WALL = 6 * SECONDS  # seconds by the clock; a machine with other work is slow
EXIT_CODES = {0, 1, 2, 75, 130}


def contents(folder: Path) -> dict[str, str]:
    """The checksum of every file below ``folder``, or the kind of a special file."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = f"link {os.readlink(path)}"
        elif path.is_file() and path.stat().st_size < 1 << 28:
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
        else:
            found[name] = f"mode {path.lstat().st_mode}"
    return found


def run_child(case: Case, out: Path) -> tuple[int | None, int]:
    """Run a command in a forked process: exit code, or ``None`` if it hangs, and most memory in bytes."""
    (out / "stdin").write_bytes(case.stdin)
    began = time.monotonic()
    child = os.fork()
    if not child:
        os.setsid()
        limit = MEMORY + int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        use_files(*(out / name for name in ("stdin", "stdout", "stderr")))
        os.chdir(case.folder)
        sys.argv = ["translate", *case.arguments]
        end_with(run_command)
    while time.monotonic() - began < WALL and processor_seconds(child) < SECONDS:
        pid, status, usage = os.wait4(child, os.WNOHANG)
        if pid:
            return os.waitstatus_to_exitcode(status), usage.ru_maxrss * 1024
        time.sleep(0.005)
    with contextlib.suppress(ProcessLookupError):  # a child that has not come to its own group yet
        os.killpg(child, signal.SIGKILL)
    os.kill(child, signal.SIGKILL)
    return None, os.wait4(child, 0)[2].ru_maxrss * 1024


def run_command() -> None:
    """Import the command in the child, where a failing import is a finding too, and run it."""
    from translate.cli.main import main

    main()


def judge(case: Case, out: Path, before: dict[str, str], code: int | None, memory: int) -> list[str]:
    """The faults of a case that has run."""
    printed, errors = ((out / name).read_bytes() for name in ("stdout", "stderr"))
    told = errors.decode("utf-8", "replace").strip().splitlines() or [""]
    longest = max((len(line) for line in told if line.startswith("error:")), default=0)
    faults = {
        "hangs": code is None,
        f"ends with exit code {code}": code is not None and code not in EXIT_CODES,  # below 0: by a signal
        f"prints a traceback: {told[-1][:150]}": b"Traceback (most recent call last)" in printed + errors,
        f"loses a line: {told[-1][:150]}": b"could not be translated" in errors,
        f"takes {memory / 2**30:.1f} GiB": memory > MEMORY + (512 << 20),
        f"prints an error of {longest:,} characters": longest > 1500,
    }
    found = [fault for fault, is_there in faults.items() if is_there]
    if code == 0 and case.lines is not None:
        rows = printed.decode("utf-8", "replace").split("\n")[:-1]
        if len(rows) != case.lines:
            found.append(f"gives {len(rows)} lines for {case.lines}")
        elif case.as_json:
            try:
                for row in rows:
                    json.loads(row)
            except ValueError as error:
                found.append(f"prints what is no JSON: {error}")
    different = {name for name, _ in before.items() ^ contents(case.folder).items()}
    if beside := sorted(name for name in different if name.split("/")[0] not in case.outputs):
        found.append(f"changes or writes {beside[0]}")
    return found


def try_case(kind: str, number: int, runs: Path, *, show: bool = False) -> list[str]:
    """Make a case, run it, and return its faults."""
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        place, out = Path(folder) / "case", Path(folder) / "out"
        place.mkdir()
        out.mkdir()
        (out / "stdout").touch()
        (out / "stderr").touch()
        case = MAKERS[kind](random.Random(f"{kind}:{number}"), place, runs)
        before = contents(place)
        found = judge(case, out, before, *run_child(case, out))
        if show:
            print("translate", *(repr(word)[:200] for word in case.arguments))
            for path in (out / "stdout", out / "stderr"):
                print(f"--- {path.name}", path.read_bytes()[-4000:].decode("utf-8", "replace"), sep="\n")
        return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--cases", type=int, default=600, help="number of cases; one is shown with its output"
    )
    parser.add_argument("--first", type=int, default=1, help="number of the first case of every kind")
    parser.add_argument("--kind", action="append", choices=MAKERS, help="only these kinds; all by default")
    parser.add_argument("--runs", type=Path, default=Path(tempfile.gettempdir()) / "translate-fuzz-runs")
    options = parser.parse_args()
    os.environ["TRANSLATE_CACHE"] = str(options.runs / "cache")
    options.runs.mkdir(parents=True, exist_ok=True)
    train_runs(options.runs)
    load_libraries()
    kinds, findings = options.kind or list(MAKERS), Counter[str]()
    with contextlib.suppress(KeyboardInterrupt):  # the findings so far are printed all the same
        for done in range(options.cases):
            kind, number = kinds[done % len(kinds)], options.first + done // len(kinds)
            for finding in try_case(kind, number, options.runs, show=options.cases == 1):
                findings[kind] += 1
                print(f"{kind}:{number}: {finding}", flush=True)
    print(f"{options.cases:,} cases, {findings.total()} findings {dict(findings) or ''}")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
