"""``translate train``: from a configuration to a run directory."""

import copy
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from omegaconf import DictConfig, OmegaConf

from translate.build.checks import check_buildable, check_validation
from translate.build.finish import finish
from translate.build.load import load_into, read_choice
from translate.build.objects import (
    build_model,
    build_optimizer,
    build_schedule,
    forward_precision,
    use_device,
)
from translate.build.resume import is_finished, state_to_resume
from translate.build.schema import Settings, check_config
from translate.build.validation import Validation, encode_training
from translate.config.schema import plain
from translate.errors import UserError
from translate.models import Seq2Seq
from translate.text.batching import EncodedCorpus
from translate.text.corpus import Corpus, load_corpus
from translate.text.tokenizer import TokenizerPair
from translate.training.checkpoint import step_folders
from translate.training.distributed import World, connected, disconnect, local_device, was_restarted
from translate.training.hooks import Keeper, Limits
from translate.training.loop import Progress, Training, fit, seed_process
from translate.training.parallel import Parallel, copy_whole, parallelise
from translate.training.progress import ProgressLine, score_line
from translate.training.run_directory import RunDirectory
from translate.training.shards import read_shards
from translate.training.signals import EXIT_CODES, Signals, leave_on_sigterm
from translate.training.stream import BatchStream
from translate.training.tensorboard import TensorBoard
from translate.training.update import Averaged, Guided, StepReport, Update
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
    training, translator = prepare(settings, corpus, directory, device, state, config, world)
    if not finished:
        reason = run(settings, training, corpus, translator, directory, limits)
        if reason in EXIT_CODES:
            step = training.progress.step
            print(f"{reason} at step {step:,}: saved; go on with training.resume=true", flush=True)
            return EXIT_CODES[reason]
        print(f"training ended: {reason}", flush=True)
    disconnect()
    if not world.is_main:
        return 0
    best = directory.checkpoints / "best"
    load_into(translator.model, best if best.exists() else directory.last)
    finish(settings, training.progress, translator, corpus, directory)
    return 0


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
    torch.manual_seed(settings.training.seed)
    if state is None:
        tokenizers = world.from_main(lambda: train_tokenizers(settings, corpus))
    else:
        tokenizers = TokenizerPair.load(directory.tokenizer)
    sizes = len(tokenizers.source), len(tokenizers.target)
    model = build_model(settings.model, sizes, settings.run.plugins).to(device)
    whole_model = copy.deepcopy(model) if settings.runtime.parallel == "fsdp" else model  # validates
    parallel = parallelise(settings.runtime.parallel, model, world, device)
    encoded = encode_training(settings, corpus.train, tokenizers)
    training = build_training(settings, model, encoded, parallel)
    if state is None:
        if world.is_main:
            directory.clear()  # not before everything is known to work
            OmegaConf.save(resolved(config, settings), directory.config)
            tokenizers.save(directory.tokenizer)
        else:
            seed_process(settings.training.seed, world.rank, 0)
    else:
        training.load_state_dict(read_shards(directory.last, state, training.update))
        if world.is_main:
            directory.cut_metrics(training.progress.step)
        print(f"resumed at step {training.progress.step:,}", flush=True)
        before = len(state["generators"])
        if before != world.size:
            print(
                f"processes: {before} before, now {world.size}, with random numbers of their own; "
                f"{state['group_size']} batches an optimizer step before, now {training.stream.group_size}",
                flush=True,
            )
    languages = corpus.source_language, corpus.target_language
    choice = read_choice(directory, model)
    return training, Translator(whole_model, tokenizers, settings.search, choice, languages)


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


def guidance(settings: Settings, model: Seq2Seq) -> Guided | None:
    """The guided-alignment loss, if it has a weight."""
    config = settings.training
    if not config.guided_alignment:
        return None
    layer = config.guided_layer if config.guided_layer is not None else (model.num_attention_layers - 1) // 2
    try:
        model.check_layers([layer])
    except ValueError as error:
        raise UserError(f"training.guided_layer: {error}") from error
    return Guided(config.guided_alignment, layer)


def build_training(settings: Settings, model: Seq2Seq, corpus: EncodedCorpus, parallel: Parallel) -> Training:
    """The stream of batches and the optimizer step of a run."""
    config, world = settings.training, parallel.world
    update = Update(
        model,
        build_optimizer(settings, model),
        build_schedule(settings),
        label_smoothing=config.label_smoothing,
        clip_norm=config.clip_norm,
        average=Averaged(model, config.ema) if config.ema else None,
        precision=forward_precision(settings.runtime, next(model.parameters()).device),
        guided=guidance(settings, model),
        parallel=parallel,
    )
    stream = BatchStream(
        corpus, config.batch_tokens, config.accumulate, config.seed, rank=world.rank, processes=world.size
    )
    return Training(stream, update)


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
    start = training.progress.step
    board = (
        TensorBoard(directory.tensorboard, purge_step=start + 1 if start else None) if world.is_main else None
    )
    validation = Validation(settings, translator, corpus.validation, world)
    line = ProgressLine(settings.training, training, began=limits.began)

    def validate() -> dict[str, float]:
        copy_whole(training.update.model, translator.model)
        return validation()

    def report(progress: Progress, scores: Mapping[str, float]) -> None:
        line.note(score_line(progress.step, scores))
        write("validation", progress, scores)

    def log(training: Training, step_report: StepReport) -> None:
        progress = training.progress
        if progress.step % settings.training.log_every == 0 or limits.reached(progress):
            means = line.window.means(progress)
            write("train", progress, means | {"learning_rate": step_report.learning_rate})
            line.window.restart(progress)

    def write(kind: str, progress: Progress, values: Mapping[str, float]) -> None:
        if board is None:
            return
        directory.log({"kind": kind, "step": progress.step, "seconds": round(progress.seconds, 3), **values})
        board.scalars(kind, values, progress.step)

    with Signals(quiet=not world.is_main) as signals:
        keeper = Keeper(settings.training, directory.checkpoints, validate, report, limits, signals, world)
        try:
            return fit(training, [line, log, keeper])
        except UserError as error:
            raise UserError(f"{error}; {last_checkpoint(directory)}") from error
        finally:
            line.close()
            if board is not None:
                board.close()


def start_lines(settings: Settings, training: Training, directory: RunDirectory) -> list[str]:
    """What the user should know before the first step."""
    model, device = training.update.model, training.update.device
    precision = str(training.update.precision).removeprefix("torch.")
    count = training.update.parallel.world.size
    processes = f"; {count} processes by {settings.runtime.parallel}" if count > 1 else ""
    threads = f", {torch.get_num_threads()} threads" if device.type == "cpu" else ""
    return [
        f"model {settings.model.get('name', type(model).__name__)}: {model.num_parameters():,} parameters, "
        f"{len(model.output_weight):,} target pieces",
        f"{training.stream.epoch_length():,} batches an epoch of at most {settings.training.batch_tokens:,} "
        f"target tokens; device {device}{threads}, {precision}{processes}",
        f"run directory {directory.path}",
    ]


def last_checkpoint(directory: RunDirectory) -> str:
    """What is left of a run that broke off."""
    saved = step_folders(directory.checkpoints)
    return f"the last checkpoint is {saved[-1]}" if saved else "there is no checkpoint yet"
