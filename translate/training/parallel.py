"""One model on many processes: PyTorch's DDP keeps a copy on each, its FSDP2 a part on each.

Both look at a module's ``forward``. The loss reads the model outside of its own (the output embedding, the
weights of an attention), so what they look at is a module whose forward is the computation of a whole loss.
"""

import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule, fully_shard, register_fsdp_forward_method
from torch.distributed.tensor import DTensor
from torch.nn.parallel import DistributedDataParallel

from translate.models import Seq2Seq
from translate.text.tokenizer import EOS
from translate.training.distributed import World
from translate.training.tensors import model_tensors

T = TypeVar("T")


class Computation(nn.Module):
    """Runs what it is given; the hooks of its forward surround all that is done with the model."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, compute: Callable[[], T]) -> T:
        return compute()


@dataclass
class Parallel:
    """What surrounds the steps of a model that the processes of ``world`` train together.

    Gradients are the mean over processes, so a loss is to be scaled by ``world.size`` for their sum.
    """

    world: World = field(default_factory=World)
    engine: nn.Module | None = None  # of a Computation; none in a process alone

    def compute(self, compute: Callable[[], T]) -> T:
        """The result of ``compute``, which uses the model as it likes."""
        return compute() if self.engine is None else self.engine(compute)

    def exchange(self, *, last: bool) -> AbstractContextManager[Any]:
        """Around forward and backward of a batch: whether it is the last one of an optimizer step.

        DDP exchanges gradients with the last one alone; FSDP with each, for it has no room for whole ones.
        """
        if isinstance(self.engine, DistributedDataParallel) and not last:
            return self.engine.no_sync()
        return nullcontext()


def parallelise(kind: str, model: Seq2Seq, world: World, device: torch.device) -> Parallel:
    """Make ``model`` one that all processes train; with ``fsdp`` its parameters are other objects then.

    Args:
        kind: ``none``, ``ddp`` or ``fsdp``.
        model: on its device, the same in all processes.
        world: the processes.
        device: of this process.
    """
    if kind == "none":
        return Parallel(world)
    computation = Computation(model)
    if kind == "fsdp":
        return Parallel(world, _sharded(computation, model, world, device))
    return Parallel(world, _copied(computation, model, device))


def _copied(computation: Computation, model: Seq2Seq, device: torch.device) -> nn.Module:
    """DDP around the model.

    DDP has to be told whether a step leaves parameters unread, as a few mechanisms of attention do; and it
    sorts its buckets anew after the first backward pass. A trial tells the one, and does the other before
    the first step, be it of a run or of a resumed one, so that both add in the same order.
    """

    def trial() -> Tensor:
        ids = torch.full((1, 2), EOS, device=device)
        return model.logits(model(ids, None, ids)).sum()

    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        model.train()
        trial().backward()
        unread = any(parameter.grad is None for parameter in parameters)
        model.zero_grad(set_to_none=True)
        engine = DistributedDataParallel(
            computation, find_unused_parameters=unread, gradient_as_bucket_view=True
        )
        engine(trial).backward()
        model.zero_grad(set_to_none=True)
    return engine


def _sharded(computation: Computation, model: Seq2Seq, world: World, device: torch.device) -> nn.Module:
    for tensor in model_tensors(model).values():
        dist.broadcast(tensor, src=0)
    # A mechanism's context may be a view; nobody writes into it.
    warnings.filterwarnings("ignore", "FSDP2-wrapped module .* returned a view tensor")
    mesh = init_device_mesh(device.type, (world.size,))
    for part, methods in model.shards():
        fully_shard(part, mesh=mesh)
        for method in methods:
            register_fsdp_forward_method(part, method)
    fully_shard(computation, mesh=mesh)
    for module in computation.modules():
        if isinstance(module, FSDPModule) and device.type == "cpu":
            module.set_force_sum_reduction_for_comms(True)  # gloo knows no mean
    return computation


def whole(tensor: Tensor) -> Tensor:
    """A tensor of which each process may hold a part, put together; all processes must ask for it."""
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def copy_whole(model: nn.Module, copy: nn.Module) -> None:
    """Give ``copy`` the weights of a model that may be in parts; all processes must ask for it."""
    if model is not copy:
        targets = model_tensors(copy)
        for name, tensor in model_tensors(model).items():
            targets[name].copy_(whole(tensor))
