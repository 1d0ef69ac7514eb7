"""A library that leaves its host alone: importing and loading change nothing outside the translator."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import ctypes, json, os, random, sys
import numpy, torch

allocator = []
class Library:
    def __getattr__(self, name):
        return lambda *arguments: allocator.append((name, arguments))
genuine, ctypes.CDLL = ctypes.CDLL, lambda name=None, *rest, **more: (
    Library() if name is None else genuine(name, *rest, **more))

def state():
    smallest = 5e-324
    numpy_state = numpy.random.get_state()
    return {
        "environment": dict(os.environ),
        "threads": torch.get_num_threads(),
        "interop": torch.get_num_interop_threads(),
        "tf32": [torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32,
                 torch.get_float32_matmul_precision()],
        "cudnn": [torch.backends.cudnn.benchmark, torch.backends.cudnn.deterministic,
                  torch.are_deterministic_algorithms_enabled()],
        "mkldnn": [torch.backends.mkldnn.enabled, torch.backends.quantized.engine],
        "denormals": [smallest * 1.0 > 0, bool(torch.tensor(smallest, dtype=torch.float64) * 1.0 > 0)],
        "workers": int((torch.full((1 << 20,), smallest, dtype=torch.float64) * 1.0).count_nonzero()),
        "dtype": str(torch.get_default_dtype()),
        "device": str(torch.get_default_device()),
        "gradient": torch.is_grad_enabled(),
        "torch": torch.get_rng_state().tolist(),
        "python": repr(random.getstate()),
        "numpy": [numpy_state[1].tolist(), numpy_state[2]],
        "directory": os.getcwd(),
        "path": list(sys.path),
        "allocator": list(allocator),
    }

torch.set_num_threads(2)
before = state()
import translate
after_import = state()
translators = [translate.load(run, int8=int8) for run in sys.argv[1:] for int8 in (True, False)]
after_load = state()
for translator in translators:
    translator.translate(["they help him ."], alignments=True)[0].alignment.links()
after_use = state()
print(json.dumps([before, after_import, after_load, after_use]))
"""


@pytest.mark.slow
def test_import_load_and_use_change_nothing(tiny_runs: dict[str, Path]) -> None:
    command = [sys.executable, "-c", SCRIPT, *map(str, tiny_runs.values())]
    found = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    before, *others = json.loads(found.stdout.splitlines()[-1])
    assert before["denormals"] == [True, True]
    for name, other in zip(("import", "load", "use"), others, strict=True):
        differing = [key for key in before if other[key] != before[key]]
        assert differing == [], name
