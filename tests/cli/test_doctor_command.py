import platform
from importlib.metadata import version

import torch

from tests.cli.commands import Command


def test_versions_device_threads_and_kernels(translate_command: Command) -> None:
    result = translate_command("doctor")
    assert (result.code, result.err) == (0, "")
    for fact in (
        platform.python_version(),
        torch.__version__,
        version("sacrebleu"),
        version("sentencepiece"),
    ):
        assert fact in result.out
    assert f"threads: {torch.get_num_threads()}" in result.out
    assert "attention kernels" in result.out
    assert "bfloat16 products on the CPU: " in result.out
    assert "float32 products on the CPU: " in result.out
    assert ("device: CPU" in result.out) == (not torch.cuda.is_available())
