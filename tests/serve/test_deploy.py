"""The container and the service of `scripts/deploy`: what they call exists. Neither is started here."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("uvicorn", reason="the extra serve is not installed")

from tests.cli.commands import run
from tests.serve.conftest import KEY
from translate.cli import serve as command

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "scripts" / "deploy"
DOCKERFILE = (FOLDER / "Dockerfile").read_text().replace("\\\n", " ")


def instructions(name: str) -> list[str]:
    """What stands behind each of the Dockerfile's instructions of this name."""
    return re.findall(rf"^{name}\s+(.*)$", DOCKERFILE, re.MULTILINE)


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What the command line gives the server, which is not started."""
    given: list[Any] = []
    monkeypatch.setattr(command, "_serve", lambda *arguments: given.extend(arguments))
    return given


def test_the_command_of_the_container(served: list[Any], tiny_run: Path) -> None:
    line = [*json.loads(instructions("ENTRYPOINT")[-1]), *json.loads(instructions("CMD")[-1])]
    assert line[:2] == ["translate", "serve"]
    line[line.index("/srv/run")] = str(tiny_run)
    assert run([*line[1:], "--port", "0"]) == 0
    assert served[0].runs == {tiny_run.name: [tiny_run]}
    assert "5000" in instructions("EXPOSE")  # the default port
    assert "/ready" in instructions("HEALTHCHECK")[0]
    assert instructions("USER") == ["translate"]
    for source in (
        source for text in instructions("COPY") if "--from" not in text for source in text.split()[:-1]
    ):
        assert (ROOT / source).exists(), source


def test_the_command_of_the_service(served: list[Any], tiny_run: Path, tmp_path: Path) -> None:
    lines = (FOLDER / "translate.service").read_text().splitlines()
    settings = dict(line.split("=", 1) for line in lines if "=" in line and line[0] != "#")
    keys = tmp_path / settings["LoadCredential"].partition(":")[0]
    keys.write_text(f"{KEY}\n")
    line = settings["ExecStart"].replace("${CREDENTIALS_DIRECTORY}", str(tmp_path))
    program, *arguments = shlex.split(line.replace("/srv/translate/run", str(tiny_run)).replace("5000", "0"))
    assert Path(program).name == "translate"
    assert run(arguments) == 0
    assert served[0].address.key_file == keys
    assert served[0].work.drain + 5 < int(settings["TimeoutStopSec"])
