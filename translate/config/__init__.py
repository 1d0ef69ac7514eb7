"""Configuration: sections with declared types, checked targets, and their values in ``conf/``."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from translate.config.names import config_directory, did_you_mean, nearest, suggest

if TYPE_CHECKING:
    from translate.config.composer import Composer, compose
    from translate.config.targets.resolving import check_target, instantiate, resolve_target
    from translate.config.values import to_section

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

# Only composing needs Hydra, and only values need pydantic: using a trained model needs no Hydra, and a
# command that finds a mistake in its options neither.
_LAZY = {
    "Composer": "composer",
    "compose": "composer",
    "check_target": "targets.resolving",
    "instantiate": "targets.resolving",
    "resolve_target": "targets.resolving",
    "to_section": "values",
}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(f"translate.config.{_LAZY[name]}"), name)
    raise AttributeError(f"module 'translate.config' has no attribute {name!r}")
