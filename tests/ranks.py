"""Two processes for tests, in the surroundings that torchrun gives its own."""

import os
import traceback
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

import torch
import torch.distributed as dist

SIZE = 2


class Ranks:
    """Processes that wait for functions to call; they meet at a port that the system chooses."""

    def __init__(self) -> None:
        spawn = get_context("spawn")
        self.pipes, self.processes = [], []
        for rank in range(SIZE):
            mine, theirs = spawn.Pipe()
            process = spawn.Process(target=_work, args=(rank, theirs), daemon=True)
            process.start()
            self.pipes.append(mine)
            self.processes.append(process)

    def __call__(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """The results of a function of a test module, called in all processes at once."""
        store = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
        for pipe in self.pipes:
            pipe.send((function, arguments, store.port))
        found = []
        for process, pipe in zip(self.processes, self.pipes, strict=True):
            assert pipe.poll(300), "a process does not answer"
            result, error = pipe.recv() if process.is_alive() else (None, "the process is dead")
            assert error is None, error
            found.append(result)
        return found

    def close(self) -> None:
        for process in self.processes:
            process.kill()
            process.join()


def surroundings(rank: int, size: int) -> dict[str, str]:
    """The environment that torchrun gives a process on one machine, without the port."""
    return {
        "RANK": str(rank),
        "LOCAL_RANK": str(rank),
        "WORLD_SIZE": str(size),
        "MASTER_ADDR": "127.0.0.1",
        "TORCHELASTIC_USE_AGENT_STORE": "True",
    }


def _work(rank: int, pipe: Connection) -> None:
    torch.set_num_threads(1)
    os.environ.update(surroundings(rank, SIZE))
    while True:
        function, arguments, port = pipe.recv()
        os.environ["MASTER_PORT"] = str(port)
        result: tuple[Any, str | None]
        try:
            result = function(*arguments), None
        except BaseException:
            result = None, traceback.format_exc()
        pipe.send(result)
