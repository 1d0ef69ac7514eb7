"""``translate train``: from a configuration to a run directory."""

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from omegaconf import DictConfig, OmegaConf

from translate.build.checks import check_buildable, check_validation
from translate.build.finish import finish
from translate.build.guidance import encode_training, guidance
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
from translate.build.validation import Validation
from translate.config.schema import plain
from translate.errors import UserError
from translate.models import Seq2Seq
from translate.text.batching import EncodedCorpus
from translate.text.corpus import Corpus, load_corpus
from translate.text.tokenizer import TokenizerPair
from translate.training.checkpoint import step_folders
from translate.training.hooks import Keeper, Limits
from translate.training.loop import Progress, Training, fit
from translate.training.progress import ProgressLine, score_line
from translate.training.run_directory import RunDirectory
from translate.training.signals import EXIT_CODES, Signals, leave_on_sigterm
from translate.training.stream import BatchStream
from translate.training.tensorboard import TensorBoard
from translate.training.update import Averaged, StepReport, Update
from translate.translator import Translator


def train(config: DictConfig) -> int:
    """Train, score and describe a run; returns the exit code (75 after SIGTERM, 130 after Ctrl-C).

    What existed in the run's folder is replaced, if it may be, only when all that the run needs is built.
    """
    began = time.monotonic()
    settings = check_config(config)
    with leave_on_sigterm():
        return _train(settings, config, Limits(settings.training, began=began))


def _train(settings: Settings, config: DictConfig, limits: Limits) -> int:
    device = use_device(settings.runtime.device, settings.runtime.threads, where="runtime.device")
    check_buildable(settings)
    directory = RunDirectory(Path(settings.run.directory))
    state = state_to_resume(settings, directory)
    progress = Progress() if state is None else Progress(**state["progress"])
    finished = is_finished(progress, limits)
    if finished and directory.is_scored(progress.step):
        print(f"{directory.path}: the run is finished; nothing to do")
        return 0
    corpus = load_corpus(settings.data)
    print(*corpus.summary_lines(), sep="\n", flush=True)
    check_validation(settings, corpus)
    settings = with_languages(settings, corpus)
    training, translator = prepare(settings, corpus, directory, device, state, config)
    if not finished:
        reason = run(settings, training, corpus, translator, directory, limits)
        if reason in EXIT_CODES:
            step = training.progress.step
            print(f"{reason} at step {step:,}: saved; go on with training.resume=true", flush=True)
            return EXIT_CODES[reason]
        print(f"training ended: {reason}", flush=True)
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
) -> tuple[Training, Translator]:
    """Build what trains, and the run's folder; with a ``state`` to resume, everything is as it was."""
    torch.manual_seed(settings.training.seed)
    if state is None:
        tokenizers = train_tokenizers(settings, corpus)
    else:
        tokenizers = TokenizerPair.load(directory.tokenizer)
    sizes = len(tokenizers.source), len(tokenizers.target)
    model = build_model(settings.model, sizes, settings.run.plugins).to(device)
    training = build_training(settings, model, encode_training(settings, corpus, tokenizers), device)
    if state is None:
        directory.clear()  # not before everything is known to work
        OmegaConf.save(resolved(config, settings), directory.config)
        tokenizers.save(directory.tokenizer)
    else:
        training.load_state_dict(state)
        directory.cut_metrics(training.progress.step)
        print(f"resumed at step {training.progress.step:,}", flush=True)
    languages = corpus.source_language, corpus.target_language
    choice = read_choice(directory, model)
    return training, Translator(model, tokenizers, settings.search, choice, languages)


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


def build_training(
    settings: Settings, model: Seq2Seq, corpus: EncodedCorpus, device: torch.device
) -> Training:
    """The stream of batches and the optimizer step of a run."""
    config = settings.training
    update = Update(
        model,
        build_optimizer(settings, model),
        build_schedule(settings),
        label_smoothing=config.label_smoothing,
        clip_norm=config.clip_norm,
        average=Averaged(model, config.ema) if config.ema else None,
        precision=forward_precision(settings.runtime, device),
        guided=guidance(settings, model),
    )
    return Training(BatchStream(corpus, config.batch_tokens, config.accumulate, config.seed), update)


def run(
    settings: Settings,
    training: Training,
    corpus: Corpus,
    translator: Translator,
    directory: RunDirectory,
    limits: Limits,
) -> str:
    """Train with all hooks; returns why it ended."""
    print(*start_lines(settings, training, directory), sep="\n", flush=True)
    start = training.progress.step
    board = TensorBoard(directory.tensorboard, purge_step=start + 1 if start else None)
    validation = Validation(settings, translator, corpus.validation)
    line = ProgressLine(settings.training, training, began=limits.began)

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
        directory.log({"kind": kind, "step": progress.step, "seconds": round(progress.seconds, 3), **values})
        board.scalars(kind, values, progress.step)

    with Signals() as signals:
        keeper = Keeper(settings.training, directory.checkpoints, validation, report, limits, signals)
        try:
            return fit(training, [line, log, keeper])
        except UserError as error:
            raise UserError(f"{error}; {last_checkpoint(directory)}") from error
        finally:
            line.close()
            board.close()


def start_lines(settings: Settings, training: Training, directory: RunDirectory) -> list[str]:
    """What the user should know before the first step."""
    model, device = training.update.model, training.update.device
    precision = str(training.update.precision).removeprefix("torch.")
    threads = f", {torch.get_num_threads()} threads" if device.type == "cpu" else ""
    return [
        f"model {settings.model.get('name', type(model).__name__)}: {model.num_parameters():,} parameters, "
        f"{len(model.output_weight):,} target pieces",
        f"{training.stream.epoch_length():,} batches an epoch of at most {settings.training.batch_tokens:,} "
        f"target tokens; device {device}{threads}, {precision}",
        f"run directory {directory.path}",
    ]


def last_checkpoint(directory: RunDirectory) -> str:
    """What is left of a run that broke off."""
    saved = step_folders(directory.checkpoints)
    return f"the last checkpoint is {saved[-1]}" if saved else "there is no checkpoint yet"
