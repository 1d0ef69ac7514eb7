"""Writes checkpoints beside the training, from a copy of the tensors."""

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import torch
from safetensors import SafetensorError

from translate.config.names import shorten
from translate.errors import UserError
from translate.runs.storage.checkpoint import save_checkpoint, step_folders
from translate.text.aside import not_written


def snapshot(value: Any, copies: dict[int, torch.Tensor] | None = None) -> Any:
    """A copy on the CPU, which later steps do not change; a tensor that occurs twice is copied once."""
    copies = {} if copies is None else copies
    if isinstance(value, torch.Tensor):
        if value.is_meta:  # stands for a tensor in shards
            return value
        if id(value) not in copies:
            # A GPU synchronises here.
            copies[id(value)] = value.detach().to("cpu", copy=True)
        return copies[id(value)]
    if isinstance(value, Mapping):
        return {key: snapshot(item, copies) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(snapshot(item, copies) for item in value)
    return value


class Writer:
    """Writes one checkpoint at a time in a thread; training waits only for the previous one.

    A failure is raised by the next :meth:`submit`, :meth:`check` or :meth:`wait`, or at the end of the
    ``with`` block, which waits for the last checkpoint.

    Args:
        directory: ``checkpoints`` of the run.
        write: writes one; tests replace :func:`save_checkpoint`.
    """

    def __init__(self, directory: Path, write: Callable[..., object] = save_checkpoint) -> None:
        self.directory = directory
        self.write = write
        self.thread: threading.Thread | None = None
        self.error: Exception | None = None

    def submit(
        self, step: int, weights: Mapping[str, torch.Tensor], state: Mapping[str, Any], **options: Any
    ) -> None:
        """Write a checkpoint of the present tensors; options are those of :func:`save_checkpoint`."""
        self.wait()
        copied, kept = snapshot((dict(weights), dict(state)))
        self.thread = threading.Thread(
            target=self._run, args=(step, copied, kept, options), name="checkpoint"
        )
        self.thread.start()

    def _run(
        self, step: int, weights: dict[str, torch.Tensor], state: dict[str, Any], options: dict[str, Any]
    ) -> None:
        try:
            self.write(self.directory, step, weights, state, **options)
        except Exception as error:  # raised by the training
            self.error = error

    def check(self) -> None:
        """Raise the error of the last write, if it failed; a full disk is a :class:`UserError`."""
        error, self.error = self.error, None
        if error is None:
            return
        # torch and safetensors have errors of their own, too.
        if isinstance(error, OSError | RuntimeError | SafetensorError):
            raise UserError(
                f"{self.directory}: the checkpoint {_not_written(error)}; {last_checkpoint(self.directory)}"
            ) from error
        raise error

    def wait(self) -> None:
        """Wait until nothing is being written; raises like :meth:`check`."""
        if self.thread is not None:
            self.thread.join()
            self.thread = None
        self.check()

    def __enter__(self) -> "Writer":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is None:
            self.wait()
        elif self.thread is not None:  # the first error is the one to report
            self.thread.join()


def _not_written(error: Exception) -> str:
    if isinstance(error, OSError):
        return not_written(error)
    return f"cannot be written ({shorten(error)}); the disk may be full"


def last_checkpoint(directory: Path) -> str:
    """The last checkpoint of a run that broke off, as part of a sentence."""
    saved = step_folders(directory)
    return f"the last checkpoint is {saved[-1]}" if saved else "there is no checkpoint yet"
