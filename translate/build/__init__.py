"""The only place where a configuration becomes objects."""

from translate.build.load import load
from translate.build.schema import SCHEMAS, RunConfig, Settings, check_config

__all__ = ["SCHEMAS", "RunConfig", "Settings", "check_config", "load"]
