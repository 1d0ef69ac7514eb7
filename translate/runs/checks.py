"""Checks of settings that need objects: a model before the corpus is read, or the corpus before training."""

import torch

from translate.alignment.alignment import AlignmentChoice
from translate.config.data import stages_of
from translate.config.files import leaves
from translate.config.settings import Settings
from translate.config.training import TrainingConfig
from translate.corpora.corpus import Corpus
from translate.corpora.local_files import check_present, check_readable
from translate.errors import UserError
from translate.models import Seq2Seq
from translate.models.sizes import check_mechanism
from translate.runs.assembly import build_optimizer, build_schedule, freeze, guided_alignment
from translate.runs.fine_tuning import take_tokenizers
from translate.runs.load import build_model
from translate.runs.runtime import forward_precision
from translate.text.own_tokenizers import read_own
from translate.text.subword_sampling import SAMPLED_TYPES
from translate.training.schedules import Schedule

SMALL = 11  # pieces
NO_WORDS = "patches are no words"
WHOLE_MATRICES = ("Adafactor", "Muon")  # optimizers that need a matrix as a whole


def check_buildable(settings: Settings) -> None:
    """Build model, optimizer and schedule with a small vocabulary, so that wrong values show early."""
    _check_parallel(settings)
    model = _small_model(settings)
    for layer in range(model.num_attention_layers):
        check_mechanism(model.source_attention(layer), model.widths)
    _check_pictures(settings, model)
    _check_context(settings, model)
    _check_recipe(settings, model)
    guided_alignment(settings, model)  # its layer is there
    freeze(model, settings.training.freeze)
    build_schedule(settings)
    if model.num_attention_layers < 1:
        raise UserError("model: expected at least one layer that attends to the source, got none")
    wanted = settings.alignment
    heads = (0,) if wanted.heads is None else tuple(wanted.heads)
    AlignmentChoice(wanted.layer or 0, heads, wanted.shift or 0).check(model)
    build_optimizer(settings, model)  # last: the first optimizer of a process loads torch's compiler


def _small_model(settings: Settings) -> Seq2Seq:
    """The model with a small vocabulary; an imported one ties embeddings of two tokenizers of one size."""
    alike = settings.tokenizer.shared or settings.training.start_from is not None
    return build_model(settings.model, (SMALL, SMALL if alike else SMALL + 2), settings.run.plugins)


def check_given(settings: Settings, *, fresh: bool) -> None:
    """Raise :class:`UserError` if a file or run that the settings name is missing or does not fit.

    Args:
        fresh: whether the run starts; one that is resumed needs no ``training.start_from``.
    """
    try:
        check_present(settings.data)
    except UserError as error:
        if fresh:
            raise
        raise UserError(f"{error}; give its place now, such as data.train.source=FILE") from error
    weighted = settings.data.corpora and any(stage.weights for stage in stages_of(settings.data))
    if fresh and weighted and settings.data.temperature != 1:
        raise UserError(
            "data.temperature: no effect beside weights, which say how much of each corpus is drawn"
        )
    if settings.training.needs_links and settings.training.guided_links is not None:
        check_readable("training.guided_links", settings.training.guided_links)
    if fresh and settings.training.start_from is not None:
        take_tokenizers(settings)
    elif fresh and settings.tokenizer.paths:
        pair = read_own(settings.tokenizer, tokenised=settings.data.tokenised)
        if settings.training.subword_sampling is not None:
            for tokenizer in (pair.source, pair.target):
                _check_sampling(settings, tokenizer.model_type)


def check_kernels(settings: Settings, device: torch.device) -> None:
    """Run the attention once on ``device`` if a kernel is asked for that may not run there."""
    asked = {
        ".".join(path): value
        for path, value in leaves(settings.model, ("model",))
        if path[-1] == "kernel" and value not in ("auto", "explicit")  # these run everywhere
    }
    if not asked:
        return
    model = _small_model(settings).to(device)
    source = torch.full((2, 3), SMALL - 1, device=device)
    mask = torch.tensor([[True, True, True], [True, True, False]], device=device)  # a batch has padding
    precision = forward_precision(settings.runtime, device)
    try:
        with torch.autocast(device.type, dtype=precision, enabled=precision != torch.float32):
            model(source, mask, source)
    except UserError as error:
        names = " and ".join(f"{path}={kernel}" for path, kernel in asked.items())
        reason = str(error).removeprefix("kernel: ")
        raise UserError(f"{names}: {reason}; kernel=auto runs everywhere") from error


def _check_parallel(settings: Settings) -> None:
    """Raise :class:`UserError` for settings that cannot be combined with several processes."""
    parallel = settings.runtime.parallel
    if parallel == "none":
        return
    optimizer = str(settings.optimizer["_target_"]).rsplit(".", 1)[-1]
    if parallel == "fsdp" and optimizer in WHOLE_MATRICES:
        raise UserError(f"optimizer: {optimizer} needs whole matrices; use runtime=ddp, or another optimizer")
    if settings.training.out_of_memory == "lower":
        raise UserError(
            f"training.out_of_memory=lower: the processes of runtime.parallel={parallel} would compute other "
            "numbers of parts, and wait; use training.out_of_memory=abort and a smaller training.batch_tokens"
        )
    if settings.runtime.precision == "float16":
        raise UserError(
            f"runtime.precision=float16: with runtime.parallel={parallel} a process does not see an "
            "overflow in another; use bfloat16 or float32"
        )


