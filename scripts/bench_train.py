"""Training throughput beside other toolkits: the same corpus, vocabulary size, model sizes and batch budget.

    python scripts/bench_train.py --data MULTI30K [--peers ENVIRONMENTS --peer-scripts SCRIPTS] [--rounds 3]
        [--precisions float32 bfloat16]

Both sides run in float32, and in bfloat16 where the processor has instructions for it and the peer's script
can do it (BENCH_BF16=1: forward passes under autocast).
Ours is the command that a user types, stopped by SIGTERM once enough steps are logged. A peer is measured
by a script bench_PEER.py that prints one line, RESULT and JSON, run by the Python of its own environment;
missing and failing peers are reported. A round runs everything once, so that drift hits all alike.
"""

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

COMMON = (
    "tokenizer.vocabulary_size=8000",
    "training.batch_tokens=4096",
    "training.label_smoothing=0.1",
    "training.validate_every=100000",
    "model.dropout=0.1",
    "runtime.device=cpu",
)
TRANSFORMER = ("model=transformer", "model.width=256", "model.feedforward_size=1024")
RECURRENT = ("model.embedding_size=256", "model.encoder_size=256", "model.decoder_size=512")
LUONG = ("model=rnn_luong", "model/attention=general", *RECURRENT)
OURS = {
    "T": TRANSFORMER,
    "Rb": ("model=rnn_bahdanau", "model/attention=additive", *RECURRENT),
    "Rl": LUONG,
    # The cell, and then also the width of h~, of OpenNMT-py's.
    "Rl gru": (*LUONG, "model.cell=gru"),
    "Rl gru wide": (*LUONG, "model.cell=gru", "model.tie=none"),
    "Rl plain": (*LUONG, "model.input_feeding=false"),
}
# What a peer's script is called with, by the model that it is compared on.
PEERS = {
    "T": ("hf", "plain", "fairseq", "onmt", "eole", "joey"),
    "Rb": ("onmt", "eole", "joey"),
    "Rl": ("onmt", "joey"),
    "Rl gru": ("onmt",),
    "Rl gru wide": ("onmt",),
}
IN_BFLOAT16 = ("hf", "plain")
TARGETS = {"T": 1.4, "Rb": 2.0, "Rl": 1.8, "Rl gru": 1.8, "Rl gru wide": 1.8}


class Measured(NamedTuple):
    """One run: target tokens (without padding) a second, peak memory."""

    tokens_per_second: float
    gibibytes: float


def ours(name: str, precision: str, data: Path, threads: int, steps: int) -> Measured:
    """Train until ``steps`` steps after the first ``steps`` are logged."""
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        command = [sys.executable, "-m", "translate.cli.main", "train", "data=multi30k", f"data.path={data}"]
        command += ["data.source_language=en", "data.target_language=de", *OURS[name], *COMMON]
        command += [f"runtime.precision={precision}"]
        command += [f"training.log_every={steps}", f"runtime.threads={threads}", f"run.directory={run}"]
        environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment)
        log = run / "metrics.jsonl"
        while process.poll() is None:
            lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
            if len(lines) >= 2:
                break
            time.sleep(0.2)
        else:
            assert process.stdout is not None
            raise SystemExit(f"{name}: {process.stdout.read().decode()}")
        memory = _peak(process.pid)
        process.send_signal(signal.SIGTERM)
        process.communicate()
        record = json.loads(lines[1])
    return Measured(record["tokens_per_second"], memory)


def _peak(process: int) -> float:
    """Peak resident memory of a living process in GiB."""
    status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    return int(status.split("VmHWM:")[1].split()[0]) / 2**20


