"""The container and the service of `scripts/deploy`: what they call exists. Neither is started here."""

import json
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("uvicorn", reason="the extra serve is not installed")

from tests.cli.commands import run
from tests.serve.client import running
from tests.serve.conftest import KEY
from translate.cli import serve as command
from translate.runs.load import load
from translate.serve.catalogue import Catalogue, Served
from translate.serve.limits import ServiceLimits
from translate.serve.web.keys import Keys

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "scripts" / "deploy"
UNIT = FOLDER / "translate.service"


def instructions() -> list[tuple[str, str]]:
    """The instructions of the Dockerfile."""
    lines = (FOLDER / "Dockerfile").read_text().replace("\\\n", " ").splitlines()
    return [(line.split()[0], line.split(maxsplit=1)[1]) for line in lines if line and line[0] != "#"]


def words(name: str) -> list[str]:
    """The words of an instruction in the form of JSON; the last one counts."""
    return list(json.loads([text for each, text in instructions() if each == name][-1]))


def settings() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in UNIT.read_text().splitlines():
        if "=" in line and not line.startswith("#"):
            name, _, value = line.partition("=")
            found.setdefault(name, []).append(value)
    return found


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What the command line gives the server, which is not started."""
    given: list[Any] = []
    monkeypatch.setattr(command, "_serve", lambda *arguments: given.extend(arguments))
    return given


def test_the_command_of_the_container(
    served: list[Any], tiny_run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = [*words("ENTRYPOINT"), *words("CMD")]
    assert line[:2] == ["translate", "serve"]
    line[line.index("/srv/run")] = str(tiny_run)
    assert run([*line[1:], "--port", "0"]) == 0, capsys.readouterr().err
    settings, listener = served
    assert settings.runs == [str(tiny_run)]
    assert ("EXPOSE", "5000") in instructions()  # the default port
    assert listener.fileno() == -1  # closed again


def test_the_container_has_what_it_copies_and_no_root() -> None:
    ignored = (FOLDER / "Dockerfile.dockerignore").read_text().splitlines()
    allowed = [line.removeprefix("!") for line in ignored if line.startswith("!")]
    assert ignored[0] == "*"
    copied = [text.split()[:-1] for name, text in instructions() if name == "COPY" and "--from" not in text]
    for source in (each for sources in copied for each in sources):
        assert (ROOT / source).exists(), source
        assert source in allowed
    assert {name for name, _ in instructions()} >= {"USER", "HEALTHCHECK"}
    users = [text for name, text in instructions() if name == "USER"]
    assert users == ["translate"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (image,) = {text.split()[0] for name, text in instructions() if name == "FROM"}
    version = tuple(map(int, re.findall(r"\d+", image)))
    assert (3, 11) <= version < (3, 13)
    assert project["requires-python"] == ">=3.11,<3.13"
    extras = [re.search(r"\.\[(\w+)\]", text) for name, text in instructions() if name == "RUN"]
    assert [each[1] for each in extras if each] == ["serve"]


def test_the_health_check_asks_what_is_there(tiny_run: Path) -> None:
    models = Catalogue([Served("tiny", "en", "fr", load(tiny_run, device="cpu"))])
    client, end = running(models, ServiceLimits(), Keys(), 5.0)
    (text,) = [text for name, text in instructions() if name == "HEALTHCHECK"]
    _, _, program = json.loads(text.partition("CMD ")[2])
    subprocess.run([sys.executable, "-c", program.replace("5000", str(client.port))], check=True)
    missing = program.replace("5000", str(client.port)).replace("/ready", "/nothing")
    assert subprocess.run([sys.executable, "-c", missing], capture_output=True, check=False).returncode
    end()


def test_the_command_of_the_service(
    served: list[Any], tiny_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (keys,) = settings()["LoadCredential"]
    name = keys.partition(":")[0]
    (tmp_path / name).write_text(f"{KEY}\n")
    line = settings()["ExecStart"][0].replace("${CREDENTIALS_DIRECTORY}", str(tmp_path))
    program, *arguments = shlex.split(line.replace("/srv/translate/run", str(tiny_run)).replace("5000", "0"))
    assert Path(program).name == "translate"
    assert run(arguments) == 0, capsys.readouterr().err
    assert served[0].key_file == str(tmp_path / name)
    drain = int(arguments[arguments.index("--drain") + 1])
    assert drain + 5 < int(settings()["TimeoutStopSec"][0])