def _check_pictures(settings: Settings, model: Seq2Seq) -> None:
    """Raise :class:`UserError` unless model and corpus both have pictures, or neither."""
    data, training = settings.data, settings.training
    if data.read != "text" and not model.reads_pictures:
        raise UserError(
            f"data.read={data.read}: this encoder reads text alone; use model/encoder=patches or "
            "model/encoder=convolutional, or data.read=text"
        )
    if data.read == "text" and model.reads_pictures:
        encoder = str(settings.model["encoder"]["_target_"]).rsplit(".", 1)[-1]
        raise UserError(
            f"model.encoder: {encoder} reads pictures, but the corpus {data.name!r} is read as text "
            "(data.read=text); use data=scenes or data.images=DIR, or another model/encoder"
        )
    if data.read == "text":
        return
    size = settings.model["encoder"].get("patch_size", data.patch_size)
    if size != data.patch_size:
        raise UserError(
            f"model.encoder.patch_size: got {size}, but the pictures are read with data.patch_size="
            f"{data.patch_size}; set data.patch_size alone, which the encoder follows"
        )
    if training.guided_alignment:
        raise UserError(f"training.guided_alignment: expected none with data.read={data.read}: {NO_WORDS}")
    _check_unchanged(training, f"data.read={data.read}: {NO_WORDS}")


def _check_unchanged(training: TrainingConfig, reason: str) -> None:
    """Raise :class:`UserError` if training changes its sentences, where it must not."""
    given = {"subword_sampling": training.subword_sampling, "augment": training.augment.changes}
    for name in (name for name, value in given.items() if value):
        raise UserError(f"training.{name}: expected none with {reason}")


def _check_context(settings: Settings, model: Seq2Seq) -> None:
    """Raise :class:`UserError` for what cannot read the previous sentences of a document."""
    data, training = settings.data, settings.training
    if not data.context_sentences:
        return
    where = f"data.context_sentences={data.context_sentences}"
    for layer in range(model.num_attention_layers):
        mechanism = model.source_attention(layer)
        if mechanism.positioned or hasattr(mechanism, "max_length"):
            raise UserError(
                f"{where}: {type(mechanism).__name__} counts positions from the start of a source, where "
                "previous sentences stand; use another model/attention, such as additive or multi_head"
            )
    limit = model.max_target_length
    if limit is not None and 2 * data.context_pieces > limit:
        raise UserError(
            f"data.context_pieces={data.context_pieces}: the model has learned positions for {limit} pieces "
            f"(model.max_length), of which previous sentences may take half; expected at most {limit // 2}"
        )
    _check_unchanged(training, f"{where}: it changes single sentences")


def _check_recipe(settings: Settings, model: Seq2Seq) -> None:
    """Raise :class:`UserError` for training settings that have no effect on this model or tokenizer."""
    training = settings.training
    forcing = getattr(model, "teacher_forcing", None)
    if training.teacher_forcing.decay is not None and forcing is None:
        raise UserError(
            "training.teacher_forcing: expected model=rnn_bahdanau or model=rnn_luong; this model decodes "
            "all positions at once"
        )
    mechanisms = [model.source_attention(layer) for layer in range(model.num_attention_layers)]
    if training.guided_alignment and not all(mechanism.aligns for mechanism in mechanisms):
        name = type(mechanisms[0]).__name__
        raise UserError(f"training.guided_alignment: expected none, since {name} looks at no single word")
    scheduled = training.teacher_forcing.decay is not None or (forcing is not None and forcing < 1)
    if scheduled and training.guided_alignment:
        raise UserError(
            "training.guided_alignment: expected teacher forcing throughout, since links are known only for "
            "the reference translation; leave one of both out: training.guided_alignment=0"
        )
    if training.r_drop and not any(getattr(module, "p", 0.0) for module in model.modules()):
        raise UserError("training.r_drop: expected dropout, by which two passes differ; model.dropout is 0")
    if training.subword_sampling is not None and not settings.tokenizer.paths:
        _check_sampling(settings, settings.tokenizer.model_type)
    if training.max_epochs is not None and settings.data.stages:
        raise UserError("training.max_epochs: expected none with data.stages; use training.max_steps")


def _check_sampling(settings: Settings, kind: str) -> None:
    amount = settings.training.subword_sampling
    if kind not in SAMPLED_TYPES:
        raise UserError(f"training.subword_sampling: a tokenizer of type {kind} splits a word in one way")
    if kind == "bpe" and amount is not None and amount >= 1:
        raise UserError(f"training.subword_sampling: expected a probability below 1 for bpe, got {amount}")


def check_validation(settings: Settings, corpus: Corpus) -> None:
    """Raise :class:`UserError` for a setting that needs validations, or gold links, that the corpus lacks."""
    training = settings.training
    if corpus.validation is None:
        observes = type(build_schedule(settings)).observe is not Schedule.observe
        for name, is_set in (("training.patience", training.patience is not None), ("schedule", observes)):
            if is_set:
                where = f"the corpus {corpus.name!r} has no validation split"
                raise UserError(f"{name}: this setting needs validations, but {where}")
    elif training.best_metric == "aer" and corpus.validation.gold is None:
        raise UserError("training.best_metric=aer: validation has no gold links; choose bleu or nll")
