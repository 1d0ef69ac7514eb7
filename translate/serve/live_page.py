"""The live page: its files, and the policy under which a browser runs them."""

from functools import partial
from importlib import resources
from typing import NamedTuple

from translate.figures.page import MODULES, asset, fill, skeleton

# Scripts, styles and requests of this server alone; no page may frame this one.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
# Of every file of the page.
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}
_ASSETS = resources.files("translate.serve") / "assets"
OWN = [path.name for path in _ASSETS.iterdir() if path.name not in ("index.html", "request.js")]
_text = partial(asset, package="translate.serve")
_NO_SCRIPT = 'This page needs JavaScript; <a href="docs">programs can use the server</a> without it.'
_TYPES = {"/": "text/html", "html": "text/html", "css": "text/css", "js": "text/javascript"}


class File(NamedTuple):
    """A file of the page: its content, and its type for the header ``Content-Type``."""

    content: bytes
    media_type: str


def live_files() -> dict[str, File]:
    """The files of the live page, by the paths at which a server shows them.

    The scripts and the style of every page are shared; ``/assets/skeleton.html`` is an empty page as one
    file, which the live page fills to download what it shows.
    """
    texts = {"/": index_text(noscript=_NO_SCRIPT, placeholder="Type or paste text, or drop a file")}
    texts |= {f"/{path}": text for path, text in shared_files().items()}
    texts["/assets/request.js"] = _text("request.js")
    return {
        path: File(text.encode(), f"{_TYPES[path.rpartition('.')[2]]}; charset=utf-8")
        for path, text in texts.items()
    }


def index_text(*, noscript: str, placeholder: str, policy: str = "", status: str = "") -> str:
    """The text of ``index.html``.

    Args:
        noscript: HTML, for a browser that runs no scripts.
        placeholder: of the field for the text.
        policy: an element with a content security policy, where no server sends one.
        status: HTML, the message before the scripts run.
    """
    page = _text("index.html")
    return fill(page, noscript=noscript, placeholder=placeholder, policy=policy, status=status)


def shared_files() -> dict[str, str]:
    """The other files by their paths beside ``index.html``, but ``request.js``, which knows who answers."""
    texts = {f"assets/{name}": _text(name) for name in OWN}
    texts |= {f"assets/{name}": asset(name) for name in (*MODULES, "page.css")}
    return texts | {"assets/skeleton.html": skeleton()}
