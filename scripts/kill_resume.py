"""Kills runs with SIGKILL at random moments, goes on, and compares the end with a run that was left alone.

    python scripts/kill_resume.py --kills 100 --seed 1           # of training, over three backends
    python scripts/kill_resume.py --kills 5 --backend rnn_luong
    python scripts/kill_resume.py --kills 10 --mixture --backend transformer    # weighted, in three stages

A run is killed a few times, each time in a phase that is drawn: at its start, in a step, a validation, a
saving or the scoring at its end. After each kill whatever has its final name must be whole. Then the run goes
on to its end: checkpoints, metrics, alignment and scores must be those of the run that was left alone, bit by
bit. ``kill_commands.py`` kills the other commands.
"""

import argparse
import json
import mmap
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import tiny_models
from child_process import end_with

PHASES = ("start", "step", "validation", "saving", "scoring")
KILLS_OF_A_RUN = 4
# fmt: off
PAIRS = ["data.num_train=400", "data.num_validation=5", "data.num_test=3"]
GRAMMAR = "choice: grammar, num_validation: 5, num_test: 3"
MIXTURE = [
    "data=mixture", "data.tokenised=true", "data.epoch_ends=first",
    f"data.corpora={{one: {{{GRAMMAR}, num_train: 300}}, two: {{{GRAMMAR}, num_train: 90, seed: 2}}, "
    f"three: {{{GRAMMAR}, num_train: 200, seed: 3}}}}",
    "data.stages=[{until: 17, weights: {one: 1}}, {until: 38, weights: {one: 1, two: 3}}, "
    "{weights: {one: 2, two: 1, three: 0.5}}]",
]
STEPS = [
    "tokenizer.vocabulary_size=320",
    "training.batch_tokens=300", "training.max_steps=60", "training.validate_every=12",
    "training.save_every=5", "training.log_every=1", "training.keep_last=2", "training.keep_best=2",
    "training.word_dropout=0.1", "schedule=constant",
    "schedule.warmup=5", "alignment.calibration_pairs=5", "runtime.threads=1", "runtime.cache=null",
    "runtime.device=cpu", "training.resume=true",
]
# fmt: on
SMALL = [*PAIRS, *STEPS]
MEANS = ["training.average_last=2", "training.ema=null"]
EXTRA = {"transformer": ["training.ema=0.9"], "rnn_bahdanau": MEANS, "rnn_luong": MEANS}
SIZES = {name: [*sizes, *EXTRA[name]] for name, sizes in tiny_models.SIZES.items()}
TIMED = ("seconds", "tokens_per_second")  # values that depend on the clock

marks = mmap.mmap(-1, 2 * len(PHASES))  # shared with the child: whether it is in a phase, and how often


def mark(phase: str, *, inside: bool) -> None:
    place = PHASES.index(phase)
    marks[place] = inside
    if inside:
        marks[len(PHASES) + place] = min(255, marks[len(PHASES) + place] + 1)


