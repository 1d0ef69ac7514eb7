"""``translate train``: from a configuration to a run directory."""

import time
from collections.abc import Mapping
from pathlib import Path

import torch
from omegaconf import DictConfig, OmegaConf

from translate.build.finish import finish
from translate.build.load import load_into, read_choice, read_settings
from translate.build.objects import build_model, build_optimizer, build_schedule, forward_precision, use_device
from translate.build.schema import Settings, check_config
from translate.build.validation import Validation, encode
from translate.errors import UserError
from translate.models import Seq2Seq
from translate.text.batching import EncodedCorpus
from translate.text.corpus import Corpus, load_corpus
from translate.text.tokenizer import TokenizerPair
from translate.training.checkpoint import load_state
from translate.training.hooks import EXIT_CODES, Keeper, Limits, Signals
from translate.training.loop import Progress, Training, fit
from translate.training.progress import ProgressLine, score_line
from translate.training.run_directory import RunDirectory
from translate.training.stream import BatchStream
from translate.training.tensorboard import TensorBoard
from translate.training.update import Averaged, Update
from translate.translator import Translator


def train(config: DictConfig) -> int:
    """Train, score and describe a run; returns the exit code (75 after SIGTERM, 130 after Ctrl-C)."""
    began = time.monotonic()
    settings = check_config(config)
    directory = RunDirectory(Path(settings.run.directory))
    resumes = settings.training.resume and directory.has_checkpoint()
    if resumes:
        check_same(settings, read_settings(directory), directory)
    else:
        directory.check_free(overwrite=settings.run.overwrite or settings.training.resume)
    device = use_device(settings.runtime.device, settings.runtime.threads)
    state = load_state(directory.last) if resumes else None
    limits = Limits(settings.training, began=began)
    if state is not None and is_finished(Progress(**state["progress"]), limits):
        print(f"{directory.path}: the run is finished; nothing to do")
        return 0
    corpus = load_corpus(settings.data)
    print(*corpus.summary_lines(), sep="\n", flush=True)
    if not resumes:
        directory.clear()
        OmegaConf.save(_resolved(config, corpus), directory.config)
    torch.manual_seed(settings.training.seed)
    tokenizers = prepare_tokenizers(settings, corpus, directory, resumes=resumes)
    model = build_model(settings.model, tokenizers, settings.run.plugins).to(device)
    training = build_training(settings, model, encode(corpus.train, tokenizers), device)
    if state is not None:
        training.load_state_dict(state)
        directory.cut_metrics(training.progress.step)
        print(f"resumed at step {training.progress.step:,}", flush=True)
    print(*start_lines(settings, training, device, directory), sep="\n", flush=True)
    reason = run(settings, training, corpus, tokenizers, directory, limits)
    if reason in EXIT_CODES:
        print(f"{reason} at step {training.progress.step:,}: saved; go on with training.resume=true", flush=True)
        return EXIT_CODES[reason]
    print(f"training ended: {reason}", flush=True)
    folder = directory.checkpoints / "best"
    load_into(model, folder if folder.exists() else directory.last)
    finish(settings, training.progress, translator_of(settings, model, tokenizers, directory), corpus, directory)
    return 0


def is_finished(progress: Progress, limits: Limits) -> bool:
    """Whether a run has nothing left to do; one that ran out of time may go on."""
    return progress.finished == "patience" or limits.reached(progress) not in (None, "max_time")


def check_same(settings: Settings, before: Settings, directory: RunDirectory) -> None:
    """Raise :class:`UserError` listing what differs between a run and the settings it is resumed with."""
    differing = []
    for section in ("data", "tokenizer", "model", "optimizer", "schedule"):
        now, then = _flat(getattr(settings, section), section), _flat(getattr(before, section), section)
        languages = ("data.source_language", "data.target_language")  # filled in from the corpus when null
        for key in sorted(now.keys() | then.keys()):
            if now.get(key) != then.get(key) and not (key in languages and now.get(key) is None):
                differing.append(f"{key} was {then.get(key)!r}, now {now.get(key)!r}")
    if differing:
        raise UserError(f"{directory.path}: cannot resume with other settings: " + "; ".join(differing))


