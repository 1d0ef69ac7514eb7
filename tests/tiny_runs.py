"""Runs of the real `translate train`, small enough for tests."""

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

from filelock import FileLock
from omegaconf import DictConfig, OmegaConf

from translate.config.composer import compose
from translate.config.settings import check_config
from translate.runs.life import train

RECURRENT = ["model.embedding_size=24", "model.encoder_size=14", "model.decoder_size=26"]
SIZES = {
    "rnn_bahdanau": RECURRENT,
    "rnn_luong": RECURRENT,
    "transformer": [
        "model.width=24",
        "model.feedforward_size=40",
        "model.num_heads=2",
        "model.attention.num_heads=3",
        "model.encoder_layers=1",
        "model.decoder_layers=2",
        "model.feedforward_dropout=0.1",
    ],
}
BACKENDS = list(SIZES)
# With all that the command line would otherwise choose for so small a corpus.
COMMON = [
    *("model.dropout=0.3", "data.num_train=300", "data.num_validation=11", "data.num_test=13"),
    *("tokenizer.vocabulary_size=320", "optimizer.lr=5e-3", "schedule=constant"),
    *("schedule.warmup=7", "training.batch_tokens=311", "training.ema=0.9"),
    *("training.guided_alignment=0", "training.log_every=1", "training.validate_every=1000"),
    *("training.max_steps=10", "alignment.calibration_pairs=7", "search.beam_size=2"),
    *("runtime.device=cpu", "runtime.threads=1"),
]
# Enough that different sentences get different translations.
TRAINED = [
    *("data.num_train=1000", "model.dropout=0", "optimizer.lr=1e-2", "training.batch_tokens=500"),
    *("training.label_smoothing=0", "training.max_steps=160", "training.validate_every=80"),
    "training.log_every=40",
]


def overrides_of(directory: Path, backend: str = "transformer", *overrides: str) -> list[str]:
    """The arguments of `translate train`; later overrides win."""
    own = any(override.startswith("data=") for override in overrides)
    common = [value for value in COMMON if not own or not value.startswith("data.")]
    chosen = [f"model={backend}", f"run.directory={directory}", *SIZES[backend], *common, *overrides]
    return list({override.split("=")[0]: override for override in chosen}.values())


@cache
def _chosen(choices: tuple[str, ...]) -> DictConfig:
    return compose(choices)


def composed(overrides: list[str]) -> DictConfig:
    """The checked configuration; Hydra, which takes another third of a tiny training's time, only chooses."""
    choices = tuple(text for text in overrides if text[0] in "+~" or "." not in text.partition("=")[0])
    values = OmegaConf.from_dotlist([override for override in overrides if override not in choices])
    config = deepcopy(_chosen(choices))
    OmegaConf.set_struct(config, False)
    config.merge_with(values)
    check_config(config)
    return config


@contextmanager
def without_figures() -> Iterator[None]:
    """Figures of a training are empty files; to draw them takes a third of a tiny training's time."""
    with (
        patch("translate.figures.plots.draw_curves", lambda rows, path: path.touch()),
        patch("translate.runs.run_scores.sample_to_draw", lambda samples: None),
    ):
        yield


def train_tiny(directory: Path, backend: str = "transformer", *overrides: str, draw: bool = False) -> int:
    """Train in this process; returns the exit code."""
    with ExitStack() as stack:
        if not draw:
            stack.enter_context(without_figures())
        return train(composed(overrides_of(directory, backend, *overrides)))


def shared_run(folder: Path, name: str, backend: str, *overrides: str) -> Path:
    """A finished run below `folder`, trained by the first process that asks for it."""
    run, finished = folder / name, folder / f"{name}.finished"
    with FileLock(folder / f"{name}.lock"):
        if not finished.exists():
            assert train_tiny(run, backend, *TRAINED, *overrides, draw=True) == 0
            finished.touch()
    return run


def rows(directory: Path, kind: str = "train") -> list[dict[str, Any]]:
    """The lines of a kind in `metrics.jsonl`, without what depends on the clock."""
    found = [json.loads(line) for line in (directory / "metrics.jsonl").read_text().splitlines()]
    timed = ("seconds", "tokens_per_second")
    return [{key: row[key] for key in row if key not in timed} for row in found if row["kind"] == kind]


def files(directory: Path) -> dict[str, bytes]:
    """The content of every file below a folder, to see that nothing was harmed."""
    found = [path for path in sorted(directory.rglob("*")) if path.is_file()]
    return {str(path.relative_to(directory)): path.read_bytes() for path in found}
