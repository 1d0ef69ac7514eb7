"""Configuration: sections with declared types, checked targets, and their values in ``conf/``."""

from typing import TYPE_CHECKING, Any

from translate.config.names import config_directory, did_you_mean, nearest, suggest
from translate.config.targets import check_target, instantiate, resolve_target
from translate.config.values import to_section

if TYPE_CHECKING:
    from translate.config.composer import Composer, compose

__all__ = [
    "Composer",
    "check_target",
    "compose",
    "config_directory",
    "did_you_mean",
    "instantiate",
    "nearest",
    "resolve_target",
    "suggest",
    "to_section",
]


def __getattr__(name: str) -> Any:
    # Only composing needs Hydra; using a trained model does not.
    if name in ("Composer", "compose"):
        from translate.config import composer

        return getattr(composer, name)
    raise AttributeError(f"module 'translate.config' has no attribute {name!r}")
