"""``translate train``: from a configuration to a run directory."""

import copy
import time
from contextlib import closing, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from omegaconf import DictConfig, OmegaConf

from translate.config.settings import Settings, check_config
from translate.config.values import plain
from translate.corpora.corpus import Corpus, load_corpus
from translate.errors import UserError
from translate.reports.profile import Profiler
from translate.reports.progress_line import ProgressLine
from translate.reports.summary import start_lines
from translate.runs.averaged import try_average
from translate.runs.checks import check_buildable, check_validation
from translate.runs.encoding import encode_training
from translate.runs.finish import finish
from translate.runs.hooks import MAX_TIME, Keeper, Limits
from translate.runs.identity import check_identity, identity_of
from translate.runs.load import load_into, read_choice
from translate.runs.objects import build_model, use_deterministic, use_device
from translate.runs.recipe import build_training
from translate.runs.reporter import Reporter
from translate.runs.resume import checkpoint_to_resume, is_finished, keep_threads, state_to_resume
from translate.runs.signals import EXIT_CODES, Signals, leave_on_sigterm
from translate.runs.start_from import freeze, take_tokenizers, take_weights
from translate.runs.validation import Validation
from translate.storage.lock import locked
from translate.storage.run_directory import RunDirectory
from translate.storage.shards import read_shards
from translate.storage.writer import Writer, last_checkpoint
from translate.text.tokenizer import TokenizerPair
from translate.training.distributed import World, connected, disconnect, local_device, was_restarted
from translate.training.generators import seed_generators, seed_process
from translate.training.loop import Hook, Progress, Training, fit
from translate.training.parallel import copy_whole, parallelise
from translate.translator import Translator


def train(config: DictConfig) -> int:
    """Train, score and describe a run; returns the exit code (75 after SIGTERM, 130 after Ctrl-C).

    What existed in the run's folder is replaced, if it may be, only when all that the run needs is built.
    """
    began = time.monotonic()
    settings = check_config(config)
    if was_restarted():  # the same command begins again where its last checkpoint stands
        settings = replace(settings, training=replace(settings.training, resume=True))
    runtime = settings.runtime
    with leave_on_sigterm():
        device = use_device(local_device(runtime), runtime.threads, where="runtime.device")
        use_deterministic(runtime.deterministic)
        with connected(runtime, device, settings.run.directory) as world:
            return _train(settings, config, Limits(settings.training, began=began), device, world)


def _train(settings: Settings, config: DictConfig, limits: Limits, device: torch.device, world: World) -> int:
    check_buildable(settings)
    directory = RunDirectory(Path(settings.run.directory))
    state = state_to_resume(settings, directory, processes=world.size)
    progress = Progress() if state is None else Progress(**state["progress"])
    finished = is_finished(progress, limits)
    scored = directory.is_scored(progress.step)
    world.wait()  # for all to have read what is there, before one changes it
    if finished and scored:
        print(f"{directory.path}: the run is finished; nothing to do")
        return 0
    with world.main_first():
        corpus = load_corpus(settings.data)
    print(*corpus.summary_lines(), sep="\n", flush=True)
    check_validation(settings, corpus)
    settings = with_languages(settings, corpus)
    with locked(directory.path) if world.is_main else nullcontext():
        training, translator = prepare(settings, corpus, directory, device, state, config, world)
        if not finished:
            reason = run(settings, training, corpus, translator, directory, limits)
            if reason in EXIT_CODES:
                print(interrupted_line(reason, training.progress, limits), flush=True)
                return EXIT_CODES[reason]
            print(f"training ended: {reason}", flush=True)
        disconnect()
        if not world.is_main:
            return 0
        try_average(settings, training.progress, translator, corpus, directory)
        best = directory.checkpoints / "best"
        load_into(translator.model, best if best.exists() else directory.last)
        finish(settings, training.progress, translator, corpus, directory)
    return 0


def interrupted_line(reason: str, progress: Progress, limits: Limits) -> str:
    """What a signal left, and what is to be done."""
    at = f"{reason} at step {progress.step:,}"
    if limits.reached(progress) in (None, MAX_TIME) and progress.finished is None:
        return f"{at}: saved; go on with training.resume=true"
    return f"{at}, the last one: saved; training.resume=true scores the run"


def with_languages(settings: Settings, corpus: Corpus) -> Settings:
    """The settings with the languages that were found in the corpus."""
    source, target = corpus.source_language, corpus.target_language
    return replace(settings, data=replace(settings.data, source_language=source, target_language=target))


