"""Models for other processes: their parts as a pickle, their weights in memory that all processes share.

So there is one copy of the weights, however many processes translate, and a process that is begun anew has
the same models as the others, even if the run has been trained on since.
"""

import io
import mmap
import os
import pickle
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

ALIGNED = 64  # bytes, at which each tensor begins
Stored = tuple[int, torch.dtype, tuple[int, ...], tuple[int, ...], bool, bool]


def shared_memory() -> int:
    """A file descriptor of memory, or of a file without a name, that processes begun with it can map."""
    if hasattr(os, "memfd_create"):  # not limited as /dev/shm is, which a container may have made small
        return os.memfd_create("weights")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


@dataclass(frozen=True)
class Handed:
    """An object whose tensors lie in shared memory.

    Attributes:
        pickled: the rest.
        size: of the memory, in bytes.
    """

    pickled: bytes
    size: int

    @classmethod
    def pack(cls, value: Any, memory: int) -> "Handed":
        """Write the tensors of ``value`` into ``memory``, which was empty."""
        stream = io.BytesIO()
        with _quiet():
            pickler = _Packer(stream, memory)
            pickler.dump(value)
        return cls(stream.getvalue(), pickler.size)

    def unpack(self, memory: int) -> Any:
        """The object, with tensors that lie in ``memory``."""
        with _quiet():
            return _Unpacker(io.BytesIO(self.pickled), memory, self.size).load()


@contextmanager
def _quiet() -> Iterator[None]:
    """Without torch's warnings about how it stores 8-bit weights itself."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield


class _Packer(pickle.Pickler):
    """Writes plain tensors to memory, each once; 8-bit weights, which torch packs, stay in the pickle."""

    def __init__(self, stream: io.BytesIO, memory: int) -> None:
        super().__init__(stream, pickle.HIGHEST_PROTOCOL)
        self.size = ALIGNED  # of the file; never empty, since nothing empty can be mapped
        self._memory = memory
        self._known: dict[int, tuple[Tensor, Stored]] = {}
        os.ftruncate(memory, self.size)

    def persistent_id(self, obj: Any) -> Stored | None:
        if not isinstance(obj, Tensor) or obj.is_quantized or obj.device.type != "cpu":
            return None
        if type(obj) not in (Tensor, nn.Parameter) or obj.layout != torch.strided:
            return None
        if id(obj) not in self._known:
            self._known[id(obj)] = obj, self._store(obj)
        return self._known[id(obj)][1]

    def _store(self, tensor: Tensor) -> Stored:
        plain, start = tensor.detach(), self.size
        if plain.numel():
            extent = 1 + sum(
                (size - 1) * stride for size, stride in zip(plain.shape, plain.stride(), strict=True)
            )
            whole = plain.as_strided((extent,), (1,))  # what lies between its first and its last number
            content = whole.view(torch.uint8).numpy().data.cast("B")
            os.lseek(self._memory, start, os.SEEK_SET)
            while content:
                content = content[os.write(self._memory, content) :]
            self.size = -(-os.lseek(self._memory, 0, os.SEEK_CUR) // ALIGNED) * ALIGNED
            os.ftruncate(self._memory, self.size)
        shape, stride = tuple(plain.shape), plain.stride()
        return start, plain.dtype, shape, stride, isinstance(tensor, nn.Parameter), tensor.requires_grad


class _Unpacker(pickle.Unpickler):
    def __init__(self, stream: io.BytesIO, memory: int, size: int) -> None:
        super().__init__(stream)
        self._bytes = torch.frombuffer(mmap.mmap(memory, size), dtype=torch.uint8)
        self._known: dict[Stored, Tensor] = {}

    def persistent_load(self, pid: Stored) -> Tensor:
        if pid not in self._known:
            self._known[pid] = self._tensor(*pid)
        return self._known[pid]

    def _tensor(
        self,
        start: int,
        dtype: torch.dtype,
        shape: tuple[int, ...],
        stride: tuple[int, ...],
        parameter: bool,
        gradient: bool,
    ) -> Tensor:
        if 0 in shape:
            found = torch.empty_strided(shape, stride, dtype=dtype)
        else:
            extent = 1 + sum((size - 1) * step for size, step in zip(shape, stride, strict=True))
            found = self._bytes[start : start + extent * dtype.itemsize].view(dtype)
            found = found.as_strided(shape, stride, found.storage_offset())
        return nn.Parameter(found, gradient) if parameter else found.requires_grad_(gradient)
