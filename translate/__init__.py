"""Train translators from the command line, translate, and see what they look at."""

from typing import TYPE_CHECKING, Any

from translate.version import __version__

if TYPE_CHECKING:
    from translate import attention
    from translate.runs.load import load

__all__ = ["__version__", "attention", "load"]


def __getattr__(name: str) -> Any:
    # torch takes seconds to import; `translate --help` should not wait for it.
    if name == "load":
        from translate.runs.load import load

        return load
    if name == "attention":
        import translate.attention as attention

        return attention
    raise AttributeError(f"module 'translate' has no attribute {name!r}")
