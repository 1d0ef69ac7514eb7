"""Runs commands in this process, as the console script does."""

import io
import sys
from collections.abc import Callable
from typing import NamedTuple

import pytest

from translate.cli.main import run


class Result(NamedTuple):
    code: int
    out: str
    err: str

    def refusal(self) -> str:
        """The one line with which a command ends that does nothing, after exit code 2."""
        assert (self.code, self.out, self.err.count("\n")) == (2, "", 1)
        return self.err


Command = Callable[..., Result]


def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """A function that runs `translate` with arguments, and bytes on standard input."""

    def call(*arguments: object, stdin: bytes = b"") -> Result:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capsys.readouterr()
        code = run([str(argument) for argument in arguments])
        return Result(code, *capsys.readouterr())

    return call
