"""Configuration: schemas that close the fixed sections, checked targets for the open ones, and ``conf/``."""

from translate.config.compose import Composer, check_sections, compose
from translate.config.names import config_directory, did_you_mean, nearest, suggest
from translate.config.schema import to_schema
from translate.config.targets import check_target, instantiate, resolve_target

__all__ = [
    "Composer",
    "check_sections",
    "check_target",
    "compose",
    "config_directory",
    "did_you_mean",
    "instantiate",
    "nearest",
    "resolve_target",
    "suggest",
    "to_schema",
]
