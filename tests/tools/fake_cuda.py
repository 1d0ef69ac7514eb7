"""Runs a training step, a search and an alignment of the backends as if on a GPU, on a machine without one.

Tensors "on the GPU" are stand-ins that hold their numbers in the CPU's memory and name `cuda:0` as their
device, so the package takes the branches that it takes for a GPU, with real values. Findings are the
operations that a GPU would refuse because their tensors are on two devices, and those at which the CPU would
wait for the GPU or copy to it from memory that is not pinned, with the line of this package.

Kernels, memory and speed are left to gpu_check.py. Products in half precision follow the rules of autocast
for a CPU, which are nearly those for a GPU; compiled functions run uncompiled. torch's own fake tensors
cannot do this: they hold no numbers, by which a search ends, and without a driver they have no backward pass.
"""

import inspect
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode, return_and_correct_aliasing
from torch.utils._pytree import tree_leaves, tree_map

import translate
from tests.tiny_models import tiny_model
from translate.alignment.alignment import AlignmentChoice
from translate.alignment.methods import METHODS, align
from translate.alignment.pairs import EncodedPair
from translate.config.search import SearchConfig
from translate.corpora.batching import Batch, collate, moved
from translate.corpora.encoded import EncodedCorpus, Ragged
from translate.models import Seq2Seq
from translate.search.decoders import Record
from translate.search.search_loop import Supply, search
from translate.search.sources import Reader, Request, SentenceGroup
from translate.text.tokenizer import EOS
from translate.training.losses import LossTerms
from translate.training.update import Update
from translate.training.weights import MovingAverage

PACKAGE = Path(translate.__file__).parent
CUDA, CPU = torch.device("cuda", 0), torch.device("cpu")
ATEN = torch.ops.aten
# At these the CPU waits for the GPU, since the result is a number, or its shape depends on the numbers.
WAITS = {
    *(ATEN._local_scalar_dense, ATEN.is_nonzero, ATEN.equal, ATEN.nonzero, ATEN.nonzero_numpy),
    *(ATEN.item, ATEN.masked_select, ATEN.unique_dim, ATEN._unique2, ATEN.unique_consecutive),
    ATEN.bincount,
}
MIXED, WAIT, COPY = "two devices", "waits", "copies"
VOCABULARY = 211
LENGTHS = (3, 7, 5, 9, 4)  # of sentences, so that batches are padded


class Finding(NamedTuple):
    """An operation that a GPU would refuse or wait for."""

    kind: str  # MIXED, WAIT, or COPY: to the GPU, from memory that is not pinned
    place: str  # file and line in this package
    operation: str


class StandIn(Tensor):
    """A tensor that stands for one on the GPU; `numbers` is the one that holds its values."""

    numbers: Tensor

    @staticmethod
    def __new__(cls, real: Tensor) -> "StandIn":
        with torch.inference_mode(False):  # a view of an ordinary tensor is one, too
            made = torch.Tensor._make_wrapper_subclass(
                cls,
                real.shape,
                strides=real.stride(),
                storage_offset=real.storage_offset(),
                dtype=real.dtype,
                device=CPU,
            )
        made.numbers = real
        return made

    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]  # outside the mode, as when a stand-in is printed
        cls, operation: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        return operation(*tree_map(_numbers, args), **tree_map(_numbers, kwargs or {}))


def _numbers(value: Any) -> Any:
    return value.numbers if isinstance(value, StandIn) else value


def _tensors(*values: Any) -> list[Tensor]:
    return [value for value in tree_leaves(values) if isinstance(value, Tensor)]


def _place() -> str:
    """The innermost line of this package on the stack."""
    frame = inspect.currentframe()
    while frame is not None:
        if frame.f_code.co_filename.startswith(str(PACKAGE)):
            return f"{Path(frame.f_code.co_filename).relative_to(PACKAGE)}:{frame.f_lineno}"
        frame = frame.f_back
    return "outside the package"