def _flat(value: object, path: str) -> dict[str, object]:
    items = value if isinstance(value, Mapping) else getattr(value, "__dict__", None)
    if items is None:
        return {path: value}
    return {key: each for name, item in items.items() for key, each in _flat(item, f"{path}.{name}").items()}


def _resolved(config: DictConfig, corpus: Corpus) -> DictConfig:
    """The configuration as the run's folder keeps it: no interpolation, languages as found."""
    resolved = OmegaConf.create(OmegaConf.to_container(config, resolve=True))
    resolved.data.source_language = corpus.source_language
    resolved.data.target_language = corpus.target_language
    assert isinstance(resolved, DictConfig)
    return resolved


def prepare_tokenizers(
    settings: Settings, corpus: Corpus, directory: RunDirectory, *, resumes: bool
) -> TokenizerPair:
    """Train the tokenizers and keep them in the run, or read those of a resumed run."""
    if resumes:
        return TokenizerPair.load(directory.tokenizer)
    tokenizers, messages = TokenizerPair.train(
        corpus.train.source, corpus.train.target, settings.tokenizer, tokenised=settings.data.tokenised
    )
    for message in messages:
        print(message, flush=True)
    tokenizers.save(directory.tokenizer)
    return tokenizers


def build_training(settings: Settings, model: Seq2Seq, corpus: EncodedCorpus, device: torch.device) -> Training:
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
    )
    return Training(BatchStream(corpus, config.batch_tokens, config.accumulate, config.seed), update)


def start_lines(
    settings: Settings, training: Training, device: torch.device, directory: RunDirectory
) -> list[str]:
    """What the user should know before the first step."""
    model = training.update.model
    precision = str(training.update.precision).removeprefix("torch.")
    threads = f", {torch.get_num_threads()} threads" if device.type == "cpu" else ""
    return [
        f"model {settings.model.get('name', type(model).__name__)}: {model.num_parameters():,} parameters, "
        f"{len(model.output_weight):,} target pieces",
        f"{training.stream.epoch_length():,} batches an epoch of at most {settings.training.batch_tokens:,} "
        f"target tokens; device {device}{threads}, {precision}",
        f"run directory {directory.path}",
    ]


def translator_of(
    settings: Settings, model: Seq2Seq, tokenizers: TokenizerPair, directory: RunDirectory
) -> Translator:
    """A translator over the model that is being trained."""
    languages = (settings.data.source_language or "", settings.data.target_language or "")
    return Translator(model, tokenizers, settings.search, read_choice(directory, model), languages)


def run(
    settings: Settings,
    training: Training,
    corpus: Corpus,
    tokenizers: TokenizerPair,
    directory: RunDirectory,
    limits: Limits,
) -> str:
    """Train with all hooks; returns why it ended."""
    model = training.update.model
    line = ProgressLine(
        settings.training,
        began=limits.began,
        start_step=training.progress.step,
        epoch_batches=training.stream.epoch_length(),
    )
    board = TensorBoard(directory.path / "tensorboard", purge_step=training.progress.step)
    validation = Validation(settings, translator_of(settings, model, tokenizers, directory), corpus.validation)

    def report(progress: Progress, scores: Mapping[str, float]) -> None:
        line.note(score_line(progress.step, scores))
        directory.log(
            {"kind": "validation", "step": progress.step, "seconds": round(progress.seconds, 3), **scores}
        )
        board.scalars("validation", scores, progress.step)
        line.restart_window()

    def log(training: Training, step_report: object) -> None:
        if training.progress.step % settings.training.log_every == 0:
            now = line.window()
            progress = training.progress
            directory.log(
                {"kind": "train", "step": progress.step, "seconds": round(progress.seconds, 3), **now}
            )
            board.scalars("train", now, progress.step)
            line.restart_window()

    with Signals() as signals:
        keeper = Keeper(settings.training, directory.checkpoints, validation, report, limits, signals)
        try:
            return fit(training, [line, log, keeper, limits, signals])
        except UserError:
            if keeper.saved:
                line.note(f"the last checkpoint is of step {keeper.saved:,}")
            raise
        finally:
            line.close()
            board.close()
