"""Train translators from the command line, translate, and see what they look at."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from translate.version import __version__

if TYPE_CHECKING:
    from translate import attention
    from translate.runs.load import load
    from translate.translation import TranslateOptions, Translation
    from translate.translator import Translator

__all__ = ["TranslateOptions", "Translation", "Translator", "__version__", "attention", "load"]

# torch takes seconds to import; `translate --help` should not wait for it.
_LAZY = {
    "TranslateOptions": "translate.translation",
    "Translation": "translate.translation",
    "Translator": "translate.translator",
    "load": "translate.runs.load",
}


def __getattr__(name: str) -> Any:
    if name == "attention":
        return import_module("translate.attention")
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'translate' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
