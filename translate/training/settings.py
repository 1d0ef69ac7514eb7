"""What the ``training`` and ``runtime`` sections of the configuration hold; the values are in ``conf/``."""

from dataclasses import dataclass, field
from typing import Any, Literal


def _limited(default: Any, **limits: float) -> Any:
    """A field whose value is checked when a configuration is read: ``minimum``, ``maximum`` or ``above``."""
    return field(default=default, metadata=limits)


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
    keep_last: int = _limited(1, minimum=1)  # checkpoints beside the best one
    seed: int = _limited(1, minimum=0)
    label_smoothing: float = _limited(0.1, minimum=0)
    clip_norm: float | None = _limited(1.0, above=0)  # of the gradient
    ema: float | None = _limited(None, above=0)  # decay of the averaged weights that are validated and kept
    best_metric: Literal["bleu", "loss", "aer"] = "bleu"
    patience: int | None = _limited(None, minimum=1)  # validations without improvement before stopping
    guided_alignment: float = _limited(0.0, minimum=0)  # weight of the loss on the attention; 0 for none
    guided_layer: int | None = _limited(None, minimum=0)  # whose attention is guided; the middle one if null
    validation_pairs: int | None = _limited(500, minimum=1)  # sentences translated for BLEU; all if null
    resume: bool = False

    def __post_init__(self) -> None:
        for name in ("label_smoothing", "ema"):
            value = getattr(self, name)
            if value is not None and value >= 1:
                raise ValueError(f"{name}: expected less than 1, got {value}")


@dataclass
class RuntimeConfig:
    """Where and in which precision it runs."""

    device: str = "auto"  # auto, cpu, cuda, cuda:1 ...
    threads: int | None = _limited(None, minimum=1)  # CPU threads; torch's default if null
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    parallel: Literal["none", "ddp", "fsdp"] = "none"  # how the processes that torchrun started work together
    timeout: float = _limited(1800.0, above=0)  # seconds that a process waits for the others
