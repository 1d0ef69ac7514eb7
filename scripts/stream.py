"""Memory and latency of `translate text` on a long stream, at beam 1.

    python scripts/stream.py RUN --source FILE [--lines 200000] [--threads 1]

Writes the sentences of FILE over and over to the command's standard input and reads as many lines back.
Prints the command's memory (resident, MiB) as it goes, how much it grew after the first 10,000 lines, whether
line n of the output translates line n of the input, and how long a lone line on the open stream takes.
"""

import argparse
import itertools
import subprocess
import sys
import threading
import time
from pathlib import Path

SETTLED = 10_000  # lines after which memory should stay as it is
ALLOWED = 50  # MiB


def resident(process: int) -> float:
    """MiB of memory that a process holds (Linux)."""
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise OSError(f"process {process} has no VmRSS")


def lone_line(process: "subprocess.Popen[bytes]", sentence: bytes) -> tuple[float, bytes]:
    """Seconds until a line that stands alone on the open stream is answered, and the answer."""
    assert process.stdin is not None
    assert process.stdout is not None
    began = time.monotonic()
    process.stdin.write(sentence)
    process.stdin.flush()
    answer = process.stdout.readline()
    return time.monotonic() - began, answer


def feed(process: "subprocess.Popen[bytes]", sentences: list[bytes], count: int) -> None:
    assert process.stdin is not None
    for sentence in itertools.islice(itertools.cycle(sentences), count):
        process.stdin.write(sentence)
    process.stdin.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("run", type=Path)
    parser.add_argument("--source", type=Path, required=True, help="sentences, plain text")
    parser.add_argument("--lines", type=int, default=200_000)
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    sentences = [line + b"\n" for line in arguments.source.read_bytes().split(b"\n") if line.strip()]
    command = [sys.executable, "-m", "translate.cli.main", "text", str(arguments.run), "--beam-size", "1"]
    command += ["--threads", str(arguments.threads), "--device", "cpu"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        lone_line(process, sentences[0])  # waits for the model, too
        waits = sorted(lone_line(process, each)[0] for each in sentences[1:10])
        print(f"a lone line: {waits[4]:.3f} s (median of 9), {waits[-1]:.3f} s (longest)", flush=True)
        threading.Thread(target=feed, args=(process, sentences, arguments.lines), daemon=True).start()
        assert process.stdout is not None
        known: dict[bytes, bytes] = {}
        settled = most = 0.0
        differing, began = 0, time.monotonic()
        for number in range(1, arguments.lines + 1):
            answer = process.stdout.readline()
            if not answer.endswith(b"\n"):
                raise SystemExit(f"the stream ended after {number - 1:,} lines of {arguments.lines:,}")
            source = sentences[(number - 1) % len(sentences)]
            differing += known.setdefault(source, answer) != answer
            if number % 1000 == 0 or number == arguments.lines:
                memory = resident(process.pid)
                settled = memory if number <= SETTLED else settled
                most = max(most, memory) if number > SETTLED else memory
            if number % max(1000, arguments.lines // 20) == 0:
                rate = number / (time.monotonic() - began)
                print(f"{number:>9,} lines  {memory:8.1f} MiB  {rate:7.1f} lines/s", flush=True)
        rest = process.stdout.read()
    print(f"lines out that no line came in for: {rest.count(chr(10).encode())}")
    print(f"lines that differ from the same sentence's first translation: {differing} of {arguments.lines:,}")
    print(f"growth after {SETTLED:,} lines: {most - settled:.1f} MiB (allowed: {ALLOWED})")
    sys.exit(0 if most - settled <= ALLOWED and not rest else 1)


if __name__ == "__main__":
    main()
