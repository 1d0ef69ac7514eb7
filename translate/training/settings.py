"""What the ``training`` and ``runtime`` sections of the configuration hold; the values are in ``conf/``."""

from dataclasses import dataclass
from typing import Literal


@dataclass
class TrainingConfig:
    """How long, how much at a time, and how often what happens."""

    batch_tokens: int = 4096  # target tokens a batch, padding included
    accumulate: int = 1  # batches an optimizer step
    max_steps: int | None = None  # optimizer steps
    max_epochs: int | None = None
    max_time: float | None = None  # seconds of this process
    validate_every: int = 1000  # optimizer steps
    save_every: int | None = None  # optimizer steps; with each validation by default
    log_every: int = 50  # optimizer steps
    keep_last: int = 1  # checkpoints
    seed: int = 1
    label_smoothing: float = 0.1
    clip_norm: float | None = 1.0  # of the gradient
    ema: float | None = None  # decay of the moving average of the weights that is validated and kept
    best_metric: Literal["bleu", "loss", "aer"] = "bleu"
    patience: int | None = None  # validations without improvement before stopping
    validation_pairs: int | None = 500  # sentences translated for BLEU in validation; all if null
    resume: bool = False


@dataclass
class RuntimeConfig:
    """Where and in which precision it runs."""

    device: str = "auto"  # auto, cpu, cuda, cuda:1 ...
    threads: int | None = None  # CPU threads; torch's default if null
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
