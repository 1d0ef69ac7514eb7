"""The running batch of a server: sentences of all requests, searched together."""
