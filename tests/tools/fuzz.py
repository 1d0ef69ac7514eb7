"""Mutates what strangers could hand in, and looks for crashes, hangs, lost lines and changed inputs.

    python -m tests.tools.fuzz --seconds 60 --seed 1                 # all kinds for a minute
    python -m tests.tools.fuzz --cases 2000 --kind run --kind line   # 2,000 cases of two kinds
    python -m tests.tools.fuzz --repeat line:17                      # one case again, with its output

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


def run_child(case: Case, out: Path) -> tuple[int, float, int]:
    """Run the command in a forked process: wait status, seconds, and most memory in bytes."""
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
            return status, time.monotonic() - began, usage.ru_maxrss * 1024
        time.sleep(0.005)
    with contextlib.suppress(ProcessLookupError):  # a child that has not come to its own group yet
        os.killpg(child, signal.SIGKILL)
    os.kill(child, signal.SIGKILL)
    _, status, usage = os.wait4(child, 0)
    return -1, time.monotonic() - began, usage.ru_maxrss * 1024


def run_command() -> None:
    """Import the command in the child, where a failing import is a finding too, and run it."""
    from translate.cli.main import main

    main()


def judge(case: Case, out: Path, before: dict[str, str], result: tuple[int, float, int]) -> list[str]:
    """The faults of a case that has run."""
    status, seconds, memory = result
    printed = (out / "stdout").read_bytes() if (out / "stdout").exists() else b""
    errors = (out / "stderr").read_bytes() if (out / "stderr").exists() else b""
    found = []
    if status == -1:
        found.append(f"hangs: killed after {seconds:.0f} s")
    elif os.WIFSIGNALED(status):
        found.append(f"dies of signal {os.WTERMSIG(status)}")
    elif os.WEXITSTATUS(status) not in EXIT_CODES:
        found.append(f"ends with exit code {os.WEXITSTATUS(status)}")
    if b"Traceback (most recent call last)" in printed + errors:
        last = errors.decode("utf-8", "replace").strip().splitlines()[-1:] or [""]
        found.append(f"prints a traceback: {last[0][:150]}")
    if b"could not be translated" in errors:
        found.append(f"loses a line: {errors.decode('utf-8', 'replace').strip().splitlines()[-1][:150]}")
    if memory > MEMORY + (512 << 20):
        found.append(f"takes {memory / 2**30:.1f} GiB")
    longest = max((len(line) for line in errors.splitlines() if line.startswith(b"error:")), default=0)
    if longest > 1500:
        found.append(f"prints an error of {longest:,} bytes")
    succeeded = status != -1 and os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0
    if succeeded and case.lines is not None:
        rows = printed.decode("utf-8", "replace").split("\n")[:-1]
        if len(rows) != case.lines:
            found.append(f"gives {len(rows)} lines for {case.lines}")
        elif case.as_json:
            try:
                for row in rows:
                    json.loads(row)
            except ValueError as error:
                found.append(f"prints what is no JSON: {error}")
    after = contents(case.folder)
    changed = [
        name
        for name, sum_ in before.items()
        if after.get(name) != sum_ and name.split("/")[0] not in case.outputs
    ]
    beside = [name for name in after.keys() - before.keys() if name.split("/")[0] not in case.outputs]
    if changed:
        found.append(f"changes {changed[0]}")
    if beside:
        found.append(f"writes {beside[0]}")
    return found


def try_case(kind: str, number: int, runs: Path, *, show: bool = False) -> list[str]:
    """Make a case, run it, and return its faults."""
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        place, out = Path(folder) / "case", Path(folder) / "out"
        place.mkdir()
        out.mkdir()
        case = MAKERS[kind](random.Random(f"{kind}:{number}"), place, runs)
        before = contents(place)
        found = judge(case, out, before, run_child(case, out))
        if show:
            print("translate", *(repr(word)[:200] for word in case.arguments))
            for name in ("stdout", "stderr"):
                if (out / name).exists():
                    print(
                        f"--- {name}", (out / name).read_bytes()[-4000:].decode("utf-8", "replace"), sep="\n"
                    )
        return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, help="stop after this time")
    parser.add_argument("--cases", type=int, help="stop after this number of cases")
    parser.add_argument("--seed", type=int, default=1, help="number of the first case, in millions")
    parser.add_argument("--kind", action="append", choices=MAKERS, help="only these kinds; all by default")
    parser.add_argument("--repeat", help="KIND:NUMBER of one case")
    parser.add_argument("--runs", type=Path, default=Path(tempfile.gettempdir()) / "translate-fuzz-runs")
    options = parser.parse_args()
    os.environ["TRANSLATE_CACHE"] = str(options.runs / "cache")
    options.runs.mkdir(parents=True, exist_ok=True)
    train_runs(options.runs)
    load_libraries()
    if options.repeat:
        kind, _, number = options.repeat.partition(":")
        print(*(try_case(kind, int(number), options.runs, show=True) or ["nothing is wrong"]), sep="\n")
        return 0
    if options.seconds is None and options.cases is None:
        options.seconds = 60.0
    kinds = options.kind or list(MAKERS)
    began, done, findings = time.monotonic(), 0, Counter[str]()
    with contextlib.suppress(KeyboardInterrupt):  # the findings so far are printed all the same
        while (options.cases is None or done < options.cases) and (
            options.seconds is None or time.monotonic() - began < options.seconds
        ):
            kind, number = kinds[done % len(kinds)], options.seed * 1_000_000 + done // len(kinds)
            for finding in try_case(kind, number, options.runs):
                findings[kind] += 1
                print(f"{kind}:{number}: {finding}", flush=True)
            done += 1
    total, seconds = sum(findings.values()), time.monotonic() - began
    print(f"{done:,} cases in {seconds:.0f} s, {total} findings {dict(findings) or ''}")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
