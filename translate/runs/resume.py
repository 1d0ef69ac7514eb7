"""Resuming a run: its checkpoint, whether settings and data are the same, and whether it has ended."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from translate.config.names import shorten
from translate.config.settings import Settings
from translate.config.targets import MOVED
from translate.config.training import RuntimeConfig
from translate.corpora.caches import fingerprint
from translate.corpora.corpus import Corpus, Split
from translate.errors import UserError
from translate.runs.assembly import Assembly, Job, assemble
from translate.runs.hooks import PATIENCE
from translate.runs.load import build_model, read_settings, vocabulary_sizes
from translate.runs.storage.checkpoint import STATE, load_state, recover
from translate.runs.storage.lock import check_unused
from translate.runs.storage.run_directory import RunDirectory
from translate.runs.storage.shards import read_shards
from translate.text.aside import told
from translate.text.tokenizer import TokenizerPair
from translate.training.generators import seed_generators
from translate.training.loop import Training
from translate.training.progress import MAX_TIME, Limits, Progress

SECTIONS = ("data", "tokenizer", "model", "optimizer", "schedule", "training")
FOUND_IN_CORPUS = ("data.source_language", "data.target_language")  # filled in when they are null
# What every state holds; later parts may lack in older ones
STORED: dict[str, type | tuple[type, ...]] = {
    "progress": Mapping,
    "generators": Sequence,
    "threads": int,
    "group_size": int,
    "model": Mapping,
    "optimizer": Mapping,
    "schedule": Mapping,
}
# Settings that the steps themselves do not depend on
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
    """The state of the checkpoint to resume, or ``None`` for a fresh start.

    A different number of processes may accumulate a different number of batches, for steps of the same size.

    Raises:
        UserError: if the folder holds something that must not be replaced, a run with other settings, or a
            damaged checkpoint.
    """
    check_unused(directory.path)
    with told(directory.path):
        recover(directory.checkpoints)
    if settings.training.resume and directory.has_checkpoint():
        before = read_settings(directory, settings.run.plugins)
        folder = checkpoint_to_resume(settings, directory)
        if settings.training.accumulate == before.training.accumulate:
            check_same(settings, before, directory)
            return read_state(folder)
        state = read_state(folder)
        same_steps = settings.training.accumulate * processes == state["group_size"]
        check_same(settings, before, directory, but=("training.accumulate",) if same_steps else ())
        return state
    if settings.training.resume_from:
        raise UserError(f"training.resume_from: there is no checkpoint in {directory.checkpoints}")
    directory.check_free(overwrite=settings.run.overwrite or settings.training.resume)
    return None


def read_state(folder: Path) -> dict[str, Any]:
    """The state of a checkpoint; raises :class:`UserError` if something that a run stores is not in it."""
    state = load_state(folder)
    for name, kind in STORED.items():
        if not isinstance(state.get(name), kind):
            found = f"{name} is {shorten(repr(state[name]))}" if name in state else f"{name} is missing"
            raise UserError(
                f"{folder / STATE}: not the state of a run ({found}); expected the file that the run wrote"
            )
    try:
        Progress.from_state(state["progress"])
    except (TypeError, ValueError) as error:
        raise UserError(
            f"{folder / STATE}: not the state of a run (progress: {shorten(error)}); expected the file that "
            "the run wrote"
        ) from error
    return state


def checkpoint_to_resume(settings: Settings, directory: RunDirectory) -> Path:
    """The folder of the checkpoint that a run resumes."""
    return directory.checkpoints / (settings.training.resume_from or "last")


def resume(job: Job, corpus: Corpus, state: dict[str, Any]) -> Assembly:
    """Build everything as it was, and restore the ``state`` of a checkpoint; prints where the run stands."""
    settings, directory = job.settings, job.directory
    seed_generators(settings.training.seed)
    tokenizers = TokenizerPair.load(directory.tokenizer)
    identity = identity_of(corpus, tokenizers)
    check_identity(identity, state.get("identity", {}), str(directory.path))
    keep_threads(settings.runtime, state)
    model = build_model(settings.model, vocabulary_sizes(tokenizers), settings.run.plugins).to(job.device)
    assembly = assemble(job, corpus, tokenizers, model)
    assembly.training.identity = identity
    restore(assembly.training, state, directory, checkpoint_to_resume(settings, directory))
    return assembly


def restore(training: Training, state: dict[str, Any], directory: RunDirectory, checkpoint: Path) -> None:
    """Go on from the ``state`` of ``checkpoint``, and cut the folder back to it."""
    world = training.update.parallel.world
    state = read_shards(checkpoint, state, training.update)
    try:
        training.load_state_dict(state)
    except UserError:
        raise
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, RuntimeError) as error:
        raise UserError(
            f"{checkpoint / STATE}: not the state of this run ({type(error).__name__}: {shorten(error)}); "
            "resume from another checkpoint with training.resume_from=step-..., or start again with "
            "run.overwrite=true"
        ) from error
    if world.is_main:
        directory.tidy()
        foreign = directory.cut_metrics(training.progress.step)
        if foreign:
            print(
                f"warning: {directory.metrics}: {foreign:,} lines that no run wrote; they stay, and no curve "
                "shows them",
                flush=True,
            )
        directory.point_best(training.progress.best_step)
    print(f"resumed at step {training.progress.step:,}", flush=True)
    before = len(state["generators"])
    if before != world.size:
        print(
            f"processes: {before} before, now {world.size}, with random numbers of their own; "
            f"{state['group_size']} batches an optimizer step before, now {training.stream.group_size}",
            flush=True,
        )


def check_same(
    settings: Settings, before: Settings, directory: RunDirectory, *, but: Collection[str] = ()
) -> None:
    """Raise :class:`UserError` listing the settings of a run that differ from those it is resumed with."""
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
    """``section.key`` of every value in nested mappings and dataclasses, targets by their present names."""
    items = value if isinstance(value, Mapping) else getattr(value, "__dict__", None)
    if items is None:
        return {path: MOVED.get(value, value) if isinstance(value, str) else value}
    flat: dict[str, object] = {}
    for name, item in items.items():
        flat |= _flat(item, f"{path}.{name}")
    return flat


def is_finished(progress: Progress, limits: Limits) -> bool:
    """Whether no step is left and the last one was validated; a run that ran out of time may go on."""
    ended = progress.finished is not None and limits.reached(progress) not in (None, MAX_TIME)
    return ended or progress.finished == PATIENCE


def keep_threads(runtime: RuntimeConfig, state: Mapping[str, Any]) -> None:
    """Use as many CPU threads as before, since rounding depends on them, or warn about another number."""
    before = int(state["threads"])
    if runtime.threads is None:
        torch.set_num_threads(before)
    elif runtime.threads != before:
        print(
            f"note: the run had {before} threads so far and has {runtime.threads} now; what follows is not "
            f"bitwise that of an uninterrupted run (runtime.threads={before} would be)",
            flush=True,
        )


def identity_of(corpus: Corpus, tokenizers: TokenizerPair) -> dict[str, str]:
    """Fingerprints of texts and tokenizers, by the setting that they come from."""
    models = {"tokenizer (its files)": tokenizers.source.model + tokenizers.target.model}
    found = {key: fingerprint([model])[:12] for key, model in models.items()}
    # A large corpus has a name of another kind, which is not compared with that of older versions.
    found[f"data.train (its {'table' if corpus.train.name else 'text'})"] = _of_split(corpus.train)
    found["data.validation (its text)"] = _of_split(corpus.validation)
    return found


def _of_split(split: Split | None) -> str:
    return "none" if split is None else f"{len(split):,} pairs {split.fingerprint[:12]}"


def differing(now: Mapping[str, str], then: Mapping[str, str]) -> list[str]:
    """A phrase for each difference; a fingerprint that one of the two lacks is not compared."""
    return [f"{key} was {then[key]}, now {now[key]}" for key in now if key in then and now[key] != then[key]]


def check_identity(now: Mapping[str, str], then: Mapping[str, str], where: str) -> None:
    """Raise :class:`UserError` listing every text or tokenizer that has changed."""
    found = differing(now, then)
    if found:
        raise UserError(f"{where}: cannot resume with other data: {'; '.join(found)}")
