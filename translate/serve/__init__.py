"""The server: sentences of all requests are searched together, whichever API or page they come from."""
