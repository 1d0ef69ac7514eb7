"""The live page: its files, and the policy under which a browser runs them."""

from functools import cache
from importlib import resources
from typing import NamedTuple

from translate.pictures.page import MODULES, asset, skeleton

# Scripts, styles and requests of this server alone; no page may frame this one.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_OWN = (
    "live.js",
    "answer.js",
    "boxes.js",
    "confidence.js",
    "files.js",
    "request.js",
    "save.js",
    "views.js",
    "live.css",
)
_TYPES = {"html": "text/html", "css": "text/css", "js": "text/javascript"}


class File(NamedTuple):
    """A file of the page: its content, and its type for the header ``Content-Type``."""

    content: bytes
    media_type: str


@cache
def live_files() -> dict[str, File]:
    """The files of the live page, by the paths at which a server shows them.

    The scripts and the style of every page are shared; ``/assets/skeleton.html`` is an empty page as one
    file, which the live page fills to download what it shows.
    """
    assets = resources.files("translate.serve") / "assets"
    texts = {"/": (assets / "index.html").read_text(encoding="utf-8")}
    texts |= {f"/assets/{name}": (assets / name).read_text(encoding="utf-8") for name in _OWN}
    texts |= {f"/assets/{name}": asset(name) for name in (*MODULES, "page.css")}
    texts["/assets/skeleton.html"] = skeleton()
    return {path: File(text.encode(), _type(path)) for path, text in texts.items()}


def headers() -> dict[str, str]:
    """The headers of every file of the page."""
    return {
        "Content-Security-Policy": POLICY,
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cache-Control": "no-cache",
    }


def _type(path: str) -> str:
    suffix = "html" if path == "/" else path.rpartition(".")[2]
    return f"{_TYPES[suffix]}; charset=utf-8"