def marked(phase: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """``function``, whose calls are marked as a phase."""

    def call(*arguments: Any, **options: Any) -> Any:
        mark(phase, inside=True)
        try:
            return function(*arguments, **options)
        finally:
            mark(phase, inside=False)

    return call


def phase_now() -> str:
    """The innermost phase that the child is in; a checkpoint is written beside the steps."""
    order = ("saving", "validation", "scoring", "step")
    return next((phase for phase in order if marks[PHASES.index(phase)]), "start")


def start_child(arguments: list[str], log: Path) -> int:
    """A process, forked from this one, that runs `translate` and marks its phases."""
    marks[:] = bytes(len(marks))
    child = os.fork()
    if child:
        return child

    def command() -> int:
        stream = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(stream, 1)
        os.dup2(stream, 2)
        sys.stdout, sys.stderr = open(1, "w", encoding="utf-8"), open(2, "w", encoding="utf-8")  # noqa: SIM115
        from translate.cli.main import run
        from translate.runs import life
        from translate.runs.storage.writer import Writer
        from translate.runs.validation import Validation

        Validation.__call__ = marked("validation", Validation.__call__)  # type: ignore[method-assign]
        Writer._run = marked("saving", Writer._run)  # type: ignore[method-assign]
        life.fit = marked("step", life.fit)
        life.conclude = marked("scoring", life.conclude)
        return run(arguments)

    end_with(command)


def ended(child: int) -> int | None:
    """The exit code of a child, or ``None`` while it lives."""
    found, status = os.waitpid(child, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if found else None


def left_alone(arguments: list[str], log: Path) -> dict[str, float]:
    """Run to the end; returns the longest stay in each phase, in seconds."""
    child, longest = start_child(arguments, log), Counter[str]()
    phase, since = "start", time.monotonic()
    began = since
    while (code := ended(child)) is None:
        now, found = time.monotonic(), phase_now()
        longest[phase] = max(longest[phase], now - since)  # type: ignore[assignment]
        if found != phase:
            phase, since = found, now
        time.sleep(0.001)
    assert code == 0, f"exit code {code}; see {log}"
    return {**longest, "whole": time.monotonic() - began}


def kill_in(phase: str, arguments: list[str], log: Path, chance: random.Random, longest: float) -> str | None:
    """Run, and kill in a phase; returns the phase at the kill, or ``None`` if the run ended before."""
    child, place = start_child(arguments, log), len(PHASES) + PHASES.index(phase)
    wanted = 0 if phase == "start" else 1 if phase in ("step", "scoring") else chance.randint(1, 3)
    while marks[place] < wanted:
        if (code := ended(child)) is not None:
            assert code == 0, f"exit code {code}; see {log}"
            return None
        time.sleep(0.0005)
    time.sleep(chance.uniform(0, longest))
    if (code := ended(child)) is not None:
        assert code == 0, f"exit code {code}; see {log}"
        return None
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return phase_now()


def whole(run: Path) -> list[str]:
    """What is half-written in a run under its final name."""
    from translate.errors import UserError
    from translate.runs.load import read_settings
    from translate.runs.storage.checkpoint import load_state, load_weights, step_folders
    from translate.runs.storage.run_directory import RunDirectory
    from translate.text.tokenizer import TokenizerPair

    directory, wrong = RunDirectory(run), []
    readers: list[tuple[Path, Callable[[], object]]] = [
        (directory.config, lambda: read_settings(directory)),
        (directory.tokenizer, lambda: TokenizerPair.load(directory.tokenizer)),
        (directory.scores, lambda: json.loads(directory.scores.read_bytes())),
        (directory.alignment, lambda: json.loads(directory.alignment.read_bytes())),
    ]
    for folder in step_folders(directory.checkpoints):
        readers.append((folder, lambda folder=folder: (load_state(folder), load_weights(folder))))  # type: ignore[misc]
    for path, read in readers:
        try:
            if os.path.lexists(path):
                read()
        except (UserError, ValueError, OSError) as error:
            wrong.append(f"{path} is not whole: {error}")
    return wrong


def untimed(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in TIMED}


def result(run: Path) -> dict[str, object]:
    """Everything of a finished run that must not depend on kills."""
    found: dict[str, object] = {}
    for folder in sorted((run / "checkpoints").iterdir()):
        if folder.is_symlink():
            found[folder.name] = os.readlink(folder)
        elif not folder.name.startswith("."):
            found[f"{folder.name}/model"] = (folder / "model.safetensors").read_bytes()
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    found["metrics"] = [untimed(row) for row in rows if row["kind"] != "averaged"]
    found["alignment"] = json.loads((run / "alignment.json").read_text())
    found["scores"] = untimed(json.loads((run / "scores.json").read_text()))
    return found


def differing(one: dict[str, object], other: dict[str, object]) -> list[str]:
    return [name for name in {**one, **other} if one.get(name) != other.get(name)]


def kill_training(
    backend: str, data: list[str], folder: Path, chance: random.Random, kills: int, counts: Counter[str]
) -> list[str]:
    """Kill runs of a backend on a corpus ``kills`` times; returns what is wrong."""

    def arguments(run: Path) -> list[str]:
        return ["train", f"model={backend}", f"run.directory={run}", *data, *STEPS, *SIZES[backend]]

    wrong: list[str] = []
    log = folder / f"{backend}.log"
    longest = left_alone(arguments(folder / backend), log)
    expected, number = result(folder / backend), 0
    while kills > 0:
        run = folder / f"{backend}-{number}"
        number += 1
        for _ in range(min(kills, KILLS_OF_A_RUN)):
            phase = chance.choice(PHASES)
            killed = kill_in(phase, arguments(run), log, chance, longest.get(phase, 0.01))
            if killed is None:
                break  # the run has ended
            counts[killed] += 1
            kills -= 1
            wrong += whole(run)
        left_alone(arguments(run), log)
        counts["runs compared"] += 1
        wrong += [f"{run}: {name} differs" for name in differing(result(run), expected)]
        if not wrong:
            shutil.rmtree(run)
    return wrong


def load_libraries() -> None:
    """Import everything once, before the forks."""
    import datasets  # noqa: F401
    import hydra  # noqa: F401
    import matplotlib.figure  # noqa: F401
    import pyarrow  # noqa: F401
    import torch
    import torch.utils.tensorboard

    import translate.export.export_run
    import translate.figures.heatmap
    import translate.runs.guided_run
    import translate.runs.life  # noqa: F401

    torch.set_num_threads(1)


@contextmanager
def place(given: Path | None) -> Iterator[Path]:
    """The folder of the option, which stays, or a temporary one."""
    if given is not None:
        given.mkdir(parents=True)
        yield given.resolve()
    else:
        with tempfile.TemporaryDirectory(prefix="kill-resume-") as folder:
            yield Path(folder)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kills", type=int, default=12, help="of training, over all backends")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--backend", action="append", choices=SIZES, help="only these; all by default")
    parser.add_argument("--mixture", action="store_true", help="of three corpora, instead of one corpus")
    parser.add_argument("--folder", type=Path, help="a new folder that keeps runs and logs")
    options = parser.parse_args()
    load_libraries()
    chance, counts, wrong = random.Random(options.seed), Counter[str](), []
    backends = options.backend or list(SIZES)
    with place(options.folder) as folder:
        for number, backend in enumerate(backends):
            share = options.kills * (number + 1) // len(backends) - options.kills * number // len(backends)
            data = MIXTURE if options.mixture else PAIRS
            found = kill_training(backend, data, folder, chance, share, counts)
            print(f"{backend}: {share} kills, {len(found)} findings", *found, sep="\n  ", flush=True)
            wrong += found
    print("killed in:", ", ".join(f"{name} {count}" for name, count in sorted(counts.items())))
    print(*wrong, f"{len(wrong)} findings", sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
