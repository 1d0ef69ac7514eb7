"""The version, read by the build and by ``translate --version``."""

__version__ = "0.4.0"