def prepare(
    settings: Settings,
    corpus: Corpus,
    directory: RunDirectory,
    device: torch.device,
    state: dict[str, Any] | None,
    config: DictConfig,
    world: World,
) -> tuple[Training, Translator]:
    """Build what trains, and the run's folder; with a ``state`` to resume, everything is as it was."""
    seed_generators(settings.training.seed)
    if state is not None:
        tokenizers = TokenizerPair.load(directory.tokenizer)
    elif settings.training.start_from is not None:
        tokenizers = take_tokenizers(settings)
    else:
        tokenizers = world.from_main(lambda: train_tokenizers(settings, corpus))
    identity = identity_of(corpus, tokenizers)
    if state is not None:
        check_identity(identity, state.get("identity", {}), str(directory.path))
        keep_threads(settings.runtime, state)
    sizes = len(tokenizers.source), len(tokenizers.target)
    model = build_model(settings.model, sizes, settings.run.plugins).to(device)
    if state is None and settings.training.start_from is not None:
        print(*take_weights(model, settings.training.start_from), sep="\n", flush=True)
    freeze(model, settings.training.freeze)
    whole_model = copy.deepcopy(model) if settings.runtime.parallel == "fsdp" else model  # validates
    parallel = parallelise(settings.runtime.parallel, model, world, device)
    with world.main_first():
        encoded = encode_training(settings, corpus, tokenizers)
    training = build_training(settings, model, encoded, corpus, tokenizers, parallel)
    training.identity = identity
    if state is None:
        if world.is_main:
            directory.clear()  # not before everything is known to work
            directory.write_config(OmegaConf.to_yaml(resolved(config, settings)))
            tokenizers.save(directory.tokenizer)
        else:
            seed_process(settings.training.seed, world.rank, 0)
    else:
        take_up(training, state, directory, checkpoint_to_resume(settings, directory))
    languages = corpus.source_language, corpus.target_language
    choice = world.from_main(lambda: read_choice(directory, whole_model))
    return training, Translator(whole_model, tokenizers, settings.search, choice, languages)


def take_up(training: Training, state: dict[str, Any], directory: RunDirectory, checkpoint: Path) -> None:
    """Go on where the ``state`` of a checkpoint stands; says so."""
    world = training.update.parallel.world
    training.load_state_dict(read_shards(checkpoint, state, training.update))
    if world.is_main:
        directory.cut_metrics(training.progress.step)
        directory.point_best(training.progress.best_step)
    print(f"resumed at step {training.progress.step:,}", flush=True)
    before = len(state["generators"])
    if before != world.size:
        print(
            f"processes: {before} before, now {world.size}, with random numbers of their own; "
            f"{state['group_size']} batches an optimizer step before, now {training.stream.group_size}",
            flush=True,
        )


def resolved(config: DictConfig, settings: Settings) -> DictConfig:
    """The configuration as the run's folder keeps it: no interpolation, languages as found."""
    found = OmegaConf.create(plain(config))
    found.data.source_language = settings.data.source_language
    found.data.target_language = settings.data.target_language
    return found


def train_tokenizers(settings: Settings, corpus: Corpus) -> TokenizerPair:
    """Tokenizers of both sides of the training split; says if a vocabulary had to be shrunk."""
    tokenizers, messages = TokenizerPair.train(
        corpus.train.source, corpus.train.target, settings.tokenizer, tokenised=settings.data.tokenised
    )
    for message in messages:
        print(message, flush=True)
    return tokenizers


def run(
    settings: Settings,
    training: Training,
    corpus: Corpus,
    translator: Translator,
    directory: RunDirectory,
    limits: Limits,
) -> str:
    """Train with all hooks; returns why it ended."""
    world = training.update.parallel.world
    print(*start_lines(settings, training, directory), sep="\n", flush=True)
    validation = Validation(settings, translator, corpus.validation, world)
    line = ProgressLine(settings.training, training, began=limits.began)
    start = training.progress.step
    reporter = Reporter(settings, directory, line, limits, validation, start=start, writes=world.is_main)
    hooks: list[Hook] = [line, reporter.log]
    signals, writer = Signals(quiet=not world.is_main), Writer(directory.checkpoints)

    def validate() -> dict[str, float]:
        copy_whole(training.update.model, translator.model)
        return validation()

    try:
        with closing(line), closing(reporter), signals, writer:
            if settings.training.profile and world.is_main:
                hooks.append(profiler := Profiler(directory.trace, line.note))
                reporter.closes.append(profiler)
            keeper = Keeper(settings.training, writer, validate, reporter.report, limits, signals, world)
            return keeper.conclude(training) or fit(training, [*hooks, keeper])
    except UserError as error:
        left = last_checkpoint(directory.checkpoints)
        raise UserError(str(error) if left in str(error) else f"{error}; {left}") from error
    except BrokenPipeError:  # nobody reads what is printed
        raise
    except OSError as error:
        if error.errno is None:
            raise
        left = last_checkpoint(directory.checkpoints)
        raise UserError(f"{directory.path}: cannot be written ({error.strerror}); {left}") from error
