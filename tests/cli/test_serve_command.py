"""The options of ``translate serve`` that are refused before anything is served."""

import socket
import sys
from pathlib import Path

import pytest

from tests.cli.commands import Command

pytest.importorskip("uvicorn", reason="the extra serve is not installed")


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    path = tmp_path / "keys.txt"
    path.write_text("a-key-of-a-client-0123\n")
    return path


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "example"])
def test_an_open_address_needs_keys_or_public(translate_command: Command, tiny_run: Path, host: str) -> None:
    result = translate_command("serve", tiny_run, "--host", host)
    assert result.refusal() == (
        f"error: --host {host}: others may reach this address; add --key-file FILE with keys, or --public to "
        "let everybody in\n"
    )


def test_keys_and_public_contradict(translate_command: Command, tiny_run: Path, keys: Path) -> None:
    result = translate_command("serve", tiny_run, "--public", "--key-file", keys)
    assert (result.code, "leave out one" in result.err) == (2, True)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["runs/none", "--port", "0"], "runs/none: no such run directory"),
        (["a=runs/none", "--port", "0"], "runs/none: no such run directory"),
        (["RUN", "RUN"], "two runs are called transformer"),
        (["=RUN"], "expected a name"),
        (["x" * 61 + "=RUN"], "expected a name"),
        (["RUN", "--key-file", "none.txt"], "no such file; expected a file of keys"),
        (["RUN", "--languages", "en-fr"], "expected NAME=SOURCE-TARGET"),
        (["RUN", "--languages", "other=en-fr"], "no run is called other"),
        (["RUN", "--host", "127.0.0.1", "--port", "70000"], "port"),
        (["RUN", "--workers", "0"], "workers"),
        (["RUN", "--drain", "-1"], "drain"),
        (["RUN", "--max-queue", "0"], "max-queue"),
    ],
)
def test_what_is_not_served(translate_command: Command, tiny_run: Path, given: list[str], says: str) -> None:
    line = [argument.replace("RUN", str(tiny_run)) for argument in given]
    assert says in translate_command("serve", *line).refusal()


def test_an_address_that_is_taken(translate_command: Command, tiny_run: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        result = translate_command("serve", tiny_run, "--port", taken.getsockname()[1])
    assert "cannot be used" in result.refusal()
    assert "--port" in result.err


@pytest.mark.parametrize("package", ["starlette", "uvicorn", "python-multipart", "prometheus-client"])
def test_a_missing_package_is_named_with_its_remedy(
    translate_command: Command, tiny_run: Path, monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    for name in [name for name in sys.modules if name.startswith("translate.serve.")]:
        monkeypatch.delitem(sys.modules, name)  # imported again, as by a new process
    monkeypatch.setitem(sys.modules, package.replace("-", "_"), None)
    says = translate_command("serve", tiny_run).refusal()
    assert says.startswith(
        f"error: translate serve needs the package {package}, which is not installed; make"
    )


def test_ensembles_by_name() -> None:
    from translate.serve.catalogue import named_runs

    found = named_runs(["best=a", "runs/mine", "best=b"])
    assert found == {"best": [Path("a"), Path("b")], "mine": [Path("runs/mine")]}


def test_an_ensemble_is_served_and_a_run_tells_its_languages(tiny_run: Path) -> None:
    from translate.errors import UserError
    from translate.runs.load import load
    from translate.serve.catalogue import open_catalogue

    found = open_catalogue({"both": [tiny_run, tiny_run]}, {"both": ("pt-BR", "de")}, load, 7)
    (served,) = found.models
    assert (served.name, served.source, served.target) == ("both", "pt", "de")
    assert len(served.translator.partners) == 1
    assert served.translator.search.batch_size == 7
    assert open_catalogue({"one": [tiny_run]}, {}, load, None).languages() == ["en", "fr"]

    def load_nameless(path: Path) -> object:
        translator = load(path)
        translator.languages = ("", "")
        return translator

    with pytest.raises(UserError, match="--languages one=en-fr"):
        open_catalogue({"one": [tiny_run]}, {}, load_nameless, None)  # type: ignore[arg-type]
