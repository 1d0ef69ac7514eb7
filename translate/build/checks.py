"""Settings that cannot work, found before the corpus is read; or, with it, before it is used."""

from translate.alignment.extract import AlignmentChoice
from translate.build.objects import build_model, build_optimizer, build_schedule
from translate.build.schema import Settings
from translate.errors import UserError
from translate.text.corpus import Corpus
from translate.text.tokenizer import TokenizerConfig
from translate.training.optimizer import Schedule

SMALL = 11  # pieces
NUM_SPECIAL = 4  # padding, unknown, begin and end of sentence
MODEL_TYPES = ("unigram", "bpe", "word", "char")
WHOLE_MATRICES = ("Adafactor", "Muon")  # optimizers whose step on a part of a matrix is another one
NORMALIZATIONS = ("nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf", "identity")


def check_buildable(settings: Settings) -> None:
    """Build model, optimizer and schedule once with a small vocabulary, so that a wrong value is told now."""
    _check_tokenizer(settings.tokenizer)
    sizes = (SMALL, SMALL) if settings.tokenizer.shared else (SMALL, SMALL + 2)
    model = build_model(settings.model, sizes, settings.run.plugins)
    build_optimizer(settings, model)
    optimizer = str(settings.optimizer["_target_"]).rsplit(".", 1)[-1]
    if settings.runtime.parallel == "fsdp" and optimizer in WHOLE_MATRICES:
        raise UserError(f"optimizer: {optimizer} needs whole matrices; use runtime=ddp, or another optimizer")
    build_schedule(settings)
    if model.num_attention_layers < 1:
        raise UserError("model: it has no layer that attends to the source")
    wanted = settings.alignment
    AlignmentChoice(wanted.layer or 0, tuple(wanted.heads or (0,)), wanted.shift or 0).check(model)


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
            "training.best_metric=aer: the validation split has no gold links; choose bleu or loss"
        )
