"""Configuration: settings are declared, checked and explained here, and their values are in ``conf/``."""
