"""The generators of random numbers that a step may draw from."""

import random
from typing import Any

import numpy as np
import torch


def seed_generators(seed: int) -> None:
    """Seed the generators of torch, and those of Python and NumPy, which a plugin may use."""
    torch.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed % 2**32)


def seed_process(seed: int, rank: int, step: int) -> None:
    """Seed one process of several, where no stored state of its generators can be restored."""
    seed_generators(int(np.random.SeedSequence([seed, rank, step]).generate_state(1)[0]))


def generator_states(device: torch.device) -> dict[str, Any]:
    """The states of the generators of torch, Python and NumPy, as plain values."""
    numpy = np.random.get_state(legacy=False)
    assert isinstance(numpy, dict)
    words = torch.from_numpy(numpy["state"]["key"].astype(np.int64))
    states = {
        "cpu": torch.get_rng_state(),
        "python": random.getstate(),
        "numpy": (words, numpy["state"]["pos"], numpy["has_gauss"], numpy["gauss"]),
    }
    if device.type == "cuda":
        states["cuda"] = torch.cuda.get_rng_state(device)
    return states


def restore_generators(states: dict[str, Any], device: torch.device) -> None:
    """Restore the states that :func:`generator_states` returned."""
    torch.set_rng_state(states["cpu"])
    if "cuda" in states and device.type == "cuda":
        torch.cuda.set_rng_state(states["cuda"], device)
    version, words, gauss = states["python"]
    random.setstate((version, tuple(words), gauss))
    words, position, has_gauss, gauss = states["numpy"]
    np.random.set_state(("MT19937", words.numpy().astype(np.uint32), position, has_gauss, gauss))
