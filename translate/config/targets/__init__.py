"""Classes that a configuration names by ``_target_``: found, checked, built."""