class Operations(TorchDispatchMode):
    """Runs each operation on the CPU, with stand-ins for results where an argument is one."""

    def __init__(self) -> None:
        super().__init__()
        self.found: Counter[Finding] = Counter()
        self.on_gpu = False  # whether the call of torch that is running has a stand-in

    def note(self, kind: str, operation: Any) -> None:
        self.found[Finding(kind, _place(), str(operation).removeprefix("aten."))] += 1

    def __torch_dispatch__(self, operation: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        given = _tensors(args, kwargs)
        stand_ins = [tensor for tensor in given if isinstance(tensor, StandIn)]
        if not stand_ins:  # a composite operation on stand-ins makes tensors without naming one
            made = operation(*args, **kwargs)
            return _wrapped(made) if self.on_gpu and not given else made
        packet = operation.overloadpacket
        plain = [tensor for tensor in given if not isinstance(tensor, StandIn) and tensor.dim() > 0]
        if packet is ATEN.copy_ or packet is ATEN._to_copy:
            if plain:
                self.note(COPY if isinstance(args[0], StandIn) else WAIT, operation)
        elif plain and packet in (ATEN.index, ATEN.index_put_) and isinstance(args[0], StandIn):
            self.note(COPY, operation)  # a GPU takes indexes of the CPU
        elif plain and packet is not ATEN._pack_padded_sequence:  # whose lengths stay on the CPU
            self.note(MIXED, operation)
        if packet in WAITS or (packet is ATEN.index and _masks(args)):
            self.note(WAIT, operation)
        if packet is ATEN.copy_ and not isinstance(args[0], StandIn):
            args[0].copy_(_numbers(args[1]))
            return args[0]
        made = operation(*tree_map(_numbers, args), **tree_map(_numbers, kwargs))
        if packet is ATEN._pack_padded_sequence:
            return _wrapped(made[0]), made[1]
        made = tree_map(_wrapped, made)
        return return_and_correct_aliasing(operation, args, kwargs, made)


def _wrapped(value: Any) -> Any:
    return StandIn(value) if isinstance(value, Tensor) and not isinstance(value, StandIn) else value


def _masks(args: Any) -> bool:
    return any(index.dtype in (torch.bool, torch.uint8) for index in _tensors(args[1]))


def _unpacked(
    data: Tensor, batch_sizes: Tensor, batch_first: bool, padding: float, total_length: int
) -> tuple[Tensor, Tensor]:
    """torch's own writes the lengths from C++, which cannot know that they belong on the CPU."""
    sizes = batch_sizes.tolist()
    rows = [F.pad(part, (0, 0, 0, sizes[0] - len(part)), value=padding) for part in data.split(sizes)]
    rows += [torch.full_like(rows[0], padding)] * (total_length - len(sizes))
    return torch.stack(rows, int(batch_first)), (batch_sizes > torch.arange(sizes[0]).unsqueeze(1)).sum(1)


class Calls(TorchFunctionMode):
    """Moves what a call asks to be on the GPU to a stand-in, and answers for the device of one."""

    def __init__(self, operations: Operations) -> None:
        super().__init__()
        self.operations = operations

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if function == Tensor.device.__get__:
            return CUDA if isinstance(args[0], StandIn) else function(*args)
        if function in (Tensor.to, Tensor.cuda, Tensor.cpu):
            return self._move(function, args, kwargs)
        if function is Tensor.pin_memory:
            args[0].pinned = True
            return args[0]
        if function in (Tensor.tolist, Tensor.numpy) and isinstance(args[0], StandIn):
            self.operations.note(WAIT, function.__name__)
            return getattr(args[0].numbers, function.__name__)()
        if function.__name__ == "_pad_packed_sequence" and isinstance(args[0], StandIn):
            return _unpacked(*args)
        to_gpu = "device" in kwargs and _is_gpu(kwargs["device"])
        if "device" in kwargs:
            kwargs["device"] = None if kwargs["device"] is None else CPU
        before = self.operations.on_gpu
        self.operations.on_gpu = to_gpu or any(
            isinstance(tensor, StandIn) for tensor in _tensors(args, kwargs)
        )
        try:
            made = function(*args, **kwargs)
        finally:
            self.operations.on_gpu = before
        if to_gpu and function in (torch.tensor, torch.as_tensor, Tensor.new_tensor):
            self.operations.note(COPY, function.__name__)
        return tree_map(_wrapped, made) if to_gpu else made

    def _move(self, function: Any, args: Any, kwargs: Any) -> Any:
        """`to`, `cuda` and `cpu`: the device apart from the type."""
        tensor, *others = args
        device = {Tensor.cuda: CUDA, Tensor.cpu: CPU}.get(function, kwargs.get("device"))
        dtype = kwargs.get("dtype")
        for other in others:  # the two flags that may follow change no values
            if isinstance(other, torch.device | str):
                device = torch.device(other)
            elif isinstance(other, torch.dtype):
                dtype = other
            elif isinstance(other, Tensor):
                device, dtype = (CUDA if isinstance(other, StandIn) else CPU), other.dtype
        asked = function is Tensor.to and device == CPU and isinstance(tensor, StandIn)
        if asked and _of_torch(sys._getframe(2).f_code.co_filename):
            device = None  # torch's own functions ask C++ for the device, which does not know of stand-ins
        moved = tensor if dtype in (None, tensor.dtype) else tensor.type(dtype)
        if device is None or _is_gpu(device) == isinstance(moved, StandIn):
            return moved
        if _is_gpu(device):
            if not getattr(tensor, "pinned", False):
                self.operations.note(COPY, "to")
            return _Move.apply(moved)
        self.operations.note(WAIT, "cpu")
        return moved.numbers


class _Move(torch.autograd.Function):
    """To the GPU; the gradient comes back."""

    @staticmethod
    def forward(context: Any, tensor: Tensor) -> Tensor:
        return StandIn(tensor.detach())

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> Any:
        return _numbers(gradients[0])


def _of_torch(file: str) -> bool:
    return file.startswith(str(Path(torch.__file__).parent))


def _is_gpu(device: Any) -> bool:
    return device is not None and torch.device(device).type == "cuda"


class _Autocast(torch.autocast):
    """Autocast for a CPU, whatever device is asked for."""

    def __init__(self, device_type: str, *args: Any, **kwargs: Any) -> None:
        super().__init__("cpu", *args, **kwargs)


@contextmanager
def pretended() -> Iterator[Counter[Finding]]:
    """Pretend that there is a GPU; yields the findings, which grow."""
    operations, enabled, dtype = Operations(), torch.is_autocast_enabled, torch.get_autocast_dtype
    with ExitStack() as stack:
        for name, answer in {
            "is_available": True,
            "is_bf16_supported": True,
            "device_count": 1,
            "current_device": 0,
            "_lazy_init": None,
            "empty_cache": None,
            "is_current_stream_capturing": False,
        }.items():
            stack.enter_context(patch.object(torch.cuda, name, lambda *_, answer=answer, **__: answer))
        stack.enter_context(patch.object(torch, "autocast", _Autocast))
        stack.enter_context(patch.object(torch, "is_autocast_enabled", lambda *_: enabled("cpu")))
        stack.enter_context(patch.object(torch, "get_autocast_dtype", lambda *_: dtype("cpu")))
        stack.enter_context(
            patch.object(torch, "compile", lambda function=None, **_: function or (lambda f: f))
        )
        stack.enter_context(operations)
        stack.enter_context(Calls(operations))
        yield operations.found


def to_gpu(model: Seq2Seq) -> Seq2Seq:
    """Put stand-ins in the place of a model's parameters and buffers; those that are shared stay shared."""
    moved: dict[Tensor, Any] = {}
    for module in model.modules():
        for name, parameter in list(module.named_parameters(recurse=False, remove_duplicate=False)):
            if parameter not in moved:
                moved[parameter] = nn.Parameter(StandIn(parameter.detach()), parameter.requires_grad)
            setattr(module, name, moved[parameter])
        for name, buffer in list(module.named_buffers(recurse=False, remove_duplicate=False)):
            setattr(module, name, moved.setdefault(buffer, StandIn(buffer)))
    return model


def small(backend: str) -> Seq2Seq:
    """A model of a backend with random weights, on the CPU, as it is trained."""
    sizes = {"source_vocabulary": VOCABULARY, "target_vocabulary": VOCABULARY}
    return tiny_model(backend, torch.float32, **sizes).train()


def corpus() -> EncodedCorpus:
    """Random sentences of both sides, of 3 to 9 pieces."""
    generator = np.random.default_rng(1)
    lengths = [generator.integers(min(LENGTHS), max(LENGTHS) + 1, 20) for _ in range(2)]
    return EncodedCorpus(
        *(Ragged.of([generator.integers(4, VOCABULARY, n) for n in side]) for side in lengths)
    )


def take_steps(model: Seq2Seq, batches: list[Batch], precision: torch.dtype, terms: LossTerms) -> Tensor:
    """Take an optimizer step for every batch; returns the loss of the last one."""
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)
    average = MovingAverage(model, 0.99)
    update = Update(model, optimizer, terms, clip_norm=1.0, average=average, precision=precision)
    return [update([batch], step) for step, batch in enumerate(batches, 1)][-1].loss


