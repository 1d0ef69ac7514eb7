"""A stand-in for the hub: folders served as dataset repositories on a port of this machine."""

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlparse

COMMIT = "a" * 40


@contextmanager
def serve(root: Path) -> Iterator[str]:
    """Serve ``root/OWNER/NAME`` as repositories; gives the address to use as HF_ENDPOINT."""
    handler = type("Handler", (_Handler,), {"root": root})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    root: Path

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        address = urlparse(self.path)
        parts = [unquote(part) for part in address.path.strip("/").split("/")]
        if parts == [""]:
            self.reply(200, b"")
        elif parts[:2] == ["api", "datasets"]:
            self.api("/".join(parts[2:4]), parts[4:], address.query, body)
        elif "resolve" in parts:
            at = parts.index("resolve")
            self.file(self.root.joinpath(*parts[1:at], *parts[at + 2 :]))
        else:
            self.reply(404, b"{}")

    do_GET = do_HEAD = do_POST = answer  # noqa: N815

    def api(self, name: str, rest: list[str], query: str, body: bytes) -> None:
        repository = self.root / name
        if not repository.is_dir():
            self.reply(404, b"{}", {"X-Error-Code": "RepoNotFound"})
        elif rest[0] == "revision":
            files = [
                {"rfilename": p.relative_to(repository).as_posix()}
                for p in repository.rglob("*")
                if p.is_file()
            ]
            self.reply(200, json.dumps({"id": name, "sha": COMMIT, "siblings": files}).encode())
        elif rest[0] == "tree" and repository.joinpath(*rest[2:]).is_dir():
            folder = repository.joinpath(*rest[2:])
            paths = folder.rglob("*") if "recursive=true" in query.lower() else folder.iterdir()
            self.reply(200, json.dumps([_entry(repository, path) for path in paths]).encode())
        elif rest[0] == "paths-info":
            is_json = self.headers.get("Content-Type", "").startswith("application/json")
            names = json.loads(body)["paths"] if is_json else parse_qs(body.decode())["paths"]
            found = [_entry(repository, repository / p) for p in names if (repository / p).exists()]
            self.reply(200, json.dumps(found).encode())
        else:
            self.reply(404, b"{}", {"X-Error-Code": "EntryNotFound"})

    def file(self, path: Path) -> None:
        if not path.is_file():
            self.reply(404, b"", {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": COMMIT})
            return
        content = path.read_bytes()
        self.reply(200, content, {"X-Repo-Commit": COMMIT, "ETag": f'"{hashlib.sha1(content).hexdigest()}"'})

    def reply(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


def _entry(repository: Path, path: Path) -> dict[str, Any]:
    name = path.relative_to(repository).as_posix()
    if path.is_dir():
        return {"type": "directory", "path": name, "oid": "0" * 40, "size": 0}
    oid = hashlib.sha1(path.read_bytes()).hexdigest()
    return {"type": "file", "path": name, "oid": oid, "size": path.stat().st_size}
