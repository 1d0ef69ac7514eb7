"""``translate train``: the life of a run, from a configuration to a trained, scored and described folder."""

import math
import os
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path

from omegaconf import DictConfig

from translate.config.data import SPLITS
from translate.config.names import counted
from translate.config.settings import check_config
from translate.corpora.caches import cache_directory
from translate.corpora.corpus import Split, load_corpus
from translate.corpora.images.image_store import read_images
from translate.corpora.linkers import correspondence_notes
from translate.errors import UserError
from translate.runs.assembly import Assembly, Job
from translate.runs.checkpoint import Writer
from translate.runs.checks import check_buildable, check_given, check_kernels, check_validation
from translate.runs.fine_tuning import guided_by_start
from translate.runs.hooks import EXIT_CODES, PATIENCE, Keeper, Signals, handled, leave_on_signals
from translate.runs.load import read_choice, read_settings
from translate.runs.recipes import as_before, fit_recipe
from translate.runs.reports import Reporter
from translate.runs.run_directory import IN_USE, RunDirectory, last_checkpoint
from translate.runs.run_scores import Validation, finish
from translate.runs.runtime import (
    check_precision,
    find_device,
    use_deterministic,
    use_float32_products,
    use_runtime,
    work_of,
)
from translate.runs.start import is_finished, resume, start, state_to_resume
from translate.runs.terminal_lines import ProgressLine, clock, start_lines
from translate.text.documents import ContextSize
from translate.text.file_writing import not_written
from translate.text.folder_lock import locked
from translate.training.loop import MAX_TIME, Limits, Progress, Training, fit
from translate.training.parallel import connected, copy_whole, disconnect, local_device, was_restarted
from translate.translator import Translator

# Readings of the pairs that teach a model well, and fewer that get a note; of many pairs one is enough.
READINGS = ((20_000, 20, 12), (200_000, 5, 3), (math.inf, 1, 1))  # of fewer pairs than


def train(config: DictConfig, free: Collection[str] = (), goes_on: str = "") -> int:
    """Train, score and describe a run; returns the exit code (75 after SIGTERM, 130 after Ctrl-C).

    Args:
        free: the settings that are chosen for the corpus and the time, see :mod:`translate.runs.recipes`.
        goes_on: says after a signal how to go on, if not with this run alone.
    """
    began = time.monotonic()
    if was_restarted():  # torchrun repeats the same command; go on from the last checkpoint
        if config.run.overwrite:  # the first attempt may not have cleared the folder
            raise UserError(
                "run.overwrite: after a restart the checkpoints may be the older run's; resume it"
            )
        config.training.update(resume=True, resume_from=None)
    config = as_before(config, free)
    settings = check_config(config)
    runtime = settings.runtime
    with leave_on_signals(Path(settings.run.directory), goes_on):
        device = find_device(local_device(runtime), where="runtime.device")
        use_runtime(device, runtime.threads)
        if (runtime.threads or 1) > (cores := os.cpu_count() or 1):
            print(f"note: runtime.threads={runtime.threads} for {counted(cores, 'core')}: more are slower")
        use_deterministic(runtime.deterministic)
        with connected(runtime, device, settings.run.directory) as world:
            directory = RunDirectory(Path(settings.run.directory))
            limits = Limits(settings.training, began=began)
            return live(Job(settings, directory, limits, device, world, goes_on), config, free)


def live(job: Job, config: DictConfig, free: Collection[str] = ()) -> int:
    """The life of a run in one process: check, corpus, model, training, scores, description."""
    check_buildable(job.settings)
    check_kernels(job.settings, job.device)
    check_precision(job.settings.runtime.precision, job.device)
    state = state_to_resume(job.settings, job.directory, processes=job.world.size)
    progress = Progress() if state is None else Progress(**state["progress"])
    job.limits.resume(progress)
    finished = job.world.from_main(lambda: is_finished(progress, job.limits))
    scored = finished and job.directory.is_scored(progress.step)
    job.world.wait()  # all processes have read the folder before one changes it
    if scored:
        before = read_settings(job.directory, job.settings.run.plugins).data
        if any(getattr(before, name) != getattr(job.settings.data, name) for name in SPLITS):
            other = job.directory.fine_tune_command()
            raise UserError(f"{finished_line(progress, job)}; for other data: {other}")
        print(finished_line(progress, job))
        return 0
    check_given(job.settings, fresh=state is None)
    with job.world.main_first():
        corpus = load_corpus(job.settings.data)
        corpus = read_images(corpus, job.settings.data, cache_directory(job.settings.runtime.cache))
    print(*corpus.summary_lines(), *correspondence_notes(corpus.train, job.settings.data), sep="\n")
    if free and state is None:
        config, lines = fit_recipe(config, free, corpus)
        print(*lines, sep="\n")
        settings = check_config(config)
        check_buildable(settings)
        job = job._replace(settings=settings, limits=Limits(settings.training, began=job.limits.began))
    check_validation(job.settings, corpus)
    source, target = corpus.source_language, corpus.target_language
    data = replace(job.settings.data, source_language=source, target_language=target)
    job = job._replace(settings=replace(job.settings, data=data))
    with locked(job.directory.path, IN_USE) if job.world.is_main else nullcontext(), kept(job.directory):
        assembly = start(job, corpus, config) if state is None else resume(job, corpus, config, state)
        training, translator = assembly.training, translator_of(job, assembly)
        if not finished:
            ready = 0.0 if progress.step else time.monotonic() - job.limits.began
            reason = train_with_hooks(job, training, translator, corpus.validation)
            if reason in EXIT_CODES:
                print(interrupted_line(reason, training.progress, job))
                return EXIT_CODES[reason]
            print(f"training ended: {reason}")
            if reason == MAX_TIME:
                for line in short_time_lines(training, job, len(corpus.train), ready):
                    print(line)
        disconnect()
        if job.world.is_main:
            finish(job.settings, training, translator, corpus, job.directory)
    return 0


