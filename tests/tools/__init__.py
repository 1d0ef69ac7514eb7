"""Tools that attack the package: a fuzzer, kills, misbehaving clients, a pretended GPU."""
