"""The objects that train a model, built from checked settings."""

import copy
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import NamedTuple

import numpy as np
import torch

from translate.config.names import counted, did_you_mean, nearest
from translate.config.settings import Settings
from translate.config.targets import instantiate, resolve_target
from translate.corpora.corpus import Corpus
from translate.corpora.document_rows import with_context
from translate.corpora.encoded import EncodedCorpus
from translate.corpora.images.image_tokenizer import with_images
from translate.errors import UserError
from translate.models import Seq2Seq
from translate.runs.encoding import encode_training, pair_sampler
from translate.runs.run_directory import RunDirectory
from translate.runs.runtime import forward_precision, work_of
from translate.text.documents import ContextSize
from translate.text.tokenizer import TokenizerPair
from translate.training.loop import Limits, Training
from translate.training.losses import GuidedAlignment, LossTerms
from translate.training.optimizer import parameter_groups
from translate.training.parallel import TORCHRUN, Parallel, World, parallelise
from translate.training.recovery import Recovery
from translate.training.schedules import Schedule, Schedules
from translate.training.stream import BatchStream
from translate.training.update import Update
from translate.training.weights import MovingAverage

SHOWN = 5  # names in a message


class Job(NamedTuple):
    """One training as this process sees it: its settings, its folder, and the processes that share it.

    Attributes:
        goes_on: says after a signal how to go on, if not with this run alone.
    """

    settings: Settings
    directory: RunDirectory
    limits: Limits
    device: torch.device
    world: World
    goes_on: str = ""

    @property
    def resume_command(self) -> str:
        """The command that goes on with the run, in as many processes."""
        own, alone = self.directory.resume_command(), self.settings.runtime.parallel == "none"
        return own if alone else f"{TORCHRUN.format(self.world.size)} {own}"


class Assembly(NamedTuple):
    """A model in training.

    Attributes:
        training: takes the steps.
        model: validates and translates; the trained one, unless that is spread over the processes (FSDP).
        tokenizers: of both sides.
    """

    training: Training
    model: Seq2Seq
    tokenizers: TokenizerPair


def assemble(job: Job, corpus: Corpus, tokenizers: TokenizerPair, model: Seq2Seq) -> Assembly:
    """Everything that trains ``model``, whose weights are set already, on its device."""
    settings, world = job.settings, job.world
    tokenizers = with_images(tokenizers, settings.data, corpus.images)
    freeze(model, settings.training.freeze)
    model.read_documents(settings.data.context_sentences)
    whole_model = copy.deepcopy(model) if settings.runtime.parallel == "fsdp" else model
    parallel = parallelise(settings.runtime.parallel, model, world, job.device)
    with world.main_first():
        encoded = encode_training(settings, corpus, tokenizers)
        encoded = with_context(encoded, corpus.train, ContextSize.of(settings.data))
    if settings.data.read == "text":
        _check_lengths(encoded, whole_model.max_target_length)
    optimizer = build_optimizer(settings, model)
    forcing = settings.training.teacher_forcing
    stream = build_stream(settings, encoded, corpus, tokenizers, world)
    training = Training(
        stream,
        Schedules(
            optimizer,
            build_schedule(settings),
            model,
            forcing if forcing.decay else None,
            lambda step, at: world.from_main(lambda: job.limits.spent(step, stream.epochs(at))),
        ),
        build_step(settings, model, optimizer, parallel),
    )
    return Assembly(training, whole_model, tokenizers)


def _check_lengths(encoded: EncodedCorpus, limit: int | None) -> None:
    """Raise :class:`UserError` for pairs with a side of more pieces than there are learned positions."""
    if limit is None:
        return
    longest = np.maximum(*encoded.lengths()) + 1  # with the end of sentence
    if count := int((longest > limit).sum()):
        raise UserError(
            f"model.max_length={limit}: {counted(count, 'training pair')} with more pieces on a side, "
            f"up to {longest.max():,}; raise it, or lower data.max_length (words)"
        )


def build_stream(
    settings: Settings, encoded: EncodedCorpus, corpus: Corpus, tokenizers: TokenizerPair, world: World
) -> BatchStream:
    """The order of batches."""
    config = settings.training
    return BatchStream(
        encoded if config.guided_alignment else replace(encoded, links=None),
        config,
        pair_sampler(settings, corpus.train, tokenizers, encoded),
        world,
        orders=None if corpus.mixture is None else corpus.mixture.orders(config.seed),
    )


def build_step(
    settings: Settings, model: Seq2Seq, optimizer: torch.optim.Optimizer, parallel: Parallel
) -> Recovery:
    """The optimizer step, with its recovery from failures."""
    config = settings.training
    update = Update(
        model,
        optimizer,
        LossTerms(config.label_smoothing, config.r_drop, guided_alignment(settings, model)),
        clip_norm=config.clip_norm,
        average=MovingAverage(model, config.ema) if config.ema else None,
        precision=forward_precision(
            settings.runtime, next(model.parameters()).device, work_of(model, config.batch_tokens)
        ),
        parallel=parallel,
    )
    return Recovery(
        update, skip_non_finite=config.non_finite == "skip", lower_memory=config.out_of_memory == "lower"
    )


def build_optimizer(settings: Settings, model: Seq2Seq) -> torch.optim.Optimizer:
    """The optimizer, with weight decay only on matrices; its class may define other parameter groups."""
    target = resolve_target(settings.optimizer["_target_"], settings.run.plugins)
    group = getattr(target, "parameter_groups", parameter_groups)
    groups = group(model, float(settings.optimizer.get("weight_decay") or 0.0))
    built = instantiate(settings.optimizer, "optimizer", settings.run.plugins, params=groups)
    if not isinstance(built, torch.optim.Optimizer):
        raise UserError(f"optimizer._target_: expected an optimizer, got {type(built).__name__}")
    return built


def build_schedule(settings: Settings) -> Schedule:
    """The schedule of the learning rate; raises :class:`UserError` for a class that is none."""
    built = instantiate(settings.schedule, "schedule", settings.run.plugins)
    if not isinstance(built, Schedule):
        raise UserError(f"schedule._target_: expected a Schedule, got {type(built).__name__}")
    return built


def guided_alignment(settings: Settings, model: Seq2Seq) -> GuidedAlignment | None:
    """The guided-alignment term of the loss, if it has a weight."""
    config, last = settings.training, model.num_attention_layers - 1
    layer = config.guided_of(last + 1)
    if layer is None:
        return None
    if layer > last:
        raise UserError(f"training.guided_layer: attention layer: expected 0 to {last}, got {layer}")
    return GuidedAlignment(config.guided_alignment, layer, config.guided_shift)


def freeze(model: Seq2Seq, patterns: list[str]) -> None:
    """Exclude the parameters whose names match a pattern (``*`` for any characters) from training.

    Raises:
        UserError: for a pattern that matches no name, or if no parameter remains to train.
    """
    parameters = dict(model.named_parameters(remove_duplicate=False))
    for pattern in patterns:
        found = [name for name in parameters if fnmatchcase(name, pattern)]
        if not found:
            near = nearest(pattern.split(".")[0], {name.split(".")[0] for name in parameters})
            near = near and f"{near}.*"
            raise UserError(
                f"training.freeze: {pattern!r} matches no parameter{did_you_mean(near)}; there are "
                f"{', '.join(list(parameters)[:SHOWN])} and others"
            )
        for name in found:
            parameters[name].requires_grad_(False)
    if not any(parameter.requires_grad for parameter in parameters.values()):
        raise UserError("training.freeze: no parameter is left to train")
