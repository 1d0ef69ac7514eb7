"""Runs of two processes with all that a recipe may add: the same steps as of one process alone."""

import io
from contextlib import redirect_stdout
from pathlib import Path

import pytest
import torch
from torch import Tensor

from tests.ranks import Ranks
from tests.runs.test_distributed import KINDS, SAME, assert_same, weights
from tests.tiny_runs import train_tiny
from translate.attention.kernels.dropout import Dropout

RECIPE = [
    *SAME,
    "model.dropout=0.1",
    "model.feedforward=gelu",  # a kink, such as that of relu, makes much of the last bits
    "training.max_steps=7",
    "training.validate_every=4",
    "training.batch_tokens=97",
    "training.r_drop=3",
    "training.freeze=['encoder.*','decoder.0.*']",
    "training.guided_alignment=0.4",
]


def two_sizes(dropout: Dropout, states: Tensor) -> Tensor:
    """In the place of dropout: the two passes of R-Drop differ, but by no random number."""
    if not dropout.training:
        return states
    first, second = states.tensor_split(2)
    return torch.cat([1.1 * first, 0.9 * second])


def train_and_tell(run: Path, *overrides: str) -> tuple[int, str]:
    """The exit code, and what was printed."""
    own, Dropout.forward = Dropout.forward, two_sizes  # type: ignore[method-assign,assignment]
    try:
        with redirect_stdout(io.StringIO()) as said:
            code = train_tiny(run, "transformer", *overrides)
    finally:
        Dropout.forward = own  # type: ignore[method-assign]
    return code, said.getvalue()


@pytest.mark.slow
def test_a_recipe_of_all_that_there_is(tmp_path: Path, tiny_runs: dict[str, Path], ranks: Ranks) -> None:
    """Frozen parameters, another run's weights, R-Drop, guided alignment and accumulation."""
    start = tiny_runs["transformer"]
    recipe = [*RECIPE, f"training.start_from={start}"]
    alone = tmp_path / "alone"
    assert train_and_tell(alone, *recipe, "training.accumulate=4")[0] == 0
    before, after = weights(start, "best"), weights(alone)
    frozen = {name for name in after if name.startswith(("encoder.", "decoder.0."))}
    assert {name for name in after if (before[name] == after[name]).all()} == frozen
    for kind in KINDS:
        run = tmp_path / kind
        together = (f"runtime={kind}", "training.accumulate=2")
        (code, said), other = ranks(train_and_tell, run, *recipe, *together)
        assert (code, other) == (0, (0, ""))  # one log
        assert "frozen ones" in said
        assert f"started from {start}" in said
        assert_same(run, alone)
        found = weights(run)
        assert {name for name in found if (before[name] == found[name]).all()} == frozen
