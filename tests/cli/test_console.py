import io
import os
import signal
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

from translate.cli import console
from translate.cli.console import as_unicode, print_error, print_note, print_notices, print_warning, progress
from translate.cli.main import run as run_command
from translate.cli.options import TranslationMachine
from translate.errors import UserError, UserNotice


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "output", "quiet", "is_shown"),
    [
        (Terminal, Terminal, True, True),
        (Terminal, io.StringIO, False, True),
        (Terminal, Terminal, False, False),  # it would cover the translations
        (io.StringIO, Terminal, True, False),  # a file gets no progress
    ],
)
def test_a_bar_is_shown_where_it_covers_nothing(
    stream: Any, output: Any, quiet: bool, is_shown: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdout", output())
    monkeypatch.setattr(sys, "stderr", stream())
    bar = progress(unit="pairs", total=1200, quiet_meanwhile=quiet)
    for count in (700, 20, 80):
        bar.update(count)
    bar.close()
    assert list(progress(iter("abc"), quiet_meanwhile=quiet)) == ["a", "b", "c"]
    shown = sys.stderr.getvalue()  # type: ignore[attr-defined]
    assert bool(shown) == is_shown
    assert ("800/1200" in shown and " pairs/s" in shown) == is_shown


def test_ctrl_c_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Also where a package that is being imported makes another error of it."""

    def importing() -> None:
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt as error:
            raise RuntimeError("Error calling __set_name__") from error

    def reading() -> None:
        with console.going_on():
            raise KeyboardInterrupt

    for stop, printed in (
        (importing, "error: interrupted\n"),
        (reading, "note: the same command goes on where it was interrupted\nerror: interrupted\n"),
    ):
        monkeypatch.setattr("translate.cli.doctor.doctor", stop)
        assert run_command(["doctor"]) == 130
        assert capsys.readouterr().err.lstrip("\n") == printed


@pytest.mark.parametrize("before", [signal.SIG_DFL, signal.SIG_IGN])  # the latter of a shell's background job
def test_ctrl_c_during_the_imports_of_the_command_itself(tmp_path: Path, before: signal.Handlers) -> None:
    (tmp_path / "typer.py").write_text(
        "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\nraise SystemExit(7)"
    )
    found = subprocess.run(
        [sys.executable, "-m", "translate", "--help"],
        env=os.environ | {"PYTHONPATH": f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"},
        preexec_fn=lambda: signal.signal(signal.SIGINT, before),
        capture_output=True,
    )
    code = -signal.SIGINT if before == signal.SIG_DFL else 7
    assert (found.returncode, found.stdout, found.stderr) == (code, b"", b"")


def test_messages_are_one_bounded_line_that_no_terminal_obeys(capsys: pytest.CaptureFixture[str]) -> None:
    for show in (print_error, print_warning, print_note):
        show("a\nb\x1b[31m " + "x" * 50_000 + " expected less")
        line = capsys.readouterr().err
        assert line.count("\n") == 1
        assert len(line) < 1100
        assert ": a b\\x1b[31m x" in line
        assert line.endswith("expected less\n")


def test_only_a_warning_for_the_user_is_printed_as_one(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    others: list[object] = []
    monkeypatch.setattr(warnings, "showwarning", lambda message, *where: others.append(message))
    print_notices()
    for line in (3, 4):
        warnings.showwarning("no installed font draws Tibetan", UserNotice, "file.py", line)
    warnings.showwarning("a bug", UserWarning, "file.py", 3)
    assert capsys.readouterr().err == "warning: no installed font draws Tibetan\n"
    assert others == ["a bug"]


ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii"}


def test_the_streams_are_utf_8_once_a_command_has_begun() -> None:
    program = (
        "from translate.cli.console import use_utf_8, print_error\n"
        "use_utf_8(); print('l\\u2019\\u00e9lan \\u4e2d'); print('caf\\udce9')\n"
        "print_error('\\ud800 \\u00e9')"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, env=os.environ | ASCII)
    assert done.stdout == "l\u2019élan 中\n".encode() + b"caf\xe9\n"  # the name of a file keeps its bytes
    assert done.stderr == "error: \\ud800 é\n".encode()


def test_sentences_that_python_read_as_ascii_are_utf_8() -> None:
    assert as_unicode("plain") == "plain"
    assert as_unicode("\udcc3\udca9lan") == "élan"
    assert as_unicode(["é", "\udcc3\udca9"]) == ["é", "é"]
    assert as_unicode(None) is None
    with pytest.raises(UserError, match="sentence 2 of the arguments: not UTF-8"):
        as_unicode(["a", "\udcff"])


def test_a_full_output_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    class Full(io.StringIO):
        def flush(self) -> None:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(sys, "stdout", Full())
    monkeypatch.setattr(console, "silence_stdout", lambda: None)
    assert run_command(["--version"]) == 1
    message = "standard output: cannot be written (No space left on device); what was printed is incomplete"
    assert capsys.readouterr().err == f"error: {message}\n"


@pytest.mark.parametrize("engine", [None, "AMX"])
def test_bfloat16_on_a_processor_without_it_is_told(
    run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, engine: str | None
) -> None:
    monkeypatch.setattr("translate.attention.kernels.linear.bfloat16_instructions", lambda: engine)
    TranslationMachine("cpu", precision="bfloat16").load(run)
    assert ("no instructions for it" in capsys.readouterr().err) == (engine is None)