def translated(model: Seq2Seq, device: torch.device, config: SearchConfig) -> list[list[int]]:
    """The best translations of a few batches of sentences, which enter and leave, with recorded attention."""
    sources = corpus().source
    groups = []
    for start in range(3):
        ids = [[*sources.row(5 * start + row)[:length].tolist(), EOS] for row, length in enumerate(LENGTHS)]
        longest = max(map(len, ids))
        mask = torch.tensor([[True] * len(row) + [False] * (longest - len(row)) for row in ids])
        padded = torch.tensor([row + [0] * (longest - len(row)) for row in ids])
        reader = Reader(model, moved(padded, device), moved(mask, device))
        groups.append(SentenceGroup(range(start * 5, start * 5 + 5), [reader], [Request()] * 5))
    record = Record(0, range(model.num_attention_heads))
    found = search(Supply(groups), lambda group: group, config, record=record, eager=True)
    return [finished.hypotheses[0].ids for finished in sorted(found, key=lambda finished: finished.key)]


def aligned(model: Seq2Seq, method: str) -> list[Any]:
    """The weights of a few pairs, each piece of which is a word."""
    sides = [[side.row(row).tolist() for row in range(5)] for side in (corpus().source, corpus().target)]
    pairs = [
        EncodedPair([*source, EOS], target, [*range(len(source)), -1], range(len(target)), *words)
        for source, target in zip(*sides, strict=True)
        if (words := (["a"] * len(source), ["b"] * len(target)))
    ]
    choice = AlignmentChoice(0, (0,), 0)
    return [alignment.weights for alignment in align(model, pairs, choice, method=method)]


def phases(backend: str, precision: torch.dtype) -> Iterator[tuple[str, Counter[Finding]]]:
    """The findings in steps, a search and alignments of a backend."""
    batches = [collate(corpus(), list(range(start, start + 7))) for start in (0, 7)]
    config = SearchConfig(beam_size=3, max_length_extra=6, max_length_ratio=1.0)
    work: dict[str, Callable[[Seq2Seq], object]] = {
        "2 steps": lambda model: take_steps(model, batches, precision, LossTerms(label_smoothing=0.1)),
        "2 steps, R-Drop": lambda model: take_steps(model, batches, precision, LossTerms(r_drop=1.0)),
        "search": lambda model: translated(model.eval(), CUDA, config),
        **{
            f"align by {method}": lambda model, method=method: aligned(model.eval(), method)  # type: ignore[misc]
            for method in METHODS
        },
    }
    for name, run in work.items():
        with pretended() as found:
            model = to_gpu(small(backend).to(precision if name == "search" else None))
            found.clear()
            run(model)
        yield name, found
