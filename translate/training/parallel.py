"""The processes of a run, which torchrun starts, and one model on all of them.

PyTorch's DDP keeps a copy of the model on each process, FSDP2 a part. Both hook into a module's ``forward``.
The loss also reads parameters outside the model's own forward (output embedding, attention weights), so they
wrap a module whose forward computes a whole loss.
"""

import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, redirect_stdout
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeGuard, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from translate.config.training import RuntimeConfig
from translate.errors import UserError
from translate.models import Seq2Seq
from translate.text.tokenizer import EOS
from translate.training.weights import model_tensors

if TYPE_CHECKING:
    from torch.distributed.tensor import DTensor

T = TypeVar("T")

FAILED = 2  # exit code of a process that ends because another one has reported an error
TORCHRUN = "torchrun --standalone --nproc-per-node {} --no-python"
LAUNCHED = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")  # set by torchrun


@dataclass(frozen=True)
class World:
    """The processes that train one model; a single process exchanges nothing.

    All processes must call every method, in the same order.
    """

    rank: int = 0
    size: int = 1

    @property
    def is_main(self) -> bool:
        """Whether this is the process that prints and writes."""
        return self.rank == 0

    def agree(self, reason: str | None) -> str | None:
        """The reason of the lowest rank that has one, in all processes; ``None`` if no process has one."""
        if self.size == 1:
            return reason
        anyone = torch.tensor(reason is not None, dtype=torch.int32)
        dist.all_reduce(anyone, op=dist.ReduceOp.MAX)
        if not anyone:
            return None
        return next(found for found in self.gather(reason) if found is not None)

    def gather(self, value: T) -> list[T]:
        """The values of all processes, by rank."""
        if self.size == 1:
            return [value]
        values: list[T | None] = [None] * self.size
        dist.all_gather_object(values, value)
        return values  # type: ignore[return-value]

    def from_main(self, make: Callable[[], T]) -> T:
        """The result of ``make`` in the main process; the others do not call it."""
        if self.size == 1:
            return make()
        made = [make() if self.is_main else None]
        dist.broadcast_object_list(made, src=0)
        return made[0]  # type: ignore[return-value]

    def add(self, tensor: Tensor) -> Tensor:
        """The sum over all processes, in place."""
        if self.size > 1:
            dist.all_reduce(tensor)
        return tensor

    def wait(self) -> None:
        """Wait until all processes have called this."""
        self.gather(None)

    @contextmanager
    def main_first(self) -> Iterator[None]:
        """Let the main process go first, so that the others find its results in a cache."""
        if not self.is_main:
            self.wait()
        yield
        if self.is_main:
            self.wait()


def was_restarted() -> bool:
    """Whether torchrun has restarted these processes after one was lost."""
    return int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")) > 0


def local_device(runtime: RuntimeConfig) -> str:
    """The name of this process's device; a single process uses the configured one.

    Raises:
        UserError: if the configuration does not fit the processes that were started.
    """
    if runtime.parallel == "none":
        count = int(os.environ.get("WORLD_SIZE", "1"))
        if count > 1 and all(name in os.environ for name in LAUNCHED):
            raise UserError(
                f"torchrun started {count} processes, each of which would train the same run alone; "
                "add runtime=ddp or runtime=fsdp"
            )
        return runtime.device
    missing = [name for name in LAUNCHED if name not in os.environ]
    if missing:
        raise UserError(
            f"runtime.parallel={runtime.parallel}: torchrun has to start the processes ({missing[0]} is not "
            f"set): {TORCHRUN.format(2)} translate ..., a process a GPU; or runtime.parallel=none for one"
        )
    if runtime.device not in ("auto", "cpu", "cuda"):
        raise UserError(
            f"runtime.device: expected auto, cpu or cuda, since every process takes its own GPU; "
            f"got {runtime.device!r}"
        )
    if runtime.device == "cpu" or (runtime.device == "auto" and not torch.cuda.is_available()):
        return "cpu"
    number, found = int(os.environ["LOCAL_RANK"]), torch.cuda.device_count()
    if 0 < found <= number:
        raise UserError(
            f"torchrun started more processes on this machine than it has GPUs; use --nproc-per-node {found}"
        )
    return f"cuda:{number}"


@contextmanager
def connected(runtime: RuntimeConfig, device: torch.device, name: str) -> Iterator[World]:
    """Connect the processes of a run, by gloo on the CPU and NCCL between GPUs.

    Only the main process prints, and only one process reports an error.

    Args:
        runtime: how the processes work together, and how long one waits for the others.
        device: of this process.
        name: of the run; processes of different runs do not connect.
    """
    if runtime.parallel == "none":
        yield World()
        return
    if device.type == "cuda":
        torch.cuda.set_device(device)
    timeout = timedelta(seconds=runtime.timeout)
    found, rank, size = next(dist.rendezvous("env://", timeout=timeout))
    attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    store = dist.PrefixStore(f"{name}/{attempt}", found)
    backend = "cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo"
    dist.init_process_group(backend, store=store, rank=rank, world_size=size, timeout=timeout)
    try:
        with one_voice(rank, store):
            yield World(rank, size)
    finally:
        disconnect()


def disconnect() -> None:
    """Disconnect this process from the others, if it is connected."""
    if dist.is_initialized():
        dist.destroy_process_group()


@contextmanager
def one_voice(rank: int, store: dist.Store) -> Iterator[None]:
    """Silence the ranks other than 0, and let one process report an error."""
    reported = "reported"
    with open(os.devnull, "w") as nowhere:
        try:
            if rank == 0:
                yield
            else:
                with redirect_stdout(nowhere):
                    yield
        except UserError as error:
            if store.add(reported, 1) > 1:
                raise SystemExit(FAILED) from error
            raise
        except RuntimeError as error:  # a connection that broke
            if store.check([reported]):
                raise SystemExit(FAILED) from error
            raise


class Computation(nn.Module):
    """A module that runs a function, so that the hooks of its forward surround every use of the model."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, compute: Callable[[], T]) -> T:
        return compute()


@dataclass
class Parallel:
    """The way in which the processes of ``world`` train one model together.

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
    # An object's attributes are freed in order, and DDP's reducer must not be the last to hold the processes:
    # it would wait for gloo's threads with Python's lock, for which they may wait.
    vars(engine)["held_longest"] = engine.process_group
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
