"""ONNX Runtime for browsers: two files of the package onnxruntime-web, in one version, checked."""

import hashlib
import io
import subprocess
import tarfile
import tempfile
from pathlib import Path

from translate.config.names import shorten
from translate.errors import UserError
from translate.text.bounded import read_bounded

PACKAGE, VERSION = "onnxruntime-web", "1.30.0"
# The checksums (SHA-256) of the files that a page needs.
FILES = {
    "ort.wasm.bundle.min.mjs": "11e64bd8ffe11bd1a2a2f0d6275fdfbbba7262f0b76b99b53d228a8a22ef3d90",
    "ort-wasm-simd-threaded.wasm": "3398c10d07d229bd91b364548e130e0e51a8e5704b88c7c083ebbeb78842dee2",
}
MAX_BYTES = 1 << 26  # of the package, and of each file
SECONDS = 600.0  # for npm
GET = f"npm pack {PACKAGE}@{VERSION}"


def read_runtime(given: Path | None) -> dict[str, bytes]:
    """The contents of ``FILES``.

    Args:
        given: the package as npm packs it; it is fetched by npm if ``None``.

    Raises:
        UserError: if there is no such package, it is damaged or of another version, or cannot be fetched.
    """
    if given is None:
        print(f"fetching {PACKAGE} {VERSION}, 33 MB, for the page; --runtime FILE uses a copy")
        return _of_package(io.BytesIO(_fetch()), GET)
    where = f"--runtime {given}"
    try:
        content = read_bounded(given, limit=MAX_BYTES)
    except FileNotFoundError as error:
        raise UserError(f"{where}: there is no such file; make it with: {GET}") from error
    return _of_package(io.BytesIO(content), where)


def _fetch() -> bytes:
    """The package, from wherever npm gets its packages."""
    with tempfile.TemporaryDirectory() as folder:
        command = [*GET.split(), "--silent", "--pack-destination", folder]
        try:
            subprocess.run(command, check=True, capture_output=True, timeout=SECONDS)
        except (OSError, subprocess.SubprocessError) as error:
            reason = "npm is not installed" if isinstance(error, FileNotFoundError) else shorten(error)
            raise UserError(
                f"{PACKAGE} {VERSION} cannot be fetched ({reason}); where there is a network and npm: {GET}; "
                f"then add --runtime {PACKAGE}-{VERSION}.tgz"
            ) from error
        return read_bounded(Path(folder) / f"{PACKAGE}-{VERSION}.tgz", limit=MAX_BYTES)


def _of_package(content: io.BytesIO, where: str) -> dict[str, bytes]:
    """The files of a page in a package as npm packs it, if they are those of ``VERSION``."""
    wanted = {f"package/dist/{name}" for name in FILES}
    found = {}
    try:
        with tarfile.open(fileobj=content, mode="r|gz") as archive:
            for member in archive:
                if member.isfile() and member.name in wanted and member.size <= MAX_BYTES:
                    file = archive.extractfile(member)
                    assert file is not None
                    found[member.name.removeprefix("package/dist/")] = file.read()
                if len(found) == len(wanted):
                    break
    except (tarfile.TarError, OSError, EOFError) as error:
        raise UserError(f"{where}: not a package of npm ({shorten(error)}); make one with: {GET}") from error
    for name, checksum in FILES.items():
        if name not in found:
            raise UserError(f"{where}: dist/{name} is missing; expected {PACKAGE} {VERSION}: {GET}")
        if hashlib.sha256(found[name]).hexdigest() != checksum:
            raise UserError(
                f"{where}: dist/{name} has another checksum: it is damaged, changed or of another version; "
                f"expected {PACKAGE} {VERSION}: {GET}"
            )
    return found