def peer(
    name: str, model: str, precision: str, scripts: Path, environments: Path, threads: int, seed: int
) -> Measured | str:
    """One run of a peer, or why there is none."""
    python = environments / ("hf" if name == "plain" else name) / "bin" / "python"
    if not python.exists():
        return "not installed"
    arguments = ["7", "2", str(seed)] if name in ("hf", "plain") else [model.split()[0], "8", "2", f"4{seed}"]
    environment = {**os.environ, "PEERS": str(environments), "OMP_NUM_THREADS": str(threads)}
    environment.pop("PYTHONPATH", None)
    environment.pop("BENCH_BF16", None)
    if precision == "bfloat16":
        environment["BENCH_BF16"] = "1"
    command = [str(python), str(scripts / f"bench_{name}.py"), *arguments]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, env=environment, timeout=300, check=False
        )
    except subprocess.TimeoutExpired:
        return "took more than 300 s"
    results = [line for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    if not results:
        return f"failed: {(done.stderr.strip().splitlines() or ['no output'])[-1][:80]}"
    found: dict[str, Any] = json.loads(results[-1].removeprefix("RESULT "))
    return Measured(found["tgt_tok_s"], found["peak_rss_gb"])


def medians_of(model: str, results: dict[tuple[str, str], list[Measured | str]]) -> dict[str, Measured]:
    """The medians of everyone who was measured with a model."""
    medians = {}
    for (who, what), found in results.items():
        measured = [run for run in found if isinstance(run, Measured)]
        if what == model and measured:
            medians[who] = Measured(*(statistics.median(column) for column in zip(*measured, strict=True)))
    return medians


def fastest(medians: dict[str, Measured], *, own: bool) -> float:
    """The most tokens a second of ours, or of all peers; 0 if nothing was measured."""
    return max(
        (run.tokens_per_second for who, run in medians.items() if who.startswith("ours") == own),
        default=0.0,
    )


def rows_of(model: str, results: dict[tuple[str, str], list[Measured | str]]) -> list[list[str]]:
    """Table rows of one model, ours first; ratios are of medians, and of our fastest precision."""
    medians = medians_of(model, results)
    mine = fastest(medians, own=True)
    rows = []
    for (who, what), found in results.items():
        if what != model:
            continue
        if who not in medians:
            rows.append([model, who, str(found[0]), "", ""])
            continue
        one = medians[who]
        ratio = f"{mine / one.tokens_per_second:.2f}" if mine else ""
        shown = f"{one.tokens_per_second:,.0f}"
        rows.append([model, who, shown, ratio, f"{one.gibibytes:.2f}"])
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with train.en.gz, train.de.gz ...")
    parser.add_argument("--peers", type=Path, help="folder with the environments of the peers")
    parser.add_argument("--peer-scripts", type=Path, help="folder with bench_PEER.py")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--steps", type=int, default=8, help="that are timed, after as many that warm up")
    parser.add_argument(
        "--precisions",
        nargs="*",
        choices=("float32", "bfloat16"),
        help="by default float32, and bfloat16 where the processor has instructions for it",
    )
    parser.add_argument("--models", nargs="*", default=list(OURS), choices=list(OURS))
    arguments = parser.parse_args()
    if arguments.peers and not arguments.peer_scripts:
        parser.error("--peers needs --peer-scripts")

    import torch
    from rich.console import Console
    from rich.table import Table

    from translate.attention.kernels.linear import bfloat16_instructions

    results: dict[tuple[str, str], list[Measured | str]] = {}

    def keep(who: str, model: str, precision: str, found: Measured | str) -> None:
        name = who if precision == "float32" else f"{who}, {precision}"
        results.setdefault((name, model), []).append(found)
        print(f"round {number}: {model} {name} {found}", flush=True)

    threads = arguments.threads
    precisions = arguments.precisions or ["float32", *(["bfloat16"] if bfloat16_instructions() else [])]
    for number in range(1, arguments.rounds + 1):
        for model in arguments.models:
            for precision in precisions:
                data = arguments.data.resolve()
                keep("ours", model, precision, ours(model, precision, data, threads, arguments.steps))
            for name in PEERS.get(model, ()) if arguments.peers else ():
                for precision in precisions:
                    if precision == "float32" or name in IN_BFLOAT16:
                        scripts, places = arguments.peer_scripts, arguments.peers
                        found = peer(name, model, precision, scripts, places, threads, number)
                        keep(name, model, precision, found)
    title = f"{torch.backends.cpu.get_cpu_capability()}, {threads} threads, torch {torch.__version__}"
    table = Table(title=title, title_justify="left")
    for column in ("model", "who", "target tokens/s", "ours is times", "GiB"):
        table.add_column(column)
    for model in arguments.models:
        for row in rows_of(model, results):
            table.add_row(*row)
    Console(highlight=False, width=120).print(table)
    for model, target in TARGETS.items():
        medians = medians_of(model, results)
        mine, rival = fastest(medians, own=True), fastest(medians, own=False)
        if mine and rival:
            print(f"{model}: {mine / rival:.2f} times the fastest peer; target {target}")


if __name__ == "__main__":
    main()
