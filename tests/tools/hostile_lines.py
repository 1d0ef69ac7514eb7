"""Pipes a long stream of hostile lines through `translate text --markup --align --format jsonl`.

    python -m tests.tools.hostile_lines --lines 100000 --seed 1

The lines mix markup, scripts, controls and bytes that are not UTF-8; most are short, one in 500 is very long.
Every line must give one row of JSON with its source, in order; after the first tenth of the lines the memory
of the command may grow by 200 MiB; and no block of rows may take more than a limit of processor time.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from tests.tools.forks import processor_seconds, train_runs
from tests.tools.fuzz_material import LONG_TEXTS, NASTY_TEXTS

GROWTH = 200 << 20  # bytes
SECONDS = 120.0  # of the processor, of a block
WARM_UP = 0.1  # share of the lines
SAMPLE = 0.25  # seconds between two looks at the memory
MAX_CHARACTERS = 1 << 16  # of a line that is read
# fmt: off
WORDS = ["I", "love", "you", ".", "the", "cats", "sleep", "on", "bed", "look", "for", "it", "!", "rains", ","]
# fmt: on
TAGS = ["<b>", "</b>", "<i>", "</i>", "<br/>", "{0}", "%s", "<a x='1'>", "</a>", "<!-- c -->", "<", "%", "{"]
SHORT = [text for text in NASTY_TEXTS if len(text) <= 60]
LONG = [*LONG_TEXTS, *(text for text in NASTY_TEXTS if len(text) > 60)]


def hostile_line(chance: random.Random) -> bytes:
    """One line without a line feed; not always UTF-8."""
    kind = chance.random()
    if kind < 0.002:
        parts = [chance.choice(LONG)]
    elif kind < 0.005:
        parts = [chance.choice([*WORDS, *TAGS, *SHORT]) for _ in range(chance.randint(50, 300))]
    elif kind < 0.05:
        return chance.randbytes(chance.randint(0, 40)).replace(b"\n", b"")
    elif kind < 0.15:
        parts = [
            chr(chance.choice([chance.randint(0, 0x2FF), chance.randint(0x300, 0x1FFFF)])) for _ in range(9)
        ]
    else:
        parts = [
            chance.choice(chance.choice([WORDS, WORDS, TAGS, SHORT])) for _ in range(chance.randint(0, 10))
        ]
    text = chance.choice(["", " ", " "]).join(parts)
    return text.encode("utf-8", "surrogatepass").replace(b"\n", b" ")


def hostile_lines(count: int, seed: int) -> Iterator[bytes]:
    chance = random.Random(seed)
    for _ in range(count):
        yield hostile_line(chance)


def as_read(line: bytes, *, first: bool) -> str:
    """The text of a line as the command should read it."""
    line = line.removesuffix(b"\r")
    return (line.removeprefix(b"\xef\xbb\xbf") if first else line).decode("utf-8", "replace")[:MAX_CHARACTERS]


def feed(pipe: IO[bytes], lines: Iterator[bytes]) -> None:
    with pipe:
        for line in lines:
            pipe.write(line + b"\n")


def memory_of(pid: int) -> int:
    """Bytes of a process in memory; 0 if it has ended."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    sizes = [line.split()[1] for line in status.splitlines() if line.startswith("VmRSS:")]
    return int(sizes[0]) * 1024 if sizes else 0


def refuse(constant: str) -> float:
    raise ValueError(f"{constant} is no JSON")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--lines", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--beam-size", type=int, default=1)
    parser.add_argument("--backend", default="transformer")
    parser.add_argument("--runs", type=Path, default=Path(tempfile.gettempdir()) / "translate-fuzz-runs")
    options = parser.parse_args()
    options.runs.mkdir(parents=True, exist_ok=True)
    train_runs(options.runs)
    command = [sys.executable, "-m", "translate.cli.main", "text", str(options.runs / options.backend)]
    command += ["--markup", "--align", "--format", "jsonl", "--threads", "1"]
    command += ["--beam-size", str(options.beam_size)]
    began, done, wrong = time.monotonic(), 0, list[str]()
    peaks = [0, 0]  # bytes, in the warm-up and after it
    slowest = last = 0.0
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        lines = hostile_lines(options.lines, options.seed)
        threading.Thread(target=feed, args=(child.stdin, lines), daemon=True).start()

        def sample() -> None:
            while child.returncode is None:
                warm = done >= WARM_UP * options.lines
                peaks[warm] = max(peaks[warm], memory_of(child.pid))
                time.sleep(SAMPLE)

        threading.Thread(target=sample, daemon=True).start()
        expected = hostile_lines(options.lines, options.seed)
        for row in child.stdout:
            line = next(expected, None)
            try:
                found = json.loads(row.decode("utf-8"), parse_constant=refuse)
                if line is None or found["source"] != as_read(line, first=done == 0):
                    wrong.append(f"line {done + 1}: another source")
            except ValueError as error:
                wrong.append(f"line {done + 1}: {error}")
            done += 1
            if done % 16 == 0:
                now = processor_seconds(child.pid)
                slowest, last = max(slowest, now - last), now
            if done % 5000 == 0:
                print(f"{done:,} lines, {memory_of(child.pid) >> 20} MiB", file=sys.stderr, flush=True)
    checks = {
        f"exit code {child.returncode}": child.returncode != 0,
        f"{done:,} rows for {options.lines:,} lines": done != options.lines,
        f"{len(wrong)} wrong rows": bool(wrong),
        f"memory {peaks[0] >> 20} MiB, then {peaks[1] >> 20} MiB": peaks[1] > peaks[0] + GROWTH,
        f"at most {slowest:.1f} s for a block": slowest > SECONDS,
        f"{last:,.0f} s of the processor, {time.monotonic() - began:,.0f} s": False,
    }
    print(*wrong[:5], sep="\n", end="\n" if wrong else "")
    print("FAILED:" if any(checks.values()) else "passed:", "; ".join(checks))
    return int(any(checks.values()))


if __name__ == "__main__":
    sys.exit(main())
