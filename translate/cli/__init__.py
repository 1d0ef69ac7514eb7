"""The command line: a file for a command, a package for a command with subcommands."""
