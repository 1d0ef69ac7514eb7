import pytest

from tests.cli.commands import Command, command


@pytest.fixture
def translate_command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """`translate`, in this process: called with its arguments, it gives exit code, output and errors."""
    return command(capsys, monkeypatch)