def translator_of(job: Job, assembly: Assembly) -> Translator:
    """The translator that validates, and at last is scored."""
    settings, model = job.settings, assembly.model
    choice = job.world.from_main(lambda: read_choice(job.directory, model, settings.training))
    if choice.guided is None:
        choice = replace(choice, guided=job.world.from_main(lambda: guided_by_start(settings, model)))
    languages = settings.data.source_language or "", settings.data.target_language or ""
    context = ContextSize.of(settings.data)
    return Translator(model, assembly.tokenizers, settings.search, choice, languages, context=context)


def train_with_hooks(job: Job, training: Training, translator: Translator, validated: Split | None) -> str:
    """Train, report, validate and save until the run ends; returns why it ended."""
    config, directory, limits, world = job.settings.training, job.directory, job.limits, job.world
    use_float32_products(job.device, work_of(training.update.model, config.batch_tokens))
    print(*start_lines(job.settings, training, directory, validated), sep="\n")
    validation = Validation(job.settings, translator, validated, world)
    signals, writer = Signals(quiet=not world.is_main), Writer(directory.checkpoints)

    def validate() -> dict[str, float]:
        copy_whole(training.update.model, translator.model)
        return validation()

    def report(progress: Progress, scores: Mapping[str, float]) -> None:
        reporter.report(progress, scores, validation.samples, validation.alignment)

    try:
        with (
            closing(ProgressLine(config, training, limits)) as line,
            closing(
                Reporter(
                    job.settings, directory, line, limits, start=training.progress.step, writes=world.is_main
                )
            ) as reporter,
            handled(signals.catch),
            writer,
        ):
            keeper = Keeper(config, writer, validate, report, limits, signals, world)
            new = not (training.progress.step or training.progress.best)
            if new and config.start_from is not None and validated is not None:
                keeper.begin(training)
            return keeper.conclude(training) or fit(training, [line, reporter.log, keeper])
    except UserError as error:
        left = last_checkpoint(directory.checkpoints)
        raise UserError(str(error) if left in str(error) else f"{error}; {left}") from error


@contextmanager
def kept(directory: RunDirectory) -> Iterator[None]:
    """Tell a full disk and the like in one sentence, which says where the run stands."""
    try:
        yield
    except BrokenPipeError:  # nobody reads the output
        raise
    except UserError as error:
        if not isinstance(error.__cause__, OSError):
            raise
        raise UserError(f"{error}; {last_checkpoint(directory.checkpoints)}") from error
    except OSError as error:
        if error.errno is None:
            raise
        where = error.filename or directory.path
        left = last_checkpoint(directory.checkpoints)
        raise UserError(f"{where}: {not_written(error)}; {left}") from error


def finished_line(progress: Progress, job: Job) -> str:
    """Says that a run has ended, and gives the command that makes it twice as long."""
    line = f"{job.directory.path}: the run is finished"
    reason = job.limits.reached(progress) or PATIENCE
    steps, epochs = (progress.step, "step"), (progress.epoch, "epoch")
    others = {MAX_TIME: (progress.elapsed, "second"), PATIENCE: (progress.waited, "fruitless validation")}
    had, unit = ({"max_steps": steps, "max_epochs": epochs} | others)[reason]
    how = f"{job.goes_on} with" if job.goes_on else job.resume_command
    more = f"for twice that: {how} training.{reason}={2 * had:.0f}"
    return f"{line} after {counted(round(had), unit)}; nothing to do; {more}"


def short_time_lines(training: Training, job: Job, pairs: int, ready: float) -> list[str]:
    """Say how often a run has read its corpus, if that is little, and give the command for more.

    One that starts from another run needs few readings.

    Args:
        ready: the seconds before the first step; 0 for a run that went on, whose other processes had theirs.
    """
    if not job.limits.by_time:  # it ended the process alone
        return [f"note: its steps or epochs are not over; go on with: {job.resume_command}"]
    progress = training.progress
    readings = max(training.stream.epochs(progress.position), 1 / training.stream.epoch_length)
    wanted, enough = next(numbers for most, *numbers in READINGS if pairs < most)
    if readings >= enough or job.settings.training.start_from is not None:
        return []
    seconds = progress.elapsed + progress.training_seconds * (wanted / readings - 1)
    more = f"{job.resume_command} training.max_time={60 * math.ceil(seconds / 60)}"
    read = f"{100 * readings:.2g} % of the pairs" if readings < 1 else f"{readings:.1f} epochs"
    aim = f"{wanted} epochs, which are better" if wanted > 1 else "a whole epoch"
    told = f"after {clock(ready)} of preparation " if ready else ""
    return [
        f"note: {told}the time was enough for {read}, {counted(progress.step, 'step')}; for {aim}: {more}"
    ]


def interrupted_line(reason: str, progress: Progress, job: Job) -> str:
    """Says that a signal ended the run, and how to go on."""
    at = f"{reason} at step {progress.step:,}"
    goes_on = job.goes_on or job.resume_command
    if job.limits.end(job.limits.reached(progress)) is None and progress.finished is None:
        return f"{at}: saved; go on with: {goes_on}"
    return f"{at}, the last one: saved; this scores the run: {goes_on}"
