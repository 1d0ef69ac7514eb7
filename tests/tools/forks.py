"""Forked processes that run a command, with everything imported before the fork."""

import os
import sys
import traceback
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path
from typing import NoReturn

from tests.tiny_runs import BACKENDS, train_tiny


def load_libraries() -> None:
    """Import once what the commands need, so that no forked process has to."""
    import datasets  # noqa: F401
    import hydra  # noqa: F401
    import sacrebleu  # noqa: F401
    import torch
    import torch._dynamo  # by every optimizer, in two seconds
    import torch.utils.tensorboard

    import translate.cli.train
    import translate.export.export_run
    import translate.figures.heatmap
    import translate.figures.plots
    import translate.runs.guided_run  # noqa: F401

    torch.set_num_threads(1)


def end_with(command: Callable[[], int | None]) -> NoReturn:
    """Run ``command`` and end this process with its exit code, or with a traceback and 99 if it fails."""
    code = 99
    try:
        code = command() or 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def use_files(stdin: Path, stdout: Path, stderr: Path) -> None:
    """Read and write the standard streams of this process in files."""
    os.dup2(os.open(stdin, os.O_RDONLY), 0)
    for number, path in ((1, stdout), (2, stderr)):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), number)
    sys.stdin = open(0, encoding="utf-8", errors="surrogateescape")  # noqa: SIM115
    sys.stdout, sys.stderr = open(1, "w", encoding="utf-8"), open(2, "w", encoding="utf-8")  # noqa: SIM115


def processor_seconds(pid: int) -> float:
    """Seconds of a processor that a living process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def train_runs(folder: Path) -> None:
    """Train a tiny run of each backend below ``folder``, unless it is there."""
    for backend in BACKENDS:
        if not (folder / backend / "scores.json").exists():
            process = get_context("fork").Process(target=_train, args=(folder / backend, backend))
            process.start()
            process.join()


def _train(run: Path, backend: str) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    train_tiny(run, backend, "training.max_steps=30", "run.overwrite=true", "runtime.cache=null")
