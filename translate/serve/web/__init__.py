"""The shared side of every API: paths, requests, keys, refusals, and the server itself."""
