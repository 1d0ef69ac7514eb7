"""One model on several processes: PyTorch's DDP keeps a copy on each, FSDP2 a part on each.

Both hook into a module's ``forward``. The loss also reads parameters outside the model's own forward (output
embedding, attention weights), so they wrap a module whose forward computes a whole loss.
"""

import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeGuard, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from translate.models import Seq2Seq
from translate.text.tokenizer import EOS
from translate.training.distributed import World
from translate.training.weights import model_tensors

if TYPE_CHECKING:
    from torch.distributed.tensor import DTensor

T = TypeVar("T")


class Computation(nn.Module):
    """A module that runs a function, so that the hooks of its forward surround every use of the model."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, compute: Callable[[], T]) -> T:
        return compute()


@dataclass
class Parallel:
    """How the processes of ``world`` train one model together.

    They average their gradients; scaling the loss by ``world.size`` gives the sum.
    """

    world: World = field(default_factory=World)
    engine: nn.Module | None = None  # around a Computation; None for one process

    def compute(self, compute: Callable[[], T]) -> T:
        """The result of ``compute``, which may use the model in any way."""
        return compute() if self.engine is None else self.engine(compute)

    def exchange(self, *, last: bool) -> AbstractContextManager[Any]:
        """A context for the forward and backward pass of a batch.

        DDP exchanges gradients only with the last batch of a step; FSDP with every batch, since no process
        has room for whole gradients.
        """
        if isinstance(self.engine, DistributedDataParallel) and not last:
            return self.engine.no_sync()
        return nullcontext()


def parallelise(kind: str, model: Seq2Seq, world: World, device: torch.device) -> Parallel:
    """Prepare ``model`` for training by all processes; ``fsdp`` replaces its parameters.

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

    DDP must know whether a step leaves parameters unused, as a few attention mechanisms do, and it reorders
    its buckets after the first backward pass. A trial pass finds out the former and triggers the latter
    before the first step, so that a fresh and a resumed run add gradients in the same order.
    """

    def trial() -> Tensor:
        ids = torch.full((1, 2), EOS, device=device)
        return model.logits(model(ids, None, ids)).sum()

    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        model.train()
        trial().backward()
        unused = any(parameter.grad is None for parameter in parameters)
        model.zero_grad(set_to_none=True)
        engine = DistributedDataParallel(
            computation, find_unused_parameters=unused, gradient_as_bucket_view=True
        )
        engine(trial).backward()
        model.zero_grad(set_to_none=True)
    return engine


def _sharded(computation: Computation, model: Seq2Seq, world: World, device: torch.device) -> nn.Module:
    # These take a second to import; a single process does without.
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import FSDPModule, fully_shard, register_fsdp_forward_method

    for tensor in model_tensors(model).values():
        dist.broadcast(tensor, src=0)
    # The context of an attention may be a view; nothing writes into it.
    warnings.filterwarnings("ignore", "FSDP2-wrapped module .* returned a view tensor")
    mesh = init_device_mesh(device.type, (world.size,))
    for part, methods in model.shards():
        fully_shard(part, mesh=mesh)
        for method in methods:
            register_fsdp_forward_method(part, method)
    fully_shard(computation, mesh=mesh)
    for module in computation.modules():
        if isinstance(module, FSDPModule) and device.type == "cpu":
            module.set_force_sum_reduction_for_comms(True)  # gloo cannot average
    return computation


def is_spread(tensor: Tensor) -> "TypeGuard[DTensor]":
    """Whether a tensor is spread over the processes: a ``DTensor``, whose class takes a second to import."""
    return hasattr(tensor, "full_tensor")


def whole(tensor: Tensor) -> Tensor:
    """The whole of a tensor that may be spread over the processes, all of which must call this."""
    return tensor.full_tensor() if is_spread(tensor) else tensor


def copy_whole(model: nn.Module, copy: nn.Module) -> None:
    """Copy the weights of a model that may be spread over the processes, all of which must call this."""
    if model is not copy:
        targets = model_tensors(copy)
        for name, tensor in model_tensors(model).items():
            targets[name].copy_(whole(tensor))
