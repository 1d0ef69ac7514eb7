import platform
from importlib.metadata import version

import torch

from tests.cli.commands import Command


def test_versions_device_threads_and_kernels(translate_command: Command) -> None:
    result = translate_command("doctor")
    assert (result.code, result.err) == (0, "")
    packages = map(version, ("sacrebleu", "sentencepiece"))
    products = (f"{kind} products on the CPU: " for kind in ("bfloat16", "float32"))
    for fact in (platform.python_version(), torch.__version__, *packages, *products, "attention kernels"):
        assert fact in result.out
    assert f"threads: {torch.get_num_threads()}" in result.out
    assert ("device: CPU" in result.out) == (not torch.cuda.is_available())
