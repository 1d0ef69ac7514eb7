"""Where ONNX Runtime for browsers comes from, and what is refused."""

import gzip
import hashlib
import io
import os
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest

from translate.errors import UserError
from translate.export import browser_runtime
from translate.export.browser_runtime import GET, PACKAGE, VERSION, read_runtime

CONTENT = {"ort.wasm.bundle.min.mjs": b"export const a = 1;", "ort-wasm-simd-threaded.wasm": b"\0asm" * 99}


@pytest.fixture(autouse=True)
def _files(monkeypatch: pytest.MonkeyPatch) -> None:
    """The package has small files."""
    sums = {name: hashlib.sha256(content).hexdigest() for name, content in CONTENT.items()}
    monkeypatch.setattr(browser_runtime, "FILES", sums)


def folder_of(path: Path, **changed: bytes | None) -> Path:
    """The package as a folder; ``mjs`` and ``wasm`` replace its files, or leave them out."""
    (path / "dist").mkdir(parents=True)
    for file, content in CONTENT.items():
        given = changed.get(file.rpartition(".")[2], content)
        if given is not None:
            (path / "dist" / file).write_bytes(given)
    return path


def packed(folder: Path) -> bytes:
    """A folder as npm packs it."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as archive:
        archive.add(folder, "package")
    return content.getvalue()


def test_a_file_has_it(tmp_path: Path) -> None:
    file = tmp_path / "runtime.tgz"
    file.write_bytes(packed(folder_of(tmp_path / "package")))
    assert read_runtime(file) == CONTENT


def test_without_one_it_is_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    content = packed(folder_of(tmp_path / "package"))
    asked: list[list[str]] = []

    def pack(command: list[str], **_: Any) -> None:
        *words, folder = command
        asked.append(words)
        (Path(folder) / f"{PACKAGE}-{VERSION}.tgz").write_bytes(content)

    monkeypatch.setattr(subprocess, "run", pack)
    assert read_runtime(None) == CONTENT
    assert asked == [[*GET.split(), "--silent", "--pack-destination"]]
    told = f"fetching {PACKAGE} {VERSION}, 33 MB, for the page; --runtime FILE uses a copy\n"
    assert capsys.readouterr().out == told
    content = packed(folder_of(tmp_path / "other", wasm=b"x"))
    with pytest.raises(UserError, match="another checksum: it is damaged, changed"):
        read_runtime(None)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (FileNotFoundError("npm"), "npm is not installed"),
        (subprocess.CalledProcessError(1, ["npm"]), "exit status 1"),
        (subprocess.TimeoutExpired(["npm"], 600), "timed out"),
        (OSError("reset"), "reset"),
    ],
)
def test_without_a_network_it_says_what_to_do(
    error: Exception, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(subprocess, "run", fail)
    with pytest.raises(UserError) as caught:
        read_runtime(None)
    message = str(caught.value)
    assert message.startswith(f"{PACKAGE} {VERSION} cannot be fetched (")
    assert reason in message
    assert message.endswith(f"npm pack {PACKAGE}@{VERSION}; then add --runtime {PACKAGE}-{VERSION}.tgz")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"mjs": None}, f"dist/ort.wasm.bundle.min.mjs is missing; expected {PACKAGE} {VERSION}: npm pack"),
        ({"wasm": b"other"}, "dist/ort-wasm-simd-threaded.wasm has another checksum"),
    ],
)
def test_another_package_is_refused(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    given = tmp_path / "runtime.tgz"
    given.write_bytes(packed(folder_of(tmp_path / "package", **change)))
    with pytest.raises(UserError) as caught:
        read_runtime(given)
    assert str(caught.value).startswith(f"--runtime {given}: ")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "there is no such file; make it with: npm pack"),
        (b"", "not a package of npm ("),
        (b"PK\x03\x04 a zip", "not a package of npm ("),
        (gzip.compress(b"x" * 2000, mtime=0), "not a package of npm ("),
        (b"half", "not a package of npm ("),
    ],
)
def test_a_file_that_is_no_package_is_refused(content: bytes | None, message: str, tmp_path: Path) -> None:
    path = tmp_path / "runtime.tgz"
    if content == b"half":
        content = packed(folder_of(tmp_path / "package", wasm=os.urandom(90_000)))[:40_000]
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UserError) as caught:
        read_runtime(path)
    assert str(caught.value).startswith(f"--runtime {path}: {message}")
