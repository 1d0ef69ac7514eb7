"""Completion of command lines, also as bash itself asks for it."""

import os
import pty
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
import typer

from tests.cli.commands import run
from translate.cli import override_completion
from translate.cli.completion import SHELLS, completions, install, script
from translate.cli.main import COMMANDS, build_app
from translate.config.composer import Composer

ROOT = Path(__file__).parents[2]
BASH = shutil.which("bash")
in_bash = pytest.mark.skipif(BASH is None, reason="needs bash")


def after(line: str) -> list[str]:
    return completions(line, typer.main.get_command(build_app()))


def test_every_command_and_nothing_hidden() -> None:
    assert set(after("translate ")) == set(COMMANDS)
    assert after("translate se") == ["serve", "settings"]
    assert after("translate align re") == ["report"]
    assert "--install-completion" in after("translate --")
    assert "--complete" not in after("translate --")


def test_the_options_of_a_command_are_those_of_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["text"], ["serve"], ["align", "pair"]):
        found = after(f"translate {' '.join(words)} --")
        run([*words, "--help"])
        shown = capsys.readouterr().out
        assert len(found) > 5
        for option in found:
            assert option in shown


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("translate export runs/x --format ", ["bundle", "ctranslate2", "onnx", "huggingface", "page"]),
        ("translate export runs/x --format h", ["huggingface"]),
        ("translate text runs/x --engine a", ["auto"]),
        ("translate serve runs/x --key-file ", []),  # files: the shell's own business
        ("translate prepare --set ", []),  # no setting of a run
        ("translate train --cfg ", ["job", "hydra", "all"]),
        ("translate train --config-dir ", []),
        ("translate train --mul", ["--multirun"]),
        ("translate train model=rnn", ["model=rnn_bahdanau", "model=rnn_luong"]),
        ("translate train -m +model=transformer,rnn_l", ["+model=transformer,rnn_luong"]),
        ("translate train training.max_st", ["training.max_steps="]),
        ("translate train training.resume=", ["training.resume=true", "training.resume=false"]),
        ("translate train nothing.", []),
        ("translate train schedule=consta", ["schedule=constant"]),
        ("translate corpus --data gra", ["grammar", "grammar_sov"]),
        ("translate corpus --data grammar data.num_tr", ["data.num_train="]),
        ("translate 'train' \"sched", ["schedule=", "schedule."]),  # a quote that is open
    ],
)
def test_what_may_stand_next(line: str, expected: list[str]) -> None:
    assert after(line) == expected


def test_groups_are_those_that_hydra_finds() -> None:
    found = override_completion.groups()
    assert {group: sorted(names) for group, names in Composer().choices().items()} == found


def test_settings_of_a_choice_follow_it() -> None:
    bahdanau = after("translate train model=rnn_bahdanau model.")
    transformer = after("translate train model.")
    assert "model.num_heads=" in transformer
    assert "model.num_heads=" not in bahdanau
    assert "model.decoder_size=" in bahdanau
    assert "model.attention.attention_size=" in bahdanau


