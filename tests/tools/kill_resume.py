"""Kills trainings with SIGKILL at random moments, resumes them, and compares them with an undisturbed run.

    python -m tests.tools.kill_resume --kills 100 --seed 1          # trainings of three backends
    python -m tests.tools.kill_resume --kills 5 --backend rnn_luong
    python -m tests.tools.kill_resume --kills 10 --mixture          # a weighted mixture in three stages

A training is killed a few times, in a random phase: at its start, in a step, a validation, a saving or the
scoring at its end. After a kill every file with its final name must be whole. Then the training is resumed to
its end: checkpoints, metrics, alignment and scores must equal those of the undisturbed run bit by bit.
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
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from tests.tiny_runs import BACKENDS, overrides_of
from tests.tools.forks import end_with, load_libraries, use_files

PHASES = ("start", "step", "validation", "saving", "scoring")
KILLS_OF_A_RUN = 4
# fmt: off
PAIRS = ["data.num_train=400", "data.num_validation=5", "data.num_test=3"]
GRAMMAR = "choice: grammar, num_validation: 5, num_test: 3"
MIXTURE = [
    "data=mixture", "data.tokenised=true", "data.epoch_ends=first",
    f"data.corpora={{one: {{{GRAMMAR}, num_train: 300}}, two: {{{GRAMMAR}, num_train: 90, seed: 2}}, "
    f"three: {{{GRAMMAR}, num_train: 200, seed: 3}}}}",
    "data.stages=[{until: 9, weights: {one: 1}}, {until: 20, weights: {one: 1, two: 3}}, "
    "{weights: {one: 2, two: 1, three: 0.5}}]",
]
STEPS = [
    "training.max_steps=30", "training.validate_every=10", "training.save_every=5", "training.keep_last=2",
    "training.keep_best=2", "training.word_dropout=0.1", "training.subword_sampling=0.3",
    "alignment.calibration_pairs=5", "runtime.cache=null", "training.resume=true",
]
# fmt: on
AVERAGED = ["training.average_last=2", "training.ema=null"]
TIMED = ("seconds", "tokens_per_second")  # values that depend on the clock

marks = mmap.mmap(-1, 2 * len(PHASES))  # shared with the child: 1 in a phase, and how often it was there


def mark(phase: str, *, inside: bool) -> None:
    place = PHASES.index(phase)
    marks[place] = inside
    if inside:
        marks[len(PHASES) + place] = min(255, marks[len(PHASES) + place] + 1)


def marked(phase: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap ``function`` so that its calls are marked as a phase."""

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
        use_files(Path(os.devnull), log, log)
        from translate.cli.main import run
        from translate.runs import life
        from translate.runs.checkpoint import Writer, save_checkpoint
        from translate.runs.run_scores import Validation

        Validation.__call__ = marked("validation", Validation.__call__)  # type: ignore[method-assign]
        write = marked("saving", save_checkpoint)
        life.Writer = partial(Writer, write=write)  # type: ignore[misc, assignment]
        life.fit = marked("step", life.fit)
        life.finish = marked("scoring", life.finish)
        return run(arguments)

    end_with(command)


def ended(child: int) -> int | None:
    """The exit code of a child, or ``None`` while it lives."""
    found, status = os.waitpid(child, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if found else None


def left_alone(arguments: list[str], log: Path) -> dict[str, float]:
    """Run to the end; returns the seconds of the longest stay in each phase, and of the whole run."""
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
    """List the files of a run that have their final name but are not whole."""
    from translate.errors import UserError
    from translate.runs.checkpoint import load_state, load_weights, step_folders
    from translate.runs.load import read_settings
    from translate.runs.run_directory import RunDirectory
    from translate.text.tokenizer import TokenizerPair

    directory, wrong = RunDirectory(run), []
    readers: list[tuple[Path, Callable[[], object]]] = [
        (directory.config, lambda: read_settings(directory)),
        (directory.tokenizer, lambda: TokenizerPair.load(directory.tokenizer)),
        (directory.scores, lambda: json.loads(directory.scores.read_bytes())),
        (directory.alignment, lambda: json.loads(directory.alignment.read_bytes())),
    ]
    for folder in step_folders(directory.checkpoints):
        readers.append((folder, lambda folder=folder: (load_state(folder), load_weights(folder))))  # type: ignore[misc, assignment]
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
    """Read everything of a finished run that kills must not change."""
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


def settings(run: Path, backend: str, data: list[str]) -> list[str]:
    return overrides_of(run, backend, *data, *STEPS, *([] if backend == "transformer" else AVERAGED))


def kill_training(
    backend: str, data: list[str], folder: Path, chance: random.Random, kills: int, counts: Counter[str]
) -> list[str]:
    """Kill runs of a backend on a corpus ``kills`` times; returns the faults."""

    def arguments(run: Path) -> list[str]:
        return ["train", *settings(run, backend, data)]

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


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kills", type=int, default=12, help="kills of all backends together")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--backend", action="append", choices=BACKENDS, help="only these; all by default")
    parser.add_argument("--mixture", action="store_true", help="three corpora instead of one")
    options = parser.parse_args()
    load_libraries()
    chance, counts, wrong = random.Random(options.seed), Counter[str](), []
    backends = options.backend or BACKENDS
    with tempfile.TemporaryDirectory(prefix="kill-resume-") as name:
        folder = Path(name)
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
