"""All that knows a processor: each function has a plain form, its oracle, which runs with the kernels off."""

from dataclasses import dataclass

import torch

GPU_CHUNK = 2**26  # elements that a GPU computes at a time: a call costs it more than memory does


@dataclass
class Switch:
    """Whether the fast forms may run."""

    on: bool = True


SWITCH = Switch()


def chunk_elements(cached: int, device: torch.device) -> int:
    """How many elements a device computes at a time: on a CPU ``cached``, which fit into caches."""
    return cached if device.type == "cpu" else GPU_CHUNK
