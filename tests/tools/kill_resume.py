"""Kills trainings at random moments, resumes them, and compares them with an undisturbed run.

    python -m tests.tools.kill_resume --kills 100 --seed 1          # trainings of three backends
    python -m tests.tools.kill_resume --kills 5 --backend rnn_luong

A training is killed a few times, at a random moment of its start, its steps, a validation, a saving or the
scoring at its end. After a kill every file with its final name must be whole. Then the training is resumed to
its end: checkpoints, metrics, alignment and scores must equal those of the undisturbed run bit by bit.
"""

import argparse
import json
import os
import random
import shutil
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from tests.tiny_runs import BACKENDS, overrides_of
from tests.tools.forks import end_with, load_libraries, use_files

KILLS_OF_A_RUN = 4
# A kill comes within so many seconds after a run has entered a phase: about as long as the phase lasts.
PHASES = {"start": 1.0, "training": 0.6, "validation": 0.1, "saving": 0.01, "scoring": 0.5}
# fmt: off
PAIRS = ["data.num_train=300", "data.num_validation=5", "data.num_test=3"]
GRAMMAR = "choice: grammar, num_validation: 5, num_test: 3"
MIXTURE = [  # three corpora, with other weights in three stages
    "data=mixture", "data.tokenised=true",
    f"data.corpora={{one: {{{GRAMMAR}, num_train: 300}}, two: {{{GRAMMAR}, num_train: 90, seed: 2}}, "
    f"three: {{{GRAMMAR}, num_train: 200, seed: 3}}}}",
    "data.stages=[{until: 5, weights: {one: 1}}, {until: 12, weights: {one: 1, two: 3}}, "
    "{weights: {one: 2, two: 1, three: 0.5}}]",
]
STEPS = [
    "training.max_steps=18", "training.validate_every=6", "training.save_every=3", "training.keep_last=2",
    "training.keep_best=2", "training.word_dropout=0.1", "training.subword_sampling=0.3",
    "alignment.calibration_pairs=5", "runtime.cache=null", "training.resume=true",
]
# fmt: on
SETTINGS = {
    "rnn_bahdanau": [*PAIRS, *STEPS],
    "rnn_luong": [*MIXTURE, *STEPS, "training.ema=null"],
    "transformer": [*PAIRS, *STEPS],
}
TIMED = ("seconds", "tokens_per_second")  # values that depend on the clock


class Kill(NamedTuple):
    """When a process is killed: after some seconds in a phase, the one that it enters for the nth time."""

    phase: str
    entry: int = 1
    seconds: float = 0.0

    @classmethod
    def drawn(cls, phase: str, chance: random.Random) -> "Kill":
        entry = chance.randint(1, 3) if phase in ("validation", "saving") else 1
        return cls(phase, entry, chance.uniform(1e-6, PHASES[phase]))

    def wrap(self, phase: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Let ``function``, which is a phase, set an alarm; nobody handles it, so it kills like SIGKILL."""
        entries = count(1)

        def call(*arguments: Any, **options: Any) -> Any:
            if phase == self.phase and next(entries) == self.entry:
                signal.setitimer(signal.ITIMER_REAL, self.seconds)
            return function(*arguments, **options)

        return call


NEVER = Kill("none")


def run_command(arguments: list[str], log: Path, kill: Kill) -> bool:
    """Run `translate` in a process forked from this one; returns whether it was killed before its end."""
    child = os.fork()
    if not child:
        end_with(partial(_command, arguments, log, kill))
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, -signal.SIGALRM), f"exit code {code}; see {log}"
    return code != 0


def _command(arguments: list[str], log: Path, kill: Kill) -> int:
    use_files(Path(os.devnull), log, log)
    from translate.cli.main import run
    from translate.runs import checkpoint, life
    from translate.runs.run_scores import Validation

    Validation.__call__ = kill.wrap("validation", Validation.__call__)  # type: ignore[method-assign]
    checkpoint.save_checkpoint = kill.wrap("saving", checkpoint.save_checkpoint)
    life.fit = kill.wrap("training", life.fit)
    life.finish = kill.wrap("scoring", life.finish)
    return int(kill.wrap("start", run)(arguments))


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
    found["metrics"] = [untimed(row) for row in rows]
    found["alignment"] = json.loads((run / "alignment.json").read_text())
    found["scores"] = untimed(json.loads((run / "scores.json").read_text()))
    return found


def kill_training(
    backend: str, folder: Path, chance: random.Random, kills: int, counts: Counter[str]
) -> list[str]:
    """Kill runs of a backend ``kills`` times; returns the faults."""

    def train(run: Path, kill: Kill) -> bool:
        return run_command(["train", *overrides_of(run, backend, *SETTINGS[backend])], log, kill)

    wrong: list[str] = []
    log, undisturbed = folder / f"{backend}.log", folder / backend
    train(undisturbed, NEVER)
    while kills > 0:
        run = folder / f"{backend}-{kills}"
        phases = chance.sample(list(PHASES), min(kills, KILLS_OF_A_RUN))
        for phase in sorted(phases, key=list(PHASES).index):
            if not train(run, Kill.drawn(phase, chance)):
                break  # the run has ended
            counts[phase] += 1
            kills -= 1
            wrong += whole(run)
        train(run, NEVER)
        found, expected = result(run), result(undisturbed)
        differing = [name for name in found | expected if found.get(name) != expected.get(name)]
        wrong += [f"{run}: {name} differs" for name in differing]
        shutil.rmtree(run)
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kills", type=int, default=4, help="kills of each backend")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--backend", action="append", choices=BACKENDS, help="only these; all by default")
    options = parser.parse_args()
    load_libraries()
    chance, counts, wrong = random.Random(options.seed), Counter[str](), []
    with tempfile.TemporaryDirectory(prefix="kill-resume-") as name:
        for backend in options.backend or BACKENDS:
            found = kill_training(backend, Path(name), chance, options.kills, counts)
            print(f"{backend}: {options.kills} kills, {len(found)} findings", flush=True)
            wrong += found
    print("killed in:", ", ".join(f"{name} {count}" for name, count in sorted(counts.items())))
    print(*wrong, f"{len(wrong)} findings", sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
