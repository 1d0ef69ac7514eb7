"""What every API shares: reading requests, keys, errors, logs, and the server itself."""
