"""Settings that cannot work, found before the corpus is read; or, with it, before it is used."""

from translate.alignment.choice import AlignmentChoice
from translate.config.settings import Settings
from translate.config.tokenizer import TokenizerConfig
from translate.corpora.corpus import Corpus
from translate.errors import UserError
from translate.models import Seq2Seq
from translate.models.sizes import check_mechanism
from translate.reports.wandb import check_installed
from translate.runs.objects import build_model, build_optimizer, build_schedule
from translate.runs.start_from import freeze
from translate.text.subword_sampling import SAMPLED_TYPES
from translate.training.optimizer import Schedule

SMALL = 11  # pieces
NUM_SPECIAL = 4  # padding, unknown, begin and end of sentence
MODEL_TYPES = ("unigram", "bpe", "word", "char")
WHOLE_MATRICES = ("Adafactor", "Muon")  # optimizers whose step on a part of a matrix is another one
NORMALIZATIONS = ("nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf", "identity")


def check_buildable(settings: Settings) -> None:
    """Build model, optimizer and schedule once with a small vocabulary, so that a wrong value is told now."""
    _check_tokenizer(settings.tokenizer)
    _check_parallel(settings)
    sizes = (SMALL, SMALL) if settings.tokenizer.shared else (SMALL, SMALL + 2)
    model = build_model(settings.model, sizes, settings.run.plugins)
    for layer in range(model.num_attention_layers):
        check_mechanism(model.source_attention(layer), model.widths)
    _check_recipe(settings, model)
    freeze(model, settings.training.freeze)
    build_optimizer(settings, model)
    build_schedule(settings)
    if model.num_attention_layers < 1:
        raise UserError("model: it has no layer that attends to the source")
    wanted = settings.alignment
    AlignmentChoice(wanted.layer or 0, tuple(wanted.heads or (0,)), wanted.shift or 0).check(model)


def _check_parallel(settings: Settings) -> None:
    """Raise :class:`UserError` for settings that several processes cannot heed together."""
    parallel = settings.runtime.parallel
    if parallel == "none":
        return
    optimizer = str(settings.optimizer["_target_"]).rsplit(".", 1)[-1]
    if parallel == "fsdp" and optimizer in WHOLE_MATRICES:
        raise UserError(f"optimizer: {optimizer} needs whole matrices; use runtime=ddp, or another optimizer")
    if settings.training.out_of_memory == "lower":
        raise UserError(
            f"training.out_of_memory=lower: with runtime.parallel={parallel} each process would compute "
            "another number of parts and wait for the others; use training.out_of_memory=abort and a smaller "
            "training.batch_tokens"
        )
    if settings.runtime.precision == "float16":
        raise UserError(
            f"runtime.precision=float16: with runtime.parallel={parallel} a process does not see what "
            "overflowed in another; use bfloat16 or float32"
        )


def _check_tokenizer(tokenizer: TokenizerConfig) -> None:
    for name, known in (("model_type", MODEL_TYPES), ("normalization", NORMALIZATIONS)):
        value = getattr(tokenizer, name)
        if value not in known:
            raise UserError(f"tokenizer.{name}: expected one of {', '.join(known)}, got {value!r}")
    if tokenizer.vocabulary_size <= NUM_SPECIAL:
        raise UserError(
            f"tokenizer.vocabulary_size: expected more than the {NUM_SPECIAL} special pieces, "
            f"got {tokenizer.vocabulary_size}"
        )
    if not 0.9 <= tokenizer.character_coverage <= 1.0:
        raise UserError(
            f"tokenizer.character_coverage: expected 0.9 to 1, got {tokenizer.character_coverage}"
        )


def _check_recipe(settings: Settings, model: Seq2Seq) -> None:
    """Raise :class:`UserError` for settings of the training that this model or tokenizer would not heed."""
    training = settings.training
    if training.wandb is not None:
        check_installed(training.wandb)
    forcing = getattr(model, "teacher_forcing", None)
    if training.teacher_forcing.decay is not None and forcing is None:
        raise UserError(
            "training.teacher_forcing: this model decodes all places at once and has no step to change; "
            "it is for model=rnn_bahdanau and model=rnn_luong"
        )
    scheduled = training.teacher_forcing.decay is not None or (forcing is not None and forcing < 1)
    if scheduled and training.guided_alignment:
        raise UserError(
            "training.guided_alignment: links are known for the given translation alone, so it goes with "
            "teacher forcing throughout"
        )
    if training.r_drop and not any(getattr(module, "p", 0.0) for module in model.modules()):
        raise UserError("training.r_drop: two passes differ by dropout, but model.dropout is 0")
    if training.subword_sampling is not None:
        _check_sampling(settings)


def _check_sampling(settings: Settings) -> None:
    kind, amount = settings.tokenizer.model_type, settings.training.subword_sampling
    if kind not in SAMPLED_TYPES:
        raise UserError(f"training.subword_sampling: a tokenizer of type {kind} has one way to cut a word")
    if kind == "bpe" and amount is not None and amount >= 1:
        raise UserError(f"training.subword_sampling: expected a probability below 1 for bpe, got {amount}")
    if settings.training.guided_alignment:
        raise UserError("training.subword_sampling: it does not go with training.guided_alignment")


def check_validation(settings: Settings, corpus: Corpus) -> None:
    """Raise :class:`UserError` for a setting that needs validations, or gold links, where there are none."""
    training = settings.training
    if corpus.validation is None:
        listens = type(build_schedule(settings)).observe is not Schedule.observe
        for name, is_set in (("training.patience", training.patience is not None), ("schedule", listens)):
            if is_set:
                where = f"the corpus {corpus.name!r} has no validation split"
                raise UserError(f"{name}: this setting needs validations, but {where}")
    elif training.best_metric == "aer" and corpus.validation.gold is None:
        raise UserError(
            "training.best_metric=aer: the validation split has no gold links; choose bleu or nll"
        )