def test_completed_settings_can_be_composed() -> None:
    """Each name that is offered is one that Hydra knows, with the value that it has already."""
    from omegaconf import OmegaConf

    config = Composer().compose()
    for section in override_completion.sections():
        names = list(override_completion.settings(section, ()))
        assert names, section
        for name in names:
            node, _, key = name.rpartition(".")
            assert key in OmegaConf.select(config, node), name


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("first", "demo/transformer", "no run"):
        (tmp_path / "runs" / name).mkdir(parents=True)
    for name in ("first", "demo/transformer"):
        (tmp_path / "runs" / name / "config.yaml").write_text("a: 1\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_runs_are_offered_where_one_is_wanted(folder: Path) -> None:
    both = ["runs/first", "runs/demo/transformer"]
    assert after("translate text ") == both
    assert after("translate compare runs/first runs/d") == both[1:]
    assert after("translate serve --port 80 mine=runs/f") == ["mine=runs/first"]
    assert after("translate text --beam-size ") == []
    assert after("translate text runs/first ") == []  # a sentence


def test_without_a_folder_of_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert after("translate text ") == []


def test_the_command_prints_a_line_each(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--complete", "translate se"]) == 0
    assert capsys.readouterr().out == "serve\nsettings\n"
    assert run(["--complete", "translate evaluate runs/x --source "]) == 0
    assert capsys.readouterr().out == ""  # so that the shell offers files


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_is_shown(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--show-completion", shell]) == 0
    assert capsys.readouterr().out == script(shell)
    assert "translate --complete" in script(shell)


def test_the_shell_in_use_is_the_default(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SHELL", "/usr/bin/fish")
    assert run(["--show-completion"]) == 0
    assert capsys.readouterr().out == script("fish")
    monkeypatch.setenv("SHELL", "/bin/tcsh")
    assert run(["--show-completion"]) == 2
    assert "say for which shell: --show-completion bash or zsh or fish" in capsys.readouterr().err
    assert run(["--show-completion", "tcsh"]) == 2
    assert "'tcsh'" in capsys.readouterr().err


@pytest.mark.parametrize("shell", SHELLS)
def test_it_is_installed_once(shell: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    start = tmp_path / f".{shell}rc"
    start.write_text("alias a=b")  # without a line feed at its end
    for _ in range(2):
        message = install(shell)
    place = Path(message.partition(":")[0])
    assert place.read_text() == script(shell)
    lines = start.read_text().splitlines()
    if shell == "fish":
        assert place == tmp_path / ".config" / "fish" / "completions" / "translate.fish"
        assert lines == ["alias a=b"]
    else:
        assert lines[0] == "alias a=b"
        assert len(lines) == 2
        assert str(place) in lines[1]


@pytest.fixture
def program(tmp_path: Path) -> dict[str, str]:
    """An environment in which `translate` is this package's."""
    path = tmp_path / "bin" / "translate"
    path.parent.mkdir()
    path.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m translate.cli.main "$@"\n')
    path.chmod(0o755)
    return {**os.environ, "PATH": f"{path.parent}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}


@in_bash
@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "breaks", "expected"),
    [
        ("translate do", "=: ", ["doctor"]),
        ("translate train model=rnn_l", "=: ", ["rnn_luong"]),
        ("translate train model=rnn_l", " ", ["model=rnn_luong"]),
        ("translate train model=transformer,rnn_l", "=: ", ["transformer,rnn_luong"]),
        ("translate serve a:b=runs/fi", "=: ", ["runs/first"]),
        ("translate evaluate runs/first --source ", "=: ", []),
    ],
)
def test_bash_gets_what_it_replaces(
    folder: Path, program: dict[str, str], line: str, breaks: str, expected: list[str]
) -> None:
    """Readline replaces what stands behind the last of its word breaks."""
    commands = (
        f"{script('bash')}\ncompopt() {{ :; }}; COMP_WORDBREAKS=$2 COMP_LINE=$1 COMP_POINT=${{#1}}\n"
        '_translate_completions; printf "%s\\n" ${#COMPREPLY[@]} "${COMPREPLY[@]}"'
    )
    command = [str(BASH), "--norc", "-c", commands, "bash", line, breaks]
    done = subprocess.run(command, env=program, cwd=folder, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(len(expected)), *expected]
    assert done.stderr == ""


@in_bash
@pytest.mark.slow
def test_a_tab_completes(folder: Path, program: dict[str, str]) -> None:
    """An interactive bash on a terminal, in which somebody presses Tab."""
    place = folder / "script"
    place.write_text(script("bash"))
    process, terminal = pty.fork()
    if not process:
        os.chdir(folder)
        os.execve(
            str(BASH), ["bash", "--norc", "--noprofile", "-i"], {**program, "TERM": "dumb", "PS1": "> "}
        )
    try:
        os.write(terminal, b". ./script; echo rea''dy\n")
        read_until(terminal, b"ready\r\n")
        os.write(terminal, b"translate train model=rnn_l\t")
        assert b"rnn_bahdanau" not in read_until(terminal, b"translate train model=rnn_luong")
        os.write(terminal, b"\x15translate text runs/fi\t")
        assert b"runs/second" not in read_until(terminal, b"translate text runs/first")
    finally:
        os.kill(process, 9)
        os.waitpid(process, 0)
        os.close(terminal)


def read_until(terminal: int, expected: bytes) -> bytes:
    """What the terminal shows until something stands there."""
    seen, deadline = b"", time.monotonic() + 120
    while expected not in seen:
        ready, _, _ = select.select([terminal], [], [], max(0.0, deadline - time.monotonic()))
        assert ready, seen
        seen += os.read(terminal, 4096)
    return seen
