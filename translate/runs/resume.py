"""Going on with a run: what is there, whether it is the same run, whether it has ended."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import torch

from translate.config.settings import Settings
from translate.config.training import RuntimeConfig
from translate.errors import UserError
from translate.runs.hooks import MAX_TIME, PATIENCE, Limits
from translate.runs.load import read_settings
from translate.storage.checkpoint import load_state
from translate.storage.lock import check_unused
from translate.storage.run_directory import RunDirectory
from translate.training.loop import Progress

SECTIONS = ("data", "tokenizer", "model", "optimizer", "schedule", "training")
FOUND_IN_CORPUS = ("data.source_language", "data.target_language")  # filled in when they are null
# What the steps themselves do not depend on
MAY_CHANGE = tuple(
    f"training.{name}"
    for name in (
        "max_steps",
        "max_epochs",
        "max_time",
        "validate_every",
        "validation_pairs",
        "patience",
        "save_every",
        "log_every",
        "keep_last",
        "keep_best",
        "average_last",
        "non_finite",
        "out_of_memory",
        "profile",
        "wandb",
        "resume",
        "resume_from",
    )
)


def state_to_resume(
    settings: Settings, directory: RunDirectory, *, processes: int = 1
) -> dict[str, Any] | None:
    """The state of the last checkpoint if the run is to be continued; ``None`` if it begins.

    Fewer processes may accumulate more batches for the same steps, or take smaller ones.

    Raises:
        UserError: if the folder holds something that must not be harmed, a run of other settings, or a
            damaged checkpoint.
    """
    check_unused(directory.path)
    if settings.training.resume and directory.has_checkpoint():
        before = read_settings(directory, settings.run.plugins)
        folder = checkpoint_to_resume(settings, directory)
        if settings.training.accumulate == before.training.accumulate:
            check_same(settings, before, directory)
            return load_state(folder)
        state = load_state(folder)
        same_steps = settings.training.accumulate * processes == state["group_size"]
        check_same(settings, before, directory, but=("training.accumulate",) if same_steps else ())
        return state
    if settings.training.resume_from:
        raise UserError(f"training.resume_from: there is no checkpoint in {directory.checkpoints}")
    directory.check_free(overwrite=settings.run.overwrite or settings.training.resume)
    return None


def checkpoint_to_resume(settings: Settings, directory: RunDirectory) -> Path:
    """The folder of the checkpoint that a run goes on from."""
    return directory.checkpoints / (settings.training.resume_from or "last")


def check_same(
    settings: Settings, before: Settings, directory: RunDirectory, *, but: Collection[str] = ()
) -> None:
    """Raise :class:`UserError` listing what differs between a run and the settings it is resumed with."""
    differing = []
    for section in SECTIONS:
        now, then = _flat(getattr(settings, section), section), _flat(getattr(before, section), section)
        for key in [key for key in {**then, **now} if key not in (*MAY_CHANGE, *but)]:
            given = key not in FOUND_IN_CORPUS or now.get(key) is not None
            if given and now.get(key) != then.get(key):
                differing.append(f"{key} was {then.get(key)!r}, now {now.get(key)!r}")
    if differing:
        raise UserError(f"{directory.path}: cannot resume with other settings: " + "; ".join(differing))


def _flat(value: object, path: str) -> dict[str, object]:
    """``section.key`` of every value in nested mappings and dataclasses."""
    items = value if isinstance(value, Mapping) else getattr(value, "__dict__", None)
    if items is None:
        return {path: value}
    return {key: each for name, item in items.items() for key, each in _flat(item, f"{path}.{name}").items()}


def is_finished(progress: Progress, limits: Limits) -> bool:
    """Whether a run has no step left to do, and its last one was validated; one out of time may go on."""
    ended = progress.finished is not None and limits.reached(progress) not in (None, MAX_TIME)
    return ended or progress.finished == PATIENCE


def keep_threads(runtime: RuntimeConfig, state: Mapping[str, Any]) -> None:
    """Go on with as many CPU threads as before, for sums are rounded by them; or say what others mean."""
    before = int(state["threads"])
    if runtime.threads is None:
        torch.set_num_threads(before)
    elif runtime.threads != before:
        print(
            f"note: the run had {before} threads so far and has {runtime.threads} now; what follows is not "
            f"bitwise that of an uninterrupted run (runtime.threads={before} would be)",
            flush=True,
        )
