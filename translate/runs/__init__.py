"""The life of a run: from a configuration to a trained, scored and described folder, and back from it."""
