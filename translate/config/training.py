"""What the ``training`` and ``runtime`` sections of the configuration hold; the values are in ``conf/``."""

from dataclasses import dataclass, field
from typing import Any, Literal


def _limited(default: Any, **limits: float) -> Any:
    """A field whose value is checked when a configuration is read: ``minimum``, ``maximum`` or ``above``."""
    return field(default=default, metadata=limits)


@dataclass
class TeacherForcingConfig:
    """How often a recurrent decoder reads the known piece in training; see ``teacher_forcing.py``."""

    decay: Literal["linear", "exponential", "inverse_sigmoid"] | None = None  # model.teacher_forcing if null
    steps: int | None = _limited(None, minimum=1)  # linear: optimizer steps to the minimum
    k: float | None = _limited(None, above=0)  # of the exponential and the inverse sigmoid decay
    minimum: float = _limited(0.0, minimum=0, maximum=1)

    def __post_init__(self) -> None:
        if self.decay == "linear" and self.steps is None:
            raise ValueError("steps: a value is required with decay=linear")
        if self.decay == "exponential" and (self.k is None or self.k >= 1):
            raise ValueError(f"k: expected a number between 0 and 1 with decay=exponential, got {self.k}")
        if self.decay == "inverse_sigmoid" and (self.k is None or self.k < 1):
            raise ValueError(f"k: expected at least 1 with decay=inverse_sigmoid, got {self.k}")
        if self.steps is not None and self.decay != "linear":
            raise ValueError("steps: it has no effect but with decay=linear")
        if self.k is not None and self.decay not in ("exponential", "inverse_sigmoid"):
            raise ValueError("k: it has no effect but with decay=exponential or decay=inverse_sigmoid")
        if self.minimum and self.decay is None:
            raise ValueError("minimum: it has no effect without decay")


@dataclass
class TrainingConfig:
    """How long, how much at a time, and how often what happens."""

    batch_tokens: int = _limited(4096, minimum=1)  # target tokens a batch, padding included
    accumulate: int = _limited(1, minimum=1)  # batches an optimizer step
    max_steps: int | None = _limited(None, minimum=1)  # optimizer steps
    max_epochs: int | None = _limited(None, minimum=1)
    max_time: float | None = _limited(None, above=0)  # seconds of this process
    validate_every: int = _limited(1000, minimum=1)  # optimizer steps
    save_every: int | None = _limited(None, minimum=1)  # optimizer steps; with each validation by default
    log_every: int = _limited(50, minimum=1)  # optimizer steps
    keep_last: int = _limited(1, minimum=1)  # checkpoints beside the best ones
    keep_best: int = _limited(1, minimum=1)  # checkpoints
    seed: int = _limited(1, minimum=0)
    label_smoothing: float = _limited(0.1, minimum=0)
    r_drop: float = _limited(0.0, minimum=0)  # weight of the divergence of two dropout passes; 0 for one pass
    word_dropout: float = _limited(0.0, minimum=0)  # probability that the model reads <unk> for a piece
    subword_sampling: float | None = _limited(None, above=0)  # unigram: smoothing; bpe: dropout of merges
    teacher_forcing: TeacherForcingConfig = field(default_factory=TeacherForcingConfig)
    clip_norm: float | None = _limited(1.0, above=0)  # of the gradient
    ema: float | None = _limited(None, above=0)  # decay of the averaged weights that are validated and kept
    average_last: int | None = _limited(None, minimum=2)  # checkpoints whose mean is tried when the run ends
    best_metric: Literal["bleu", "chrf", "ter", "nll", "aer", "loss"] = "bleu"  # loss: nll, as it was called
    patience: int | None = _limited(None, minimum=1)  # validations without improvement before stopping
    guided_alignment: float = _limited(0.0, minimum=0)  # weight of the loss on the attention; 0 for none
    guided_layer: int | None = _limited(None, minimum=0)  # whose attention is guided; the middle one if null
    guided_shift: int = 0  # 1 guides the row whose decoder input a piece is, 0 the row that predicts it
    guided_links: str | None = None  # file of the links, a line a training pair; counted in the text if null
    guided_gold: bool = True  # gold links of the validation pairs are counted, too
    guided_whitespace: bool = False  # the file's links count words between white space alone
    freeze: list[str] = field(default_factory=list)  # patterns of the names of parameters that stay
    start_from: str | None = None  # a run whose weights and tokenizer are taken over
    validation_pairs: int | None = _limited(500, minimum=1)  # sentences translated for BLEU; all if null
    non_finite: Literal["abort", "skip"] = "abort"  # a step whose loss or gradient is not finite
    out_of_memory: Literal["abort", "lower"] = "abort"  # lower: compute too large batches in parts
    profile: bool = False  # write a trace of some early steps
    wandb: str | None = None  # project of Weights & Biases that is told the metrics
    resume: bool = False
    resume_from: str | None = None  # a checkpoint of the run, such as step-00000500; the last one if null

    def __post_init__(self) -> None:
        if self.best_metric == "loss":
            self.best_metric = "nll"
        for name in ("label_smoothing", "word_dropout", "ema"):
            value = getattr(self, name)
            if value is not None and value >= 1:
                raise ValueError(f"{name}: expected less than 1, got {value}")
        if self.guided_shift not in (0, 1):
            raise ValueError(f"guided_shift: expected 0 or 1, got {self.guided_shift}")
        if self.guided_shift and not self.guided_alignment:
            raise ValueError("guided_shift: has no effect without guided_alignment, the weight of the loss")
        if self.guided_links is not None and not self.guided_alignment:
            raise ValueError("guided_links: has no effect without guided_alignment, the weight of the loss")
        if self.guided_whitespace and self.guided_links is None:
            raise ValueError("guided_whitespace: says how guided_links counts words; there is no such file")
        if self.resume_from is not None and not self.resume:
            raise ValueError("resume_from: it has no effect without training.resume=true")
        if self.average_last is not None:
            if self.ema is not None:
                raise ValueError("average_last: the checkpoints hold averages already; set training.ema=null")
            if self.average_last > self.keep_last:
                raise ValueError(
                    f"average_last: {self.average_last} checkpoints are averaged, but keep_last="
                    f"{self.keep_last} are kept"
                )


@dataclass
class RuntimeConfig:
    """Where and in which precision it runs."""

    device: str = "auto"  # auto, cpu, cuda, cuda:1 ...
    threads: int | None = _limited(None, minimum=1)  # CPU threads; torch's default if null
    precision: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    deterministic: bool = False  # on a GPU: only algorithms that give the same bits again
    parallel: Literal["none", "ddp", "fsdp"] = "none"  # how the processes that torchrun started work together
    timeout: float = _limited(1800.0, above=0)  # seconds that a process waits for the others
    cache: str | None = "auto"  # folder of encoded corpora; auto: that of the user; null: none is kept
