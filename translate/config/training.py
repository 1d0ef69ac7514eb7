"""The ``training`` and ``runtime`` sections; their files below ``conf`` hold defaults and meanings."""

from typing import Annotated, Literal

from annotated_types import Ge, Le

from translate.config.declare import (
    YAML,
    AboveZero,
    Amount,
    BelowOne,
    Count,
    Fraction,
    OpenFraction,
    Positive,
    Shift,
    declared,
)

NO_EFFECT = "{}: it has no effect without {}"
MOST_THREADS = 1024  # with a million of them the process dies


@declared("training/default.yaml", "teacher_forcing")
class TeacherForcingConfig:
    """The share of reference pieces, instead of its own, that a recurrent decoder reads in training."""

    decay: Literal["linear", "exponential", "inverse_sigmoid"] | None = YAML
    steps: Positive | None = YAML
    k: AboveZero | None = YAML
    minimum: Fraction = YAML

    def __post_init__(self) -> None:
        if self.decay == "linear" and self.steps is None:
            raise ValueError("steps: a value is required with decay=linear")
        if self.decay == "exponential" and (self.k is None or self.k >= 1):
            raise ValueError(f"k: expected a number between 0 and 1 with decay=exponential, got {self.k}")
        if self.decay == "inverse_sigmoid" and (self.k is None or self.k < 1):
            raise ValueError(f"k: expected at least 1 with decay=inverse_sigmoid, got {self.k}")
        if self.steps is not None and self.decay != "linear":
            raise ValueError("steps: it has no effect without decay=linear")
        if self.k is not None and self.decay not in ("exponential", "inverse_sigmoid"):
            raise ValueError("k: it has no effect without decay=exponential or decay=inverse_sigmoid")
        if self.minimum and self.decay is None:
            raise ValueError("minimum: it has no effect without decay")


@declared("training/default.yaml", "augment")
class AugmentConfig:
    """Probabilities of changes to pairs, drawn again in every epoch; with all of them 0, no pair changes."""

    uppercase: Fraction = YAML
    titlecase: Fraction = YAML
    typos: Fraction = YAML
    merge: Fraction = YAML
    placeholders: Fraction = YAML
    tags: Fraction = YAML
    terms: Fraction = YAML

    @property
    def needs_links(self) -> bool:
        """Whether a change must know which words translate each other."""
        return bool(self.placeholders or self.tags or self.terms)

    @property
    def changes(self) -> bool:
        """Whether any pair may change."""
        return self.needs_links or bool(self.uppercase or self.titlecase or self.typos or self.merge)


@declared("training/default.yaml")
class TrainingConfig:
    """The length of training, the size of a batch, the losses, and the steps that validate and save."""

    batch_tokens: Positive = YAML
    accumulate: Positive = YAML
    max_steps: Positive | None = YAML
    max_epochs: Positive | None = YAML
    max_time: AboveZero | None = YAML
    validate_every: Positive = YAML
    save_every: Positive | None = YAML
    log_every: Positive = YAML
    keep_last: Positive = YAML
    keep_best: Positive = YAML
    seed: Count = YAML
    label_smoothing: BelowOne = YAML
    r_drop: Amount = YAML
    word_dropout: BelowOne = YAML
    subword_sampling: AboveZero | None = YAML
    augment: AugmentConfig = YAML
    teacher_forcing: TeacherForcingConfig = YAML
    clip_norm: AboveZero | None = YAML
    ema: OpenFraction | None = YAML
    best_metric: Literal["bleu", "chrf", "ter", "nll", "aer"] = YAML
    patience: Positive | None = YAML
    guided_alignment: Amount = YAML
    guided_layer: Count | None = YAML
    guided_shift: Shift = YAML
    guided_links: str | None = YAML
    guided_gold: bool = YAML
    guided_whitespace: bool = YAML
    freeze: list[str] = YAML
    start_from: str | None = YAML
    validation_pairs: Positive | None = YAML
    non_finite: Literal["abort", "skip"] = YAML
    out_of_memory: Literal["abort", "lower"] = YAML
    resume: bool = YAML
    resume_from: str | None = YAML

    @property
    def needs_links(self) -> bool:
        """Whether the words of training pairs must be linked."""
        return bool(self.guided_alignment) or self.augment.needs_links

    def guided_of(self, layers: int) -> int | None:
        """The layer whose first head word links teach, of a model with as many ``layers`` of attention."""
        if not self.guided_alignment:
            return None
        return (layers - 1) // 2 if self.guided_layer is None else self.guided_layer

    def __post_init__(self) -> None:
        if self.guided_links is not None and not self.needs_links:
            raise ValueError(NO_EFFECT.format("guided_links", "training.guided_alignment, such as 0.5"))
        if self.guided_whitespace and self.guided_links is None:
            raise ValueError(NO_EFFECT.format("guided_whitespace", "guided_links, the file of the links"))
        if self.resume_from is not None and not self.resume:
            raise ValueError(NO_EFFECT.format("resume_from", "training.resume=true"))


@declared("runtime/auto.yaml")
class RuntimeConfig:
    """The device, the precision and the processes of a run."""

    device: str = YAML
    threads: Annotated[int, Ge(1), Le(MOST_THREADS)] | None = YAML
    precision: Literal["auto", "float32", "bfloat16", "float16"] = YAML
    deterministic: bool = YAML
    parallel: Literal["none", "ddp", "fsdp"] = YAML
    timeout: AboveZero = YAML
    cache: str | None = YAML
