"""The APIs, one file each."""
