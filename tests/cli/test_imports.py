"""What a command postpones of torch comes back as soon as something asks for it."""

import json
import subprocess
import sys

import pytest

# Imports torch as a command does, then runs a line; prints whether the decompositions that the postponed
# module imports were there before and after it, and whether the context lets a stranger's code have all.
PROGRAM = """
import json, sys
from translate.cli.imports import importing
with importing("torch", whole=sys.argv[2] == "whole"):
    import torch
before = "torch._decomp" in sys.modules
exec(sys.argv[1])
kind = type(sys.modules["torch._meta_registrations"]).__name__
print(json.dumps([before, "torch._decomp" in sys.modules, kind]))
"""


def told(line: str, extent: str = "part") -> tuple[bool, bool, str]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, line, extent], capture_output=True, text=True, check=True
    )
    before, after, kind = json.loads(done.stdout.splitlines()[-1])
    return before, after, kind


def test_computing_does_not_ask_for_it() -> None:
    line = "torch.nn.functional.layer_norm(torch.randn(3, 4), (4,)).softmax(1)"
    assert told(line) == (False, False, "_Waiting")


@pytest.mark.parametrize(
    "line",
    [
        "assert torch.compile(lambda x: x + 1, backend='eager')(torch.ones(2)).tolist() == [2.0, 2.0]",
        "import torch._dynamo",
        "import torch.onnx",
        "from torch._meta_registrations import activate_meta; assert callable(activate_meta)",
    ],
)
def test_what_needs_it_finds_it(line: str) -> None:
    assert told(line) == (False, True, "module")


def test_a_tensor_without_numbers_has_its_operators_then() -> None:
    line = """
import torch._dynamo
scores = torch.empty(2, 3, device="meta")
assert torch.ops.aten._log_softmax(scores, 1, False).shape == (2, 3)
assert torch.nn.functional.pad(scores, (1, 1), mode="replicate").shape == (2, 5)
"""
    assert told(line)[1]


def test_a_missing_name_is_missing() -> None:
    line = """
try:
    torch._meta_registrations.no_such_name
except AttributeError as error:
    assert "no_such_name" in str(error)
else:
    raise SystemExit("found")
"""
    assert told(line) == (False, True, "module")


def test_strangers_code_has_all_of_torch() -> None:
    assert told("", "whole") == (True, True, "module")
